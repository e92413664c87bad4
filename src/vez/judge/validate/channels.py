"""Channels: checks that every delivery has its send, and that order, copies and losses are as the world promised."""

from __future__ import annotations

import msgspec

from vez.core.trace import (
    AnyEvent,
    Crashed,
    Cut,
    Delivered,
    Healed,
    Lost,
    MessageId,
    Paused,
    Recovered,
    Resumed,
    Sent,
)
from vez.judge.validate.context import Context

Channel = tuple[int, int]


class Sending(msgspec.Struct):
    """One message that was sent, with its deliveries and losses."""

    event: Sent
    index: int
    delivered: int = 0
    lost: int = 0

    @property
    def channel(self) -> Channel:
        """Sender and receiver."""
        return self.event.process, self.event.to


class Channels:
    """The messages of a run."""

    def __init__(self, context: Context) -> None:
        self._promises = context.promises
        self._is_quiet = context.trace.header.end == "quiet"
        self._down: set[int] = set()
        self._sendings: dict[MessageId, Sending] = {}
        self._newest: dict[Channel, int] = {}  # the largest number delivered
        self._cut: dict[Channel, int] = {}  # cut channel → index of the cut
        self._ever_cut: set[Channel] = set()
        self._ever_crashed: set[int] = set()
        self._paused: dict[int, int] = {}  # paused process → index of the pause
        self._pause: dict[int, tuple[int, int]] = {}  # the last pause that ended: index of its start, time of its end
        self._doomed: MessageId | None = None  # sent into a cut channel: the next event must say so

    def follow(self, index: int, event: AnyEvent) -> str:
        """Process the next event. Returns a text that says what was expected; empty if the event is possible."""
        doomed, self._doomed = self._doomed, None
        if doomed is not None and not (
            isinstance(event, Lost) and event.message == doomed and event.reason == "partition"
        ):
            return f"message {doomed[1]} of process {doomed[0]} is lost: its channel is cut"
        match event:
            case Sent():
                return self._sent(index, event)
            case Delivered():
                return self._delivered(event)
            case Lost():
                return self._lost(index, event)
            case Cut(process=process, to=to):
                if (process, to) in self._cut or process == to:
                    return "a channel that is not cut already"
                self._cut[process, to] = index
                self._ever_cut.add((process, to))
            case Healed(process=process, to=to):
                if self._cut.pop((process, to), None) is None:
                    return "a channel that is cut"
            case Crashed(process=process):
                self._ever_crashed.add(process)
                self._down.add(process)
                self._paused.pop(process, None)
            case Recovered(process=process):
                self._down.discard(process)
            case Paused(process=process):
                self._paused[process] = index
            case Resumed(process=process):
                self._pause[process] = (self._paused.pop(process), event.at)
            case _:
                pass
        return ""

    def end(self) -> str:
        """A text that says what must have happened to a message before the end; empty if nothing is missing."""
        for (sender, number), sending in self._sendings.items():
            if sending.delivered or sending.lost:
                continue
            overtaken = self._promises.fifo and self._newest.get(sending.channel, 0) > number
            if self._is_quiet or overtaken:
                return f"message {number} of process {sender} arrives at process {sending.event.to} or is lost"
        return ""

    def _sent(self, index: int, event: Sent) -> str:
        if event.message in self._sendings:
            return f"another number: process {event.process} has sent a message {event.number} already"
        self._sendings[event.message] = Sending(event, index)
        if self._promises.sharp_faults and (event.process, event.to) in self._cut:
            self._doomed = event.message
        return ""

    def _delivered(self, event: Delivered) -> str:
        sending = self._sendings.get(event.message)
        if sending is None:
            return f"a message that process {event.sender} has sent before"
        if sending.event.to != event.process:
            return f"it arrives at process {sending.event.to}, to which it was sent"
        if self._promises.once and (sending.delivered or sending.lost):
            return f"each message once: this one {'was delivered' if sending.delivered else 'was lost'} before"
        if self._promises.fifo and event.number < self._newest.get(sending.channel, 0):
            return f"messages from process {event.sender} in the order of sending"
        if self._promises.sharp_faults and not self._came_through(sending, event):
            return f"nothing from process {event.sender}: the channel is cut"
        sending.delivered += 1
        self._newest[sending.channel] = max(event.number, self._newest.get(sending.channel, 0))
        return ""

    def _came_through(self, sending: Sending, event: Delivered) -> bool:
        """True if the channel is not cut, or was cut while the message waited for the end of a pause."""
        cut = self._cut.get(sending.channel)
        begin, end = self._pause.get(event.process, (-1, -1))
        return cut is None or (end == event.at and begin < cut)

    def _lost(self, index: int, event: Lost) -> str:
        sending = self._sendings.get(event.message)
        if sending is None:
            return f"a message that process {event.process} has sent before"
        if self._promises.once and (sending.delivered or sending.lost):
            return f"each message once: this one {'was delivered' if sending.delivered else 'was lost'} before"
        sending.lost += 1
        sender, to = sending.channel
        sharp = self._promises.sharp_faults
        if event.reason == "loss":
            if self._promises.lossless:
                return "no loss: only a crash or a cut channel loses messages in this run"
            if sharp and sending.index != index - 1:
                return "a loss directly after the sending"
        elif event.reason == "partition" and not (
            sending.channel in self._cut if sharp else sending.channel in self._ever_cut
        ):
            return f"no such loss: the channel from process {sender} to {to} is not cut"
        elif event.reason == "crash" and not (to in self._down if sharp else self._ever_crashed & {sender, to}):
            return f"no such loss: process {to} is not down"
        return ""
