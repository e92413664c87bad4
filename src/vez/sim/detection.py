"""Detection: real failure detectors under an algorithm, fed by heartbeats of the simulated network.

Heartbeats are lost, delayed, cut and piled up like any other message, but they are not the algorithm's: they
have a source of chance of their own, so that they do not shift its delays, and a count of their own.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from vez.detectors import MONITORS, Monitor
from vez.sim.delays import US, us
from vez.sim.node import Node
from vez.sim.scenario import Suspicion
from vez.sim.setup import Setup

if TYPE_CHECKING:
    from vez.sim.faults import Faults
    from vez.sim.simulation import Simulation


class Detection:
    """A monitor for every ordered pair of processes."""

    def __init__(self, world: Simulation, faults: Faults, setup: Setup) -> None:
        self._world = world
        self._faults = faults
        self._settings = setup.scenario.detector.settings
        self._kind = MONITORS[setup.scenario.detector.kind]
        self._loss = setup.scenario.network.loss
        chance = world.stream("detector")
        self._chance = chance.random
        self._delay = setup.delay.sampler(chance)
        self._monitors: dict[tuple[int, int], Monitor] = {}
        self._since: dict[tuple[int, int], float] = {}  # since when the observer suspects the peer
        self._told: list[Suspicion] = []
        self.beats = 0

    def start(self, node: Node) -> None:
        """A process begins or comes back: it trusts everybody, and sends heartbeats from now on."""
        now = self._now()
        for peer in node.peers:
            key = (node.me, peer)
            self._end_suspicion(key)
            self._monitors[key] = self._kind(self._settings, now)
            self._watch(node, peer)
        self._beat(node, self._faults.life(node.me))

    def explicit(self) -> tuple[Suspicion, ...]:
        """What the detectors said, as a scenario writes it down."""
        still = [Suspicion(process=one, peer=other, at_ms=at) for (one, other), at in self._since.items()]
        return (*self._told, *still)

    def _now(self) -> float:
        return self._world.agenda.now / US

    def _beat(self, node: Node, life: int) -> None:
        if self._faults.life(node.me) != life:
            return
        for peer in node.peers:
            self.beats += 1
            delay = self._delay()
            lost = self._loss > 0 and self._chance() < self._loss
            if not lost and not self._world.network.is_cut(node.me, peer):
                self._world.agenda.plan(
                    self._world.agenda.now + delay, partial(self._arrive, self._world.nodes[peer], node.me)
                )
        again = partial(self._faults.when_awake, node, partial(self._beat, node, life))
        self._world.agenda.plan(self._world.agenda.now + us(self._settings.interval_ms), again)

    def _arrive(self, node: Node, sender: int) -> None:
        if not self._world.network.is_cut(sender, node.me):
            self._faults.when_awake(node, partial(self._heard, node, sender, self._faults.life(node.me)))

    def _heard(self, node: Node, peer: int, life: int) -> None:
        key = (node.me, peer)
        if self._faults.life(node.me) != life or key not in self._monitors:
            return
        self._monitors[key].heard(self._now())
        if key in self._since:
            self._end_suspicion(key)
            self._faults.tell(node, peer, dead=False)
        self._watch(node, peer)

    def _watch(self, node: Node, peer: int) -> None:
        """Look again when the wait is over. A slow observer looks at its clock before it reads its mail."""
        monitor, life = self._monitors[node.me, peer], self._faults.life(node.me)
        look = partial(self._look, node, peer, monitor.last_ms, life)
        at = us(monitor.deadline_ms) + 1
        self._world.agenda.plan(at, partial(self._faults.when_awake, node, look, urgent=True))

    def _look(self, node: Node, peer: int, last_ms: float, life: int) -> None:
        key = (node.me, peer)
        stale = self._faults.life(node.me) != life or self._monitors[key].last_ms != last_ms
        if not stale and key not in self._since:
            self._since[key] = self._now()
            self._faults.tell(node, peer, dead=True)

    def _end_suspicion(self, key: tuple[int, int]) -> None:
        since = self._since.pop(key, None)
        if since is not None:
            self._told.append(Suspicion(process=key[0], peer=key[1], at_ms=since, until_ms=self._now()))
