"""Channel: sends to one peer. It has a link, and a connection that is dialled again when it is lost."""

from __future__ import annotations

import asyncio
import random
import ssl
from collections.abc import Awaitable, Callable

import msgspec

from vez.core.message import Message
from vez.errors import PeerViolation, ReliableNotKept
from vez.worlds.node.connection import BEAT, Outbound, Self
from vez.worlds.node.frames import LONGEST_DELAY_US, OVERHEAD, Data, LateBeat, LateData, NamedData, Saying, frame
from vez.worlds.node.handshake import Welcome
from vez.worlds.node.journal import now_us
from vez.worlds.node.link import Letter, Loss, Outbox


class Events(msgspec.Struct, frozen=True):
    """The callbacks through which the transport reports to the node."""

    message: Callable[[int, int, str, Message, str], None]
    """Called with a message: sender, number, incarnation of the sender, message, name of the instance."""
    heard: Callable[[int], None]
    """Called for a heartbeat of this peer."""
    lost: Callable[[list[Loss]], None]
    linked: Callable[[int, bool], None]
    """Called when the channel to this peer is up (True) or down (False)."""
    said: Callable[[int, Saying], None] = lambda _peer, _frame: None
    """Called with a statement of a peer about itself."""
    refused: Callable[[int, str], None] = lambda _peer, _reason: None
    """Called if there is no channel to this peer, with the reason."""


class Channel:
    """The channel to one peer."""

    def __init__(self, own: Self, peer: int, *, reliable: bool, events: Events) -> None:
        self.peer = peer
        self.slow_us = 0
        """An additional delay in microseconds of everything that is sent, to make the channel slow."""
        self.connection: Outbound | None = None
        self._own = own
        self._reliable = reliable
        limits = own.limits
        self._outbox = Outbox(reliable=reliable, most=limits.kept_messages, most_bytes=limits.kept_bytes)
        self._events = events
        self._is_cut = False
        self._wake = asyncio.Event()
        self._gone = asyncio.Event()
        self._said = ""
        self._is_useful = False  # True if the peer acknowledged a message of the current connection

    def send(self, letter: Letter) -> None:
        """Accept a message, and write it as soon as that is possible. Raises `ReliableNotKept`."""
        if reason := self._refusal(letter):
            self._refuse(letter, reason)
        elif self._outbox.push(letter):
            self._write()
        else:
            self._events.lost([Loss(letter.number, "loss")])

    def _refusal(self, letter: Letter) -> str:
        """The reason why the peer, which has the same limits, would refuse this message; empty if it would not."""
        most, body, kind = self._own.limits.frame_bytes, letter.body, letter.kind
        if len(body) + 4 * (len(kind) + len(letter.name)) + OVERHEAD > most:  # up to 4 bytes per character
            return f"a message {kind} of {len(body)} bytes does not fit into a frame of {most} bytes"
        deep = self._own.codec.too_deep(kind, body)
        return f"a message {kind} is {deep}" if deep else ""

    def _refuse(self, letter: Letter, reason: str) -> None:
        """Drop a message that the peer would refuse: sending it would break the connection again and again."""
        if self._reliable:
            raise ReliableNotKept(reason, hint="let the algorithm send less in one message")
        self._own.log.line(f"message {letter.number} to node {self.peer} was not sent: {reason}")
        self._events.lost([Loss(letter.number, "loss")])

    def _write(self) -> None:
        """Write the waiting messages, if there is a connection and the other side reads."""
        connection = self.connection
        if connection is None or not connection.can_write:
            return
        frames = []
        for sequence, letter in self._outbox.take():
            number, kind, body = letter.number, letter.kind, msgspec.Raw(letter.body)
            if letter.name:
                frames.append(frame(NamedData(sequence, number, kind, body, letter.name)))
            elif letter.due_us or self.slow_us:
                after_us = min(max(0, letter.due_us - now_us()) + self.slow_us, LONGEST_DELAY_US)
                frames.append(frame(LateData(sequence, number, kind, body, after_us)))
            else:
                frames.append(frame(Data(sequence, number, kind, body)))
        if frames:
            connection.transport.write(b"".join(frames))

    def beat(self, after_us: int = 0) -> None:
        """Send a heartbeat, unless there is no connection or the other side does not read."""
        if self.connection is not None and self.connection.can_write:
            after = min(after_us + self.slow_us, LONGEST_DELAY_US)
            self.connection.transport.write(frame(LateBeat(after)) if after else BEAT)

    def say(self, what: Saying) -> None:
        """Send a statement about this node, if there is a connection."""
        if self.connection is not None:
            self.connection.transport.write(frame(what))

    @property
    def last(self) -> int:
        """The number of the last message of this link."""
        return self._outbox.last

    @property
    def confirmed(self) -> int:
        """The number up to which the peer has acknowledged everything."""
        return self._outbox.confirmed

    @property
    def unacknowledged(self) -> int:
        """The number of messages that the peer has not acknowledged."""
        return len(self._outbox)

    def cut(self) -> None:
        """Carry nothing until `heal`."""
        self._is_cut = True
        if self.connection is not None:
            self.connection.close()

    def heal(self) -> None:
        """Carry messages again."""
        self._is_cut = False
        self._wake.set()

    def learnt(self, incarnation: str) -> None:
        """Note the incarnation of a peer that connected to this node, and dial it now instead of after the backoff."""
        if incarnation != self._outbox.peer:
            self._events.lost(self._outbox.learnt(incarnation, now_us()))
            if self.connection is not None:  # it leads to the earlier incarnation
                self.connection.close()
        self._wake.set()

    async def keep(self, dial: Callable[[Channel], Awaitable[Outbound]]) -> None:
        """Dial, and dial again when the connection is lost, for ever."""
        limits = self._own.limits
        wait = limits.backoff_s
        while True:
            self._wake.clear()
            self._gone.clear()
            if not self._is_cut and await self._once(dial):
                wait = limits.backoff_s
            jitter = 0.5 + random.random()  # so that two nodes do not dial each other at the same time
            try:
                async with asyncio.timeout(None if self._is_cut else wait * jitter):
                    await self._wake.wait()
                wait = limits.backoff_s
            except TimeoutError:
                wait = min(2 * wait, limits.backoff_most_s)

    async def _once(self, dial: Callable[[Channel], Awaitable[Outbound]]) -> bool:
        """Dial once and wait for the end of the connection. True if the connection was useful.

        A connection that the peer accepts and then closes at once is not useful: dialling again without a growing
        backoff would only load both nodes.
        """
        loop = asyncio.get_running_loop()
        self._is_useful = False
        try:
            async with asyncio.timeout(self._own.limits.handshake_s):
                connection = await dial(self)
        except ssl.SSLError as error:
            self._say(f"TLS: {error.reason or error}")
        except (OSError, TimeoutError):  # the peer does not listen yet, or no longer
            pass
        else:
            began = loop.time()
            try:
                await self._gone.wait()
            finally:
                connection.close()
            return connection.was_open and (self._is_useful or loop.time() - began > self._own.limits.backoff_most_s)
        return False

    # Callbacks of a connection.

    def welcomed(self, connection: Outbound, welcome: Welcome) -> None:
        if self._outbox.peer not in (None, welcome.incarnation) and (reason := self._own.no_return(self.peer)):
            raise PeerViolation(reason)
        self._events.lost(self._outbox.connected(welcome.incarnation, welcome.received, now_us()))
        self.connection = connection
        self._said = ""
        self._events.linked(self.peer, True)
        self._write()

    def acknowledged(self, sequence: int) -> None:
        before = self._outbox.confirmed
        self._outbox.acknowledged(sequence)
        self._is_useful = self._is_useful or self._outbox.confirmed > before

    def drained(self) -> None:
        self._write()

    def left(self, connection: Outbound, reason: str) -> None:
        if reason:
            self._say(reason)
        if self.connection is connection:
            self.connection = None
            self._outbox.disconnected()
            self._events.linked(self.peer, False)
        self._gone.set()

    def _say(self, reason: str) -> None:
        """Log a reason once, not at every attempt."""
        if reason != self._said:
            self._said = reason
            self._own.log.line(f"no channel to node {self.peer}: {reason}")
            self._events.refused(self.peer, reason)
