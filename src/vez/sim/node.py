"""Node: the simulator's `Io`, one for each process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from vez.core.message import Message
from vez.core.process import Process

if TYPE_CHECKING:
    from vez.sim.simulation import Simulation

T = TypeVar("T")


class Node:
    """One process and its view of the world."""

    __slots__ = ("agenda", "hub", "me", "process", "right", "world")

    def __init__(self, world: Simulation, me: int, right: int, process: Process) -> None:
        self.world = world
        self.agenda = world.agenda
        self.me = me
        self.right = right
        self.hub = world.hub
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

    def after(self, process: int) -> int:
        return self.world.topology.right(process)

    def send(self, to: int, message: Message) -> None:
        self.world.network.transmit(self, to, message)

    def broadcast(self, message: Message) -> None:
        send = self.send
        for peer in self.peers:
            send(peer, message)

    def set_timer(self, name: str, after_ms: float) -> None:
        timers, agenda = self.world.timers, self.agenda
        try:
            timer = timers.by_name[name]
            wait_us = timer.known[after_ms]
        except KeyError:
            timer, wait_us = timers.find(self.me, name, after_ms)
        number = timer.running[self.me] = agenda.number()
        agenda.post(wait_us, self, timer, number)

    def cancel_timer(self, name: str) -> None:
        timer = self.world.timers.by_name.get(name)
        if timer is not None:
            timer.running.pop(self.me, None)

    def choose(self, options: Sequence[T]) -> T:
        return options[self.world.choose(self, len(options))]

    def enter(self, token: int | None = None) -> None:
        self.world.harness.entered(self, token)

    def elected(self, leader: int, term: int = 0) -> None:
        self.world.elected(self, leader, term)

    def note(self, text: str) -> None:
        self.world.note(self, text)
