"""NetworkModel: loss, delay and duplication of messages.

Runs without a trace and without faults, where no message can be lost, send messages by `quiet.py` instead.

The fate of a message (lost, delayed, duplicated) is drawn from the seed, unless the scenario sets it. A scenario names
a message by its sender, its receiver and its number on that channel. So the name stays valid when messages of other
channels are removed, as the shrinker does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial

from vez.core import trace as events
from vez.core.effects import check_send
from vez.core.message import Message, fields_of
from vez.worlds.sim.agenda import Agenda
from vez.worlds.sim.availability import Availability
from vez.worlds.sim.delays import US, plain, us
from vez.worlds.sim.dispatch import Dispatcher
from vez.worlds.sim.node import Node
from vez.worlds.sim.recording import Recording
from vez.worlds.sim.scenario import Fate, Network, Scenario
from vez.worlds.sim.setup import Setup


class NetworkModel:
    """Carries messages between processes."""

    def __init__(
        self,
        setup: Setup,
        nodes: Mapping[int, Node],
        *,
        agenda: Agenda,
        recording: Recording,
        dispatcher: Dispatcher,
        availability: Availability,
        draw: Callable[[], int],
        explain: bool,
    ) -> None:
        self._nodes = nodes
        self._agenda = agenda
        self._recording = recording
        self._dispatcher = dispatcher
        self._availability = availability
        self._topology = setup.topology
        self._message_us = setup.message_us
        self._fifo = setup.fifo
        self._network = setup.scenario.network
        self._draw = draw
        self._explain = explain
        self._chance = setup.stream("faults").random
        self._fates = {(fate.sender, fate.to, fate.number): fate for fate in setup.scenario.message}
        self._counts: defaultdict[tuple[int, int], int] = defaultdict(int)
        self._latest: defaultdict[tuple[int, int], int] = defaultdict(int)  # FIFO: last arrival by channel
        self._cuts: defaultdict[tuple[int, int], int] = defaultdict(int)  # the number of partitions that cut a channel
        self._numbers: dict[int, int] = {}  # number of messages that each process has sent
        self._seen: list[Fate] = []

    def transmit(self, sender: int, to: int, message: Message) -> None:
        """Send a message on its way."""
        agenda, recording = self._agenda, self._recording
        # A channel that carried a message before exists. The type comes first: a list cannot be looked up.
        if type(to) is not int or (sender, to) not in self._counts or not isinstance(message, Message):
            check_send(self._topology, sender, to, message)
        if to != sender:
            agenda.sent[message.__class__] = agenda.sent.get(message.__class__, 0) + 1
        number, channel = self._numbers.get(sender, 0) + 1, (sender, to)
        self._numbers[sender] = number
        self._counts[channel] += 1
        if recording.log is not None:
            recording.add(events.Sent, sender, number, to, message.__class__.__name__, fields_of(message))
        if self._cuts.get(channel):
            recording.add(events.Lost, sender, number, "partition")
            return
        lost, delays = self._fate(channel)
        if lost:
            recording.add(events.Lost, sender, number, "loss")
        for delay in delays:
            at = agenda.now + max(1, delay)
            if self._fifo:
                at = self._latest[channel] = max(at, self._latest[channel])
            agenda.plan(at, partial(self._arrive, self._nodes[to], message, sender, number))

    def cut(self, channels: list[tuple[int, int]]) -> None:
        """Cut channels: they lose every message from now on."""
        for sender, to in channels:
            self._cuts[sender, to] += 1
            if self._cuts[sender, to] == 1:
                self._recording.add(events.Cut, sender, to)

    def heal(self, channels: list[tuple[int, int]]) -> None:
        """Heal channels, unless another partition still cuts them."""
        for sender, to in channels:
            self._cuts[sender, to] -= 1
            if not self._cuts[sender, to]:
                self._recording.add(events.Healed, sender, to)

    def is_cut(self, sender: int, to: int) -> bool:
        """True if a partition cuts the channel now."""
        return bool(self._cuts.get((sender, to)))

    def explicit(self, scenario: Scenario) -> Scenario:
        """The scenario with the fate of every message written out."""
        constant = f"constant({plain(self._message_us / US)})"
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
            lost, delays = self._chanced(network) if channel[0] != channel[1] else (False, [self._draw()])
        if self._explain and (lost or delays != [self._message_us]):
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
            delay += int(self._chance() * 3 * self._message_us)
        delays = [delay]
        if network.duplicate and self._chance() < network.duplicate:
            delays.append(delay + self._draw())
        return False, delays

    def _arrive(self, node: Node, message: Message, sender: int, number: int) -> None:
        if self._cuts.get((sender, node.me)):
            self._recording.add(events.Lost, sender, number, "partition")
        elif self._availability.is_dead(node.me):
            self._recording.add(events.Lost, sender, number, "crash")
        elif self._availability.is_paused(node.me):
            deliver = partial(self._deliver, node, message, sender, number)
            lose = partial(self._recording.add, events.Lost, sender, number, "crash")
            self._availability.when_awake(node.me, deliver, lose)
        else:
            self._deliver(node, message, sender, number)

    def _deliver(self, node: Node, message: Message, sender: int, number: int) -> None:
        self._recording.add(events.Delivered, node.me, sender, number)
        dispatcher = self._dispatcher
        dispatcher.call(node, dispatcher.find(message.__class__), message, sender)
