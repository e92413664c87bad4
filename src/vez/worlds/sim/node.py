"""Node: the simulator's `Io`, one for each process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import msgspec

from vez.core import trace as events
from vez.core.message import Message
from vez.core.process import Process
from vez.worlds.sim.agenda import Agenda
from vez.worlds.sim.choices import Choices
from vez.worlds.sim.delays import us
from vez.worlds.sim.recording import Recording
from vez.worlds.sim.timers import Timers
from vez.worlds.sim.topology_cache import TopologyCache

T = TypeVar("T")


class Channels(Protocol):
    """The part of the network that a node uses."""

    def transmit(self, sender: int, to: int, message: Message) -> None:
        """Send a message on its way."""


class Application(Protocol):
    """The part of the harness that a node uses."""

    def entered(self, node: Node, token: int | None) -> None:
        """The process is inside."""

    def spurious(self, process: int, *, inside: bool) -> None:
        """The process called `io.enter()` without a request, or is inside already."""


class Services(msgspec.Struct, frozen=True):
    """The parts that nodes use. All nodes of a run share one instance."""

    agenda: Agenda
    topology_cache: TopologyCache
    channels: Channels
    timers: Timers
    choices: Choices
    recording: Recording
    application: Application
    draw: Callable[[], int]
    """A random delay in microseconds, for nodes that send without `channels`."""


class Node:
    """One process and its `io`."""

    __slots__ = ("agenda", "hub", "me", "process", "right", "services")

    def __init__(self, services: Services, me: int, right: int, process: Process) -> None:
        self.services = services
        self.agenda = services.agenda
        self.me = me
        self.right = right
        self.hub = services.topology_cache.hub
        self.process = process

    # No `__getattr__` that fills a slot: a class with one loses the interpreter's fast path for all attributes.

    @property
    def peers(self) -> tuple[int, ...]:
        return self.services.topology_cache.peers[self.me]

    @property
    def neighbours(self) -> tuple[int, ...]:
        return self.services.topology_cache.neighbours[self.me]

    @property
    def left(self) -> int:
        return self.services.topology_cache.topology.left(self.me)

    def after(self, process: int) -> int:
        return self.services.topology_cache.topology.after(self.me, process)

    def send(self, to: int, message: Message) -> None:
        self.services.channels.transmit(self.me, to, message)

    def broadcast(self, message: Message) -> None:
        send = self.send
        for peer in self.peers:
            send(peer, message)

    def set_timer(self, name: str, after_ms: float) -> None:
        timers, agenda = self.services.timers, self.agenda
        try:
            timer = timers.by_name[name]
            wait_us = timer.known[after_ms]
        except KeyError:
            timer, wait_us = timers.find(self.me, name, after_ms)
        number = timer.running[self.me] = agenda.number()
        agenda.post(wait_us, self, timer, number)

    def cancel_timer(self, name: str) -> None:
        timer = self.services.timers.by_name.get(name)
        if timer is not None:
            timer.running.pop(self.me, None)

    def choose(self, options: Sequence[T]) -> T:
        return options[self.services.choices.pick(self.me, len(options))]

    def chose(self, count: int, index: int) -> None:
        """Note a choice among `count` options that was made elsewhere. `RecordedNode` records it."""

    def enter(self, token: int | None = None) -> None:
        self.services.application.entered(self, token)

    def elected(self, leader: int | None, term: int = 0) -> None:
        self.services.recording.elected(self.me, leader, term)

    def note(self, text: str) -> None:
        self.services.recording.note(self.me, text)


class RecordedNode(Node):
    """A node that also records the internal events of the process: its timers and its choices."""

    __slots__ = ()

    def set_timer(self, name: str, after_ms: float) -> None:
        super().set_timer(name, after_ms)
        self.services.recording.add(events.TimerSet, self.me, name, us(after_ms))

    def cancel_timer(self, name: str) -> None:
        super().cancel_timer(name)
        self.services.recording.add(events.TimerCancelled, self.me, name)

    def choose(self, options: Sequence[T]) -> T:
        index = self.services.choices.pick(self.me, len(options))
        self.chose(len(options), index)
        return options[index]

    def chose(self, count: int, index: int) -> None:
        self.services.recording.add(events.Chose, self.me, count, index)
