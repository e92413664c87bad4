"""Transport: all connections of a node. It sends over dialled connections, and receives over accepted ones."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterable
from functools import partial

from vez.core.message import Message
from vez.errors import PeerViolation
from vez.worlds.node.channel import Channel, Events
from vez.worlds.node.connection import Inbound, Outbound, Self, Wire
from vez.worlds.node.frames import Data, LateData, NamedData, Saying
from vez.worlds.node.group import Group
from vez.worlds.node.handshake import Hello
from vez.worlds.node.late_delivery import LateDeliveries
from vez.worlds.node.link import Inbox, Letter
from vez.worlds.node.sockets import Contexts, Listener, dial, listen
from vez.worlds.node.tls_handshakes import HandshakeSettings, TlsHandshakes

LAST_TURNS = 10
"""Turns of the loop after the last connection was aborted. asyncio passes on a connection that the kernel has just
accepted three turns later, and its socket is closed one turn after that."""


class Transport:
    """The channels to peers, and the connections from them."""

    def __init__(self, own: Self, group: Group, *, reliable: bool, fifo: bool, events: Events) -> None:
        self._own = own
        self._group = group
        self._reliable = reliable
        self._events = events
        self._contexts = Contexts(group, own.me)
        self._channels: dict[int, Channel] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._strangers: dict[Inbound, None] = {}  # the oldest first
        self._inbound: dict[int, Inbound] = {}
        self._inboxes = {peer: Inbox(reliable=reliable, no_return=own.no_return(peer)) for peer in group.ids}
        self._waiting = LateDeliveries(own.limits, fifo=fifo)
        self._waiters = self._waiting.waiters
        self._listener: Listener | None = None
        self._handshakes = self._make_handshakes()
        self._is_shut = False

    async def start(self, peers: Iterable[int]) -> None:
        """Listen, and dial these peers. Other peers are dialled when a message is sent to them."""
        self._listener = await listen(self._group.addresses[self._own.me], self._handshakes or self._accept)
        for peer in peers:
            self.channel(peer)
        self._tasks.append(asyncio.get_running_loop().create_task(self._watch()))

    def shut(self) -> None:
        """Close all connections now: later messages must not be acknowledged, because they are not handled."""
        self._is_shut = True
        self._waiting.stop()
        if self._listener is not None:
            self._listener.stop()
        if self._handshakes is not None:
            self._handshakes.close()
        for wire in self._wires():
            wire.close()
            wire.transport.abort()  # including those that are closing already

    async def stop(self) -> None:
        """Close everything."""
        self.shut()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for _ in range(LAST_TURNS):
            await asyncio.sleep(0)

    def channel(self, peer: int) -> Channel:
        """The channel to a peer. The first call begins to dial."""
        found = self._channels.get(peer)
        if found is None:
            found = self._channels[peer] = Channel(self._own, peer, reliable=self._reliable, events=self._events)
            self._tasks.append(asyncio.get_running_loop().create_task(found.keep(self._dial)))
        return found

    def send(self, to: int, letter: Letter) -> None:
        """Send a message. Raises `ReliableNotKept`."""
        (self._channels.get(to) or self.channel(to)).send(letter)

    def beat(self, peer: int, after_us: int) -> None:
        """Send a heartbeat to a peer. It counts after `after_us`."""
        self.channel(peer).beat(after_us)

    def marks(self) -> dict[int, int]:
        """The number of the last message to each connected peer."""
        return {peer: self._channels[peer].last for peer in self.linked}

    def confirmed(self, marks: dict[int, int]) -> bool:
        """True if the peers that are still connected have acknowledged everything up to these numbers."""
        return all(self._channels[peer].confirmed >= mark for peer, mark in marks.items() if peer in self.linked)

    def close_copies(self) -> None:
        """In a forked child: close the inherited sockets, without telling the other side."""
        carriers = [getattr(wire, "transport", None) for wire in self._wires()]
        sockets = [one.get_extra_info("socket") for one in carriers if one is not None]
        found = [] if self._listener is None else self._listener.sockets
        for descriptor in (*found, *(socket.fileno() for socket in sockets if socket is not None)):
            if descriptor >= 0:
                with contextlib.suppress(OSError):
                    os.close(descriptor)

    @property
    def linked(self) -> list[int]:
        """The peers to which messages can be sent now."""
        return sorted(peer for peer, channel in self._channels.items() if channel.connection is not None)

    @property
    def unacknowledged(self) -> dict[int, int]:
        """For each peer that has not handled everything that was sent to it: the number of messages."""
        return {peer: count for peer, channel in sorted(self._channels.items()) if (count := channel.unacknowledged)}

    @property
    def sources(self) -> dict[int, str]:
        """The peers whose connections to this node are open, and their incarnations."""
        return {peer: self._inboxes[peer].peer or "" for peer in sorted(self._inbound)}

    @property
    def late(self) -> int:
        """The number of messages that have arrived and are delivered later."""
        return sum(one.sequence > 0 for one in self._waiters)

    # Callbacks of inbound connections.

    def came(self, connection: Inbound) -> None:
        if self._is_shut:
            connection.close()
            return
        if len(self._strangers) >= self._most_strangers:  # close the oldest: the new one may be a member
            oldest = next(iter(self._strangers))
            del self._strangers[oldest]
            oldest.close("too many connections that have not said who they are")
        self._strangers[connection] = None

    def greeted(self, connection: Inbound, hello: Hello) -> int:
        received = self._inboxes[hello.me].hello(hello.incarnation)
        self._strangers.pop(connection, None)
        earlier = self._inbound.get(hello.me)
        self._inbound[hello.me] = connection
        if earlier is not None:
            earlier.close()
        if hello.me in self._channels:
            self._channels[hello.me].learnt(hello.incarnation)
        self._events.heard(hello.me)
        return received

    def arrived(self, peer: int, data: Data, message: Message) -> None:
        inbox = self._inboxes[peer]
        inbox.accept(data.sequence)
        incarnation = inbox.peer or ""
        name = data.name if isinstance(data, NamedData) else ""
        if not self._waiters and type(data) is not LateData:
            self._events.message(peer, data.number, incarnation, message, name)
            return
        deliver = partial(self._events.message, peer, data.number, incarnation, message, name)
        after_us = data.after_us if isinstance(data, LateData) else 0
        self._waiting.hold(
            peer, after_us, deliver, incarnation=incarnation, sequence=data.sequence, size=len(bytes(data.body))
        )

    def heard(self, peer: int, after_us: int = 0) -> None:
        if after_us:
            self._waiting.hold(peer, after_us, partial(self._events.heard, peer))
        else:
            self._events.heard(peer)

    def said(self, peer: int, what: Saying) -> None:
        self._events.said(peer, what)

    def received(self, peer: int) -> int:
        inbox = self._inboxes[peer]
        return self._waiting.handled(peer, inbox.peer or "", inbox.received) if self._waiters else inbox.received

    def left(self, connection: Inbound) -> None:
        self._strangers.pop(connection, None)
        if connection.peer is not None and self._inbound.get(connection.peer) is connection:
            del self._inbound[connection.peer]

    def certificate(self, peer: int) -> str | None:
        return self._contexts.name(peer)

    @property
    def _most_strangers(self) -> int:
        return self._own.limits.strangers + len(self._group.ids)

    def _make_handshakes(self) -> TlsHandshakes | None:
        """The TLS handshakes of the listener; None without TLS."""
        own, contexts = self._own, self._contexts
        if contexts.server is None:
            return None
        return TlsHandshakes(
            HandshakeSettings(
                self._accept, lambda: contexts.server, own.limits.handshake_s, self._most_strangers, own.log
            )
        )

    def _accept(self) -> Inbound:
        return Inbound(self._own, self)

    async def _dial(self, channel: Channel) -> Outbound:
        peer = channel.peer
        return await dial(
            self._group.addresses[peer],
            lambda: Outbound(self._own, peer, channel),
            self._contexts.client,
            self._contexts.name(peer),
        )

    def _wires(self) -> list[Wire]:
        outbound = [channel.connection for channel in self._channels.values() if channel.connection is not None]
        return [*self._strangers, *self._inbound.values(), *outbound]

    async def _watch(self) -> None:
        """Send keepalives, and close connections whose other side is silent for too long."""
        limits, loop = self._own.limits, asyncio.get_running_loop()
        while True:
            await asyncio.sleep(limits.keepalive_s)
            for inbound in self._inbound.values():
                inbound.acknowledge()
            for channel in self._channels.values():
                channel.beat()
            for wire in self._wires():
                if wire.is_open and loop.time() - wire.last_heard > limits.silence_s:
                    wire.violated(PeerViolation(f"nothing was heard for {limits.silence_s:g} s"))
