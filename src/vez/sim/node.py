"""Node: the simulator's `Io`, one for each process.

Three kinds differ in `send` alone. Where nobody watches (no trace, no faults), a message goes straight into
the agenda; the watched kind asks the network what becomes of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappush
from typing import TYPE_CHECKING, TypeVar

from vez.core.message import Message
from vez.core.process import Process

if TYPE_CHECKING:
    from vez.sim.simulation import Simulation

T = TypeVar("T")


class Node:
    """One process and its view of the world."""

    __slots__ = ("agenda", "me", "process", "right", "world")

    def __init__(self, world: Simulation, me: int, right: int, process: Process) -> None:
        self.world = world
        self.agenda = world.agenda
        self.me = me
        self.right = right
        self.process = process

    # With a million processes nobody can afford everybody's peers, and those who ask once will ask again. Not a
    # __getattr__ that fills a slot: a class that has one loses the interpreter's fast path for all attributes.

    @property
    def peers(self) -> tuple[int, ...]:
        known = self.world.peers.get(self.me)
        if known is None:
            known = self.world.peers[self.me] = self.world.topology.peers(self.me)
        return known

    @property
    def neighbours(self) -> tuple[int, ...]:
        known = self.world.neighbours.get(self.me)
        if known is None:
            known = self.world.neighbours[self.me] = self.world.topology.neighbours(self.me)
        return known

    @property
    def left(self) -> int:
        return self.world.topology.left(self.me)

    @property
    def hub(self) -> int:
        return self.world.topology.hub

    def after(self, process: int) -> int:
        return self.world.topology.right(process)

    def send(self, to: int, message: Message) -> None:
        self.world.network.transmit(self, to, message)

    def broadcast(self, message: Message) -> None:
        send = self.send
        for peer in self.peers:
            send(peer, message)

    def set_timer(self, name: str, after_ms: float) -> None:
        self.world.set_timer(self, name, after_ms)

    def cancel_timer(self, name: str) -> None:
        self.world.cancel_timer(self, name)

    def choose(self, options: Sequence[T]) -> T:
        return options[self.world.choose(self, len(options))]

    def enter(self, token: int | None = None) -> None:
        self.world.harness.entered(self, token)

    def elected(self, leader: int, term: int = 0) -> None:
        self.world.elected(self, leader, term)

    def note(self, text: str) -> None:
        self.world.note(self, text)


class ConstantNode(Node):
    """Every message takes the same time: all that is sent now arrives together, in the order of sending."""

    __slots__ = ()

    def send(self, to: int, message: Message) -> None:
        me = self.me
        if to == me:
            self.world.counts[type(message)] -= 1  # the loop counts what it delivers
        self.agenda.outbox.append((self.world.by_id[to], message, me))


class RandomNode(Node):
    """Delays are drawn, and channels need not be first in, first out."""

    __slots__ = ()

    def send(self, to: int, message: Message) -> None:
        world, agenda = self.world, self.agenda
        if to == self.me:
            world.counts[type(message)] -= 1
        delivery = world.by_id[to], message, self.me
        heappush(agenda.heap, (agenda.now + world.draw(), agenda.number(), (delivery,)))
