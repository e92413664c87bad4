"""NetworkModel: what becomes of a message that somebody watches.

Every message has a fate: lost, delayed, copied. It is drawn from the seed or, where the scenario names the
message, taken from there. Fates are kept by (sender, to, how many-th on that channel), which stays
meaningful when a shrinker removes other messages.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING

from vez.core import trace as events
from vez.core.message import Message, fields_of
from vez.errors import ProtocolBug, article
from vez.sim.delays import US, plain, us
from vez.sim.node import Node
from vez.sim.scenario import Fate, Network, Scenario
from vez.sim.setup import Setup

if TYPE_CHECKING:
    from vez.sim.simulation import Simulation


class NetworkModel:
    """The channels between the processes."""

    def __init__(self, world: Simulation, setup: Setup) -> None:
        self.world = world
        self.fifo = setup.fifo
        self._network = setup.scenario.network
        self._draw = world.draw
        self._chance = world.stream("faults").random
        self._fates = {(fate.sender, fate.to, fate.number): fate for fate in setup.scenario.message}
        self._counts: defaultdict[tuple[int, int], int] = defaultdict(int)
        self._latest: defaultdict[tuple[int, int], int] = defaultdict(int)  # FIFO: last arrival by channel
        self._cuts: defaultdict[tuple[int, int], int] = defaultdict(int)  # how many partitions cut a channel
        self._number = 0
        self._seen: list[Fate] = []

    def transmit(self, node: Node, to: int, message: Message) -> None:
        """Send a message on its way."""
        world, sender = self.world, node.me
        self._check(sender, to, message)
        if to != sender:
            world.agenda.sent[message.__class__] = world.agenda.sent.get(message.__class__, 0) + 1
        self._number += 1
        number, channel = self._number, (sender, to)
        self._counts[channel] += 1
        if world.log is not None:
            kind = message.__class__.__name__
            world.record(events.Sent, sender, number, to, kind, fields_of(message))
        if self._cuts.get(channel):
            world.record(events.Lost, sender, number, "partition")
            return
        lost, delays = self._fate(channel)
        if lost:
            world.record(events.Lost, sender, number, "loss")
        for delay in delays:
            at = world.agenda.now + max(1, delay)
            if self.fifo:
                at = self._latest[channel] = max(at, self._latest[channel])
            world.agenda.plan(at, partial(self._arrive, world.nodes[to], message, sender, number))

    def cut(self, channels: list[tuple[int, int]]) -> None:
        """Channels carry nothing from now on."""
        for sender, to in channels:
            self._cuts[sender, to] += 1
            if self._cuts[sender, to] == 1:
                self.world.record(events.Cut, sender, to)

    def heal(self, channels: list[tuple[int, int]]) -> None:
        """Channels carry messages again, unless another partition still cuts them."""
        for sender, to in channels:
            self._cuts[sender, to] -= 1
            if not self._cuts[sender, to]:
                self.world.record(events.Healed, sender, to)

    def is_cut(self, sender: int, to: int) -> bool:
        """Whether the channel carries nothing now."""
        return bool(self._cuts.get((sender, to)))

    def explicit(self, scenario: Scenario) -> Scenario:
        """The scenario with every fate that was drawn written down."""
        constant = f"constant({plain(self.world.message_us / US)})"
        network = Network(delay=constant, fifo=scenario.network.fifo)
        return scenario.but(network=network, message=tuple(self._seen))

    def _fate(self, channel: tuple[int, int]) -> tuple[bool, list[int]]:
        network, number = self._network, self._counts[channel]
        fate = self._fates.get((*channel, number))
        if fate is not None:
            delay = self._draw() if fate.delay_ms is None else us(fate.delay_ms)
            lost, delays = fate.lost, [] if fate.lost else [delay]
            delays += map(us, fate.copies)
        else:
            lost, delays = self._chanced(network)
        if self.world.explain and (lost or delays != [self.world.message_us]):
            self._seen.append(
                Fate(
                    sender=channel[0],
                    to=channel[1],
                    number=number,
                    lost=lost,
                    delay_ms=None if lost else delays[0] / US,
                    copies=tuple(delay / US for delay in delays[0 if lost else 1 :]),
                )
            )
        return lost, delays

    def _chanced(self, network: Network) -> tuple[bool, list[int]]:
        delay = self._draw()
        if network.loss and self._chance() < network.loss:
            return True, []
        if network.reorder and self._chance() < network.reorder:
            delay += int(self._chance() * 3 * self.world.message_us)
        delays = [delay]
        if network.duplicate and self._chance() < network.duplicate:
            delays.append(delay + self._draw())
        return False, delays

    def _arrive(self, node: Node, message: Message, sender: int, number: int) -> None:
        world = self.world
        if self._cuts.get((sender, node.me)):
            world.record(events.Lost, sender, number, "partition")
        elif world.faults.is_dead(node.me):
            world.record(events.Lost, sender, number, "crash")
        else:
            world.faults.when_awake(node, partial(self._deliver, node, message, sender, number))

    def _deliver(self, node: Node, message: Message, sender: int, number: int) -> None:
        world = self.world
        world.record(events.Delivered, node.me, number)
        world.call(node, world.handler(message.__class__), message, sender)

    def _check(self, sender: int, to: int, message: Message) -> None:
        if not isinstance(message, Message):
            raise ProtocolBug(
                f"process {sender} sent {message!r}, which is not a Message",
                hint="declare `class Something(Message)` with typed fields",
            )
        if not isinstance(to, int) or to not in self.world.nodes:
            raise ProtocolBug(
                f"process {sender} sent {article(type(message).__name__)} to {to!r}, which does not exist"
            )
        if to != sender and not self.world.topology.has_channel(sender, to):
            raise ProtocolBug(
                f"process {sender} sent {article(type(message).__name__)} to {to}, to whom it has no channel",
                hint=f"its neighbours in the {self.world.topology.name}: {self.world.topology.neighbours(sender)}",
            )
