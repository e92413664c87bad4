"""Connection: one connection from its first byte to its last: the handshake, then frames, within limits.

`Inbound` is the end that receives messages, `Outbound` the end that sends them. Whatever the other side does, the worst
result is that this connection is closed with one line in the log.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Protocol, cast

import msgspec

from vez.core.message import Message
from vez.errors import PeerViolation
from vez.worlds.node.frames import (
    Acknowledged,
    Beat,
    Codec,
    Data,
    LateBeat,
    NamedData,
    Saying,
    Splitter,
    decode,
    frame,
)
from vez.worlds.node.handshake import NONCE_BYTES, Dialling, Hello, Listening, Refusal, Refused, Welcome
from vez.worlds.node.identity import Identity
from vez.worlds.node.limits import Bucket, Limits
from vez.worlds.node.log import Log
from vez.worlds.node.sockets import has_name

BEAT = frame(Beat())
COUNTED_TOGETHER = 50
"""The number of frames that are counted against the rate at once. Reading the clock for each would cost more than the
frame."""
GOODBYE_S = 1.0
"""The time in which the other side must read a refusal; with TLS it must also confirm the close."""


class Self(msgspec.Struct, frozen=True):
    """The facts about this node that every connection needs."""

    identity: Identity
    me: int
    incarnation: str
    key: bytes | None
    limits: Limits
    codec: Codec
    log: Log
    names: bool = False
    """True if several instances of the algorithm, distinguished by name, share the links."""
    no_return: Callable[[int], str] = lambda _peer: ""
    """The reason why a peer that starts again is refused; empty if it is accepted."""


class Receiver(Protocol):
    """The object to which an inbound connection delivers."""

    def came(self, connection: Inbound) -> None:
        """Called when a stranger connected. The handshake has not identified it yet."""

    def greeted(self, connection: Inbound, hello: Hello) -> int:
        """Called when a peer finished the handshake. Returns the number up to which its messages were handled. Raises
        `PeerViolation`."""

    def arrived(self, peer: int, data: Data, message: Message) -> None:
        """Called when a message of a peer arrived. Raises `PeerViolation` if it is not the expected one."""

    def heard(self, peer: int, after_us: int = 0) -> None:
        """Called when a heartbeat of a peer arrived. It counts after `after_us`."""

    def received(self, peer: int) -> int:
        """The number up to which the messages of a peer were handled."""

    def said(self, peer: int, what: Saying) -> None:
        """Called when a statement of a peer about itself arrived. Raises `PeerViolation` if there are too many."""

    def left(self, connection: Inbound) -> None:
        """Called when the connection is gone."""

    def certificate(self, peer: int) -> str | None:
        """The name that the certificate of a peer must have."""


class Wire(asyncio.BufferedProtocol):
    """The base class of both ends.

    It reads into its own buffer. asyncio would make a buffer of 256 KiB for every read. For glibc this often means to
    map and unmap memory, which can cost half as much as all other work for a message.
    """

    def __init__(self, own: Self) -> None:
        self._own = own
        self._loop = asyncio.get_running_loop()
        self._splitter = Splitter(own.limits.hello_bytes)
        self._bucket = Bucket(own.limits.frames_a_second, self._loop.time())
        self._uncounted = 0  # frames that the bucket has not counted yet
        self._held = False  # True if reading is paused, and a turn is planned
        self.is_open = False
        """True after the handshake, until the connection is closed."""
        self.was_open = False
        """True from the handshake on."""
        self.can_write = True
        """False while the other side does not read."""
        self.last_heard = self._loop.time()
        self.peer: int | None = None
        self._closed = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._deadline = self._loop.call_later(self._own.limits.handshake_s, self._too_slow)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._splitter.room()

    def buffer_updated(self, nbytes: int) -> None:
        self.last_heard = self._loop.time()
        self._splitter.filled(nbytes)
        if not self._held:
            self._turn()

    def feed(self, data: bytes) -> None:
        """Handle bytes that arrived before the connection had this protocol."""
        self._splitter.feed(data)
        self.buffer_updated(0)

    def pause_writing(self) -> None:
        self.can_write = False

    def resume_writing(self) -> None:
        self.can_write = True

    def close(self, reason: str = "") -> None:
        """Close at once. A reason is logged if it is given."""
        if self._closed:
            return
        self._closed, self.is_open = True, False
        self._deadline.cancel()
        if reason:
            who = "a stranger" if self.peer is None else f"node {self.peer}"
            self._own.log.line(f"closed the connection of {who}: {reason}")
        self.transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open, self._closed = False, True
        self._deadline.cancel()

    def opened(self) -> None:
        """Called after the handshake."""
        self._deadline.cancel()
        self._splitter.largest = self._own.limits.frame_bytes
        self.is_open = self.was_open = True

    def handle(self, payload: bytes) -> None:
        """Handle one frame."""
        raise NotImplementedError  # pragma: no cover - both ends override it

    def turn_ended(self) -> None:
        """Called after all frames that have arrived were handled, or as many as fit into one turn."""

    def _turn(self) -> None:
        """Handle the frames that have arrived. If they are too many for one turn or too fast, continue later."""
        most, count, splitter = self._own.limits.frames_a_turn, 0, self._splitter
        try:
            while count < most and not self._closed and (payload := splitter.next()) is not None:
                count += 1
                self.handle(payload)
        except PeerViolation as error:
            self.violated(error)
            return
        if self._closed:
            return
        if count:
            self.turn_ended()
        self._uncounted += count
        wait = 0.0
        if self._uncounted >= COUNTED_TOGETHER or self._held:
            wait = self._bucket.take(self._uncounted, self._loop.time())
            self._uncounted = 0
        if count == most or wait > 0:
            if not self._held:
                self._held = True
                self.transport.pause_reading()
            self._loop.call_later(wait, self._turn)
        elif self._held:
            self._held = False
            self.transport.resume_reading()

    def violated(self, error: PeerViolation) -> None:
        """Handle a violation of the other side."""
        self.close(str(error))

    def _too_slow(self) -> None:
        self.close(f"no handshake within {self._own.limits.handshake_s:g} s")


class Inbound(Wire):
    """The end that receives messages and acknowledges them."""

    def __init__(self, own: Self, receiver: Receiver) -> None:
        super().__init__(own)
        self._receiver = receiver
        self._shake = Listening(own.identity, own.me, own.incarnation, own.key, os.urandom(NONCE_BYTES))
        self._unacknowledged = 0
        self._planned: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._receiver.came(self)
        if self._closed:
            return
        self.transport.write(frame(self._shake.challenge))

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        if self._planned is not None:
            self._planned.cancel()
        self._receiver.left(self)

    def handle(self, payload: bytes) -> None:
        if self.peer is None:
            self._greet(payload)
            return
        found = decode(payload)
        if isinstance(found, Data) and (type(found) is NamedData) is self._own.names:
            self._receiver.arrived(self.peer, found, self._own.codec.message(found))
            self._unacknowledged += 1
        elif type(found) is Beat:
            self._receiver.heard(self.peer)
        elif type(found) is LateBeat:
            self._receiver.heard(self.peer, found.after_us)
        elif self._own.names and isinstance(found, Saying):
            self._receiver.said(self.peer, found)
        else:
            raise PeerViolation(f"unexpected frame {type(found).__name__} from a sender of messages")

    def acknowledge(self) -> None:
        """Acknowledge the handled messages, even if there are no new ones: it shows that this node is alive."""
        if self._planned is not None:
            self._planned.cancel()
            self._planned = None
        self._unacknowledged = 0
        if self.is_open and self.can_write and self.peer is not None:
            self.transport.write(frame(Acknowledged(self._receiver.received(self.peer))))

    def turn_ended(self) -> None:
        limits = self._own.limits
        if self._unacknowledged >= limits.acknowledge_messages:
            self.acknowledge()
        elif self._unacknowledged and self._planned is None:
            self._planned = self._loop.call_later(limits.acknowledge_s, self.acknowledge)

    def violated(self, error: PeerViolation) -> None:
        if self.peer is None and isinstance(error, Refusal):
            self.transport.write(frame(Refused(error.message[:500])))
            self._deadline.cancel()
            self._own.log.line(f"refused a connection: {error.message}")
            self._closed = True
            self.transport.close()  # after the refusal is written
            self._loop.call_later(GOODBYE_S, self.transport.abort)
            return
        super().violated(error)

    def _greet(self, payload: bytes) -> None:
        hello = self._shake.hello(payload)
        name = self._receiver.certificate(hello.me)
        if name is not None and not has_name(self.transport, name):
            raise Refusal(f"the certificate of node {hello.me} does not have the name {name}")
        try:
            received = self._receiver.greeted(self, hello)
        except PeerViolation as error:
            raise Refusal(error.message) from error
        self.peer = hello.me
        self.opened()
        self.transport.write(frame(self._shake.welcome(received)))


class Sender(Protocol):
    """The object to which an outbound connection reports."""

    def welcomed(self, connection: Outbound, welcome: Welcome) -> None:
        """Called when the peer finished the handshake. Raises `PeerViolation`."""

    def acknowledged(self, sequence: int) -> None:
        """Called when the peer handled everything up to `sequence`. Raises `PeerViolation`."""

    def drained(self) -> None:
        """Called when the peer reads again."""

    def left(self, connection: Outbound, reason: str) -> None:
        """Called when the connection is gone."""


class Outbound(Wire):
    """The end that sends messages."""

    def __init__(self, own: Self, peer: int, sender: Sender) -> None:
        super().__init__(own)
        self.peer = peer
        self._sender = sender
        self._shake = Dialling(own.identity, own.me, peer, own.incarnation, own.key, os.urandom(NONCE_BYTES))
        self._reason = ""

    def handle(self, payload: bytes) -> None:
        if self.is_open:
            found = decode(payload)
            if type(found) is not Acknowledged:
                raise PeerViolation(f"unexpected frame {type(found).__name__} from a receiver of messages")
            self._sender.acknowledged(found.sequence)
        elif self._shake.is_greeted:
            welcome = self._shake.welcome(payload)
            self.opened()
            self._sender.welcomed(self, welcome)
        else:
            self.transport.write(frame(self._shake.hello(payload)))

    def resume_writing(self) -> None:
        super().resume_writing()
        self._sender.drained()

    def close(self, reason: str = "") -> None:
        self._reason = reason or self._reason
        super().close()  # the sender logs each reason once, because it dials again

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        self._sender.left(self, self._reason)
