"""Detection: the failure detectors of a run.

The perfect detector is told of every crash. The others use heartbeats over the simulated network. Heartbeats are
lost, delayed, cut and held back like messages, but they have their own random generator, so that they do not change
the delays of the algorithm's messages. They are counted separately.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from vez.core import overrides
from vez.core.detectors import MONITORS, Monitor
from vez.worlds.sim.agenda import Agenda
from vez.worlds.sim.availability import Availability
from vez.worlds.sim.delays import US, us
from vez.worlds.sim.network import NetworkModel
from vez.worlds.sim.node import Node
from vez.worlds.sim.scenario import Detector, Scenario, Suspicion
from vez.worlds.sim.setup import Setup
from vez.worlds.sim.suspicions import Suspicions


class Detection:
    """The base class: the interface that `Faults` and the run use. It detects nothing."""

    beats = 0
    """Heartbeats sent so far."""

    def plan(self) -> None:
        """Before the run: plan what the detector does from time 0."""

    def crashed(self, process: int) -> None:
        """Called when a process has crashed."""

    def recovered(self, node: Node) -> None:
        """Called when a process has recovered."""

    def explicit(self, scenario: Scenario) -> Scenario:
        """The scenario with the reports of the detector written out, if they depend on chance."""
        return scenario


class PerfectDetection(Detection):
    """Tells all processes of every crash and recovery, a fixed time after it."""

    def __init__(
        self,
        setup: Setup,
        nodes: Mapping[int, Node],
        *,
        agenda: Agenda,
        availability: Availability,
        suspicions: Suspicions,
    ) -> None:
        self._delay_us = us(setup.scenario.detector.delay_ms)
        self._nodes = nodes
        self._agenda = agenda
        self._availability = availability
        self._suspicions = suspicions

    def crashed(self, process: int) -> None:
        for other in self._nodes.values():
            self._plan_word(other, process, dead=True)

    def recovered(self, node: Node) -> None:
        for other in self._nodes.values():
            self._plan_word(other, node.me, dead=False)
            if self._availability.is_dead(other.me):
                self._plan_word(node, other.me, dead=True)

    def _plan_word(self, node: Node, peer: int, *, dead: bool) -> None:
        availability = self._availability
        if node.me == peer or availability.is_dead(node.me):
            return
        life = availability.life(peer)

        def tell() -> None:
            still = availability.life(peer) == life and availability.is_dead(peer) == dead
            if still and not availability.is_dead(node.me):
                self._suspicions.tell(node, peer, dead=dead)

        self._agenda.plan(self._agenda.now + self._delay_us, tell)


class HeartbeatDetection(Detection):
    """Detection with a monitor for each pair of a process and a peer that it watches."""

    def __init__(
        self,
        setup: Setup,
        nodes: Mapping[int, Node],
        *,
        agenda: Agenda,
        availability: Availability,
        network: NetworkModel,
        suspicions: Suspicions,
    ) -> None:
        self._nodes = nodes
        self._agenda = agenda
        self._availability = availability
        self._network = network
        self._suspicions = suspicions
        self._settings = setup.scenario.detector.settings
        self._kind = MONITORS[setup.scenario.detector.kind]
        self._loss = setup.scenario.network.loss
        chance = setup.stream("detector")
        self._chance = chance.random
        self._delay = setup.delay.sampler(chance)
        self._monitors: dict[tuple[int, int], Monitor] = {}
        self._since: dict[tuple[int, int], float] = {}  # start of each current suspicion, by (observer, peer)
        self._told: list[Suspicion] = []
        ids = sorted(setup.ids)
        self._watched = {me: overrides.watched(setup.process(me), me, tuple(ids)) for me in ids}
        self._watchers = {me: tuple(peer for peer in ids if me in self._watched[peer]) for me in ids}

    def plan(self) -> None:
        for node in self._nodes.values():
            start = partial(self._start, node)
            self._agenda.plan(0, partial(self._availability.when_awake, node.me, start))

    def recovered(self, node: Node) -> None:
        self._start(node)

    def explicit(self, scenario: Scenario) -> Scenario:
        still = [Suspicion(process=one, peer=other, at_ms=at) for (one, other), at in self._since.items()]
        return scenario.but(detector=Detector(kind="none"), suspect=(*scenario.suspect, *self._told, *still))

    def _start(self, node: Node) -> None:
        """Start a process, or start it again: it trusts all others, and sends heartbeats from now on."""
        now = self._now()
        for peer in self._watched[node.me]:
            key = (node.me, peer)
            self._end_suspicion(key)
            self._monitors[key] = self._kind(self._settings, now)
            self._watch(node, peer)
        self._beat(node, self._availability.life(node.me))

    def _now(self) -> float:
        return self._agenda.now / US

    def _beat(self, node: Node, life: int) -> None:
        if self._availability.life(node.me) != life:
            return
        agenda = self._agenda
        for peer in self._watchers[node.me]:
            self.beats += 1
            delay = self._delay()
            lost = self._loss > 0 and self._chance() < self._loss
            if not lost and not self._network.is_cut(node.me, peer):
                agenda.plan(agenda.now + delay, partial(self._arrive, self._nodes[peer], node.me))
        again = partial(self._availability.when_awake, node.me, partial(self._beat, node, life))
        agenda.plan(agenda.now + us(self._settings.interval_ms), again)

    def _arrive(self, node: Node, sender: int) -> None:
        if not self._network.is_cut(sender, node.me):
            heard = partial(self._heard, node, sender, self._availability.life(node.me))
            self._availability.when_awake(node.me, heard)

    def _heard(self, node: Node, peer: int, life: int) -> None:
        key = (node.me, peer)
        if self._availability.life(node.me) != life or key not in self._monitors:
            return
        self._monitors[key].heard(self._now())
        if key in self._since:
            self._end_suspicion(key)
            self._suspicions.tell(node, peer, dead=False)
        self._watch(node, peer)

    def _watch(self, node: Node, peer: int) -> None:
        """Check the peer at its deadline. After a pause, this comes before heartbeats that arrived meanwhile."""
        monitor, life = self._monitors[node.me, peer], self._availability.life(node.me)
        look = partial(self._look, node, peer, monitor.last_ms, life)
        at = us(monitor.deadline_ms) + 1
        self._agenda.plan(at, partial(self._availability.when_awake, node.me, look, urgent=True))

    def _look(self, node: Node, peer: int, last_ms: float, life: int) -> None:
        key = (node.me, peer)
        stale = self._availability.life(node.me) != life or self._monitors[key].last_ms != last_ms
        if not stale and key not in self._since:
            self._since[key] = self._now()
            self._suspicions.tell(node, peer, dead=True)

    def _end_suspicion(self, key: tuple[int, int]) -> None:
        since = self._since.pop(key, None)
        if since is not None:
            self._told.append(Suspicion(process=key[0], peer=key[1], at_ms=since, until_ms=self._now()))
