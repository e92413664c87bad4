"""Happened: counts the faults that really occurred in a run, from its trace, whatever was planned.

A planned fault may have no effect (a link is cut while nothing is sent), and an unplanned one may occur (a busy machine
delays a message). Only the trace decides with which rows of the verification matrix a run can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vez.core.trace import (
    Crashed,
    Cut,
    Delivered,
    Fired,
    Healed,
    Lost,
    MessageId,
    Paused,
    Recovered,
    Sent,
    Suspected,
    TimerSet,
    Trace,
    Wanted,
)
from vez.judge.properties.history import History

Channel = tuple[int, int]
_OUTSIDE = (Crashed, Paused, Cut, Healed, Lost)
"""Events that are not actions of a process."""


class Gone(NamedTuple):
    """A message that did not arrive: its place in the trace, and its channel."""

    place: int
    channel: Channel


class Happened(NamedTuple):
    """The faults of a run."""

    crashes: int = 0
    inside: int = 0
    """Number of crashes inside a step: they lost messages of the last step of the process."""
    recoveries: int = 0
    forgot: bool = False
    """True if a process came back without its durable fields."""
    lost: tuple[Gone, ...] = ()
    """Messages that were lost although their receiver was alive."""
    waiting: tuple[Gone, ...] = ()
    """Messages to a live process that were still in transit at the end, although they were sent long before."""
    vanished: int = 0
    """Number of messages of earlier steps that were lost with their sender. No row of the matrix allows that."""
    twice: bool = False
    pauses: int = 0
    late: str = ""
    """Description of a message or timer that was later than the bounds of the algorithm allow; empty if there was
    none."""
    late_otherwise: bool = False
    """True if some of these delays were not caused by a paused process."""
    long_stay: bool = False
    long_stay_otherwise: bool = False
    mistakes: int = 0
    """Number of suspicions of processes that were alive."""
    held_up: int = 0
    """Number of messages that were in transit on a channel while it was cut, and arrived. This is not a fault, but an
    effect of the cut."""
    requests: int = 0
    """Largest number of requests of one process."""

    def words(self) -> str:
        """The faults in one line, without those that did not occur."""
        parts = {
            "crashes": self.crashes, "inside a handler": self.inside, "recoveries": self.recoveries,
            "without memory": int(self.forgot), "lost": len(self.lost), "never arrived": len(self.waiting),
            "lost with the sender": self.vanished, "twice": int(self.twice), "pauses": self.pauses,
            "late": int(bool(self.late)), "long stay": int(self.long_stay), "wrong suspicions": self.mistakes,
        }  # fmt: skip
        words = [f"{name} {count}" for name, count in parts.items() if count] or ["nothing went wrong"]
        return ", ".join(words + [f"held up {self.held_up}"] * (self.held_up > 0))


def happened(trace: Trace) -> Happened:
    """The faults of a run."""
    history, events, header = History(trace), trace.events, trace.header
    sent = {event.message: (index, event) for index, event in enumerate(events) if isinstance(event, Sent)}
    deliveries = [event.message for event in events if isinstance(event, Delivered)]
    lost, inside, vanished = _losses(history, sent)
    late = list(_late(history, sent))
    bound = header.stay_bound_us
    long_stays = [
        stay.process
        for stay in history.stays
        if bound is not None
        and stay.entered_at is not None
        and (history.end if stay.left_at is None else stay.left_at) - stay.entered_at > bound
    ]
    paused = {event.process for event in events if isinstance(event, Paused)}
    wanted = [event.process for event in events if isinstance(event, Wanted)]
    return Happened(
        crashes=sum(isinstance(event, Crashed) for event in events),
        inside=inside,
        recoveries=sum(isinstance(event, Recovered) for event in events),
        forgot=any(isinstance(event, Recovered) and not event.memory for event in events),
        lost=tuple(lost),
        waiting=tuple(_waiting(history, sent, header.patience_us)),
        vanished=vanished,
        twice=len(deliveries) != len(set(deliveries)),
        pauses=sum(isinstance(event, Paused) for event in events),
        late=late[0][0] if late else "",
        late_otherwise=any(not whose & paused for _, whose in late),
        long_stay=bool(long_stays),
        long_stay_otherwise=bool(set(long_stays) - paused),
        mistakes=sum(isinstance(event, Suspected) and not history.is_down(event.peer, event.at) for event in events),
        held_up=_held_up(trace, sent),
        requests=max(map(wanted.count, wanted), default=0),
    )


Sendings = dict[MessageId, tuple[int, Sent]]


def _losses(history: History, sent: Sendings) -> tuple[list[Gone], int, int]:
    """Losses that no crash of the receiver explains: in transit, in the last step of a sender, and in earlier steps."""
    lost, inside, vanished = [], set(), 0
    last: dict[int, int] = {}  # the time of the last step of each process
    for event in history.trace.events:
        if not isinstance(event, _OUTSIDE):
            last[event.process] = event.at
        if not isinstance(event, Lost):
            continue
        index, sending = sent[event.message]
        if _was_down(history, sending.to, sending.at, event.at):
            continue
        if event.reason != "crash":
            lost.append(Gone(index, (sending.process, sending.to)))
        elif sending.at == last[event.process]:
            inside.add((event.process, event.at))
        else:
            vanished += 1
    return lost, len(inside), vanished


def _was_down(history: History, process: int, start: int, end: int) -> bool:
    return any(down.process == process and down.start <= end and start <= down.end for down in history.downs)


def _waiting(history: History, sent: Sendings, for_us: int) -> Iterator[Gone]:
    """Messages to live processes that were neither lost nor delivered for `for_us`."""
    settled = {event.message for event in history.trace.events if isinstance(event, Lost | Delivered)}
    for message, (index, sending) in sent.items():
        if message not in settled and sending.to in history.live and history.end - sending.at > for_us:
            yield Gone(index, (sending.process, sending.to))


def _held_up(trace: Trace, sent: Sendings) -> int:
    """Number of messages that arrived although their channel was cut while they were in transit."""
    cuts: dict[Channel, list[int]] = {}
    for event in trace:
        if isinstance(event, Cut):
            cuts.setdefault((event.process, event.to), []).append(event.at)
    met = 0
    for event in trace:
        if isinstance(event, Delivered):
            sending = sent[event.message][1]
            channel = (sending.process, sending.to)
            ends = [heal.at for heal in trace if isinstance(heal, Healed) and (heal.process, heal.to) == channel]
            met += any(
                start < event.at and sending.at < min((end for end in ends if end >= start), default=event.at)
                for start in cuts.get(channel, ())
            )
    return met


def _late(history: History, sent: Sendings) -> Iterator[tuple[str, set[int]]]:
    """Messages and timers that were too late for the bounds of the algorithm, each with the processes that may be the
    cause.

    Timers of a busy machine run out late. The matrix has exact timers, so the lateness of the latest one is subtracted
    from the time that a message may take.
    """
    bound = history.trace.header.delay_bound_us
    if bound is None:
        return
    timers = list(_lateness(history.trace))
    slowest = max((late for late, _ in timers), default=0)
    for late, process in timers:
        if late > bound / 2:
            yield f"a timer of process {process} ran out {late} µs late", {process}
    for event in history.trace.events:
        if isinstance(event, Delivered):
            sending = sent[event.message][1]
            took = event.at - sending.at
            if took + min(slowest, bound // 2) > bound:
                yield f"message {event.number} of process {event.sender} took {took} µs", {event.sender, event.process}
    for _, (sender, receiver) in _waiting(history, sent, bound):
        yield f"a message of process {sender} did not arrive in time", {sender, receiver}


def _lateness(trace: Trace) -> Iterator[tuple[int, int]]:
    """The lateness of each timer in microseconds, with its process."""
    due: dict[tuple[int, str], int] = {}
    for event in trace:
        if isinstance(event, TimerSet):
            due[event.process, event.name] = event.at + round(event.after_us * trace.header.promises.time_scale)
        elif isinstance(event, Fired) and (event.process, event.name) in due:
            yield event.at - due.pop((event.process, event.name)), event.process
