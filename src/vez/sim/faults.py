"""Faults: crashes, recoveries, pauses, partitions, and what the failure detector says of them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from vez.core import trace as events
from vez.core.process import DURABLE, PARAMETER, Process, marked
from vez.detectors import MONITORS
from vez.sim.delays import US, us
from vez.sim.detection import Detection
from vez.sim.node import Node
from vez.sim.scenario import Crash, Detector, Nemesis, Partition, Pause, Scenario, Suspicion
from vez.sim.setup import Setup

if TYPE_CHECKING:
    from vez.sim.simulation import Simulation


NEVER = sys.maxsize


class Faults:
    """Who is dead, who stands still, and the plan of what goes wrong."""

    def __init__(self, world: Simulation, setup: Setup) -> None:
        self.world = world
        self.setup = setup
        scenario = setup.scenario
        drawn = self._draw(scenario.nemesis)
        self.crashes = (*scenario.crash, *drawn[0])
        self.pauses = (*scenario.pause, *drawn[1])
        self.partitions = (*scenario.partition, *drawn[2])
        self._dead: set[int] = set()
        self._backlogs: dict[int, list[Callable[[], None]]] = {}  # of those who stand still
        self._still: dict[int, int] = {}  # until when
        self._back: dict[int, int] = {}  # when the dead come back
        self._lives: dict[int, int] = {}  # how often a process has crashed
        listens = hasattr(setup.algorithm, "on_suspect")
        self._tells = scenario.detector.kind == "perfect" and listens
        self.detection = Detection(world, self, setup) if scenario.detector.kind in MONITORS and listens else None
        self._keeps = (*marked(setup.algorithm, DURABLE), *marked(setup.algorithm, PARAMETER))

    def is_dead(self, process: int) -> bool:
        """Whether the process has crashed and not come back."""
        return process in self._dead

    def will_run(self, process: int) -> bool:
        """Whether the process is up, or is planned to come back."""
        return process not in self._dead or self._back[process] < NEVER

    def life(self, process: int) -> int:
        """Which life of the process this is; plans of an earlier one are void."""
        return self._lives.get(process, 0)

    def when_awake(self, node: Node, action: Callable[[], None], *, urgent: bool = False) -> None:
        """Do it now, when the process stands still later, and never if it dies before.

        What is urgent comes before all that has piled up.
        """
        if node.me in self._backlogs:
            backlog = self._backlogs[node.me]
            backlog.insert(0 if urgent else len(backlog), action)
        elif node.me not in self._dead:
            action()

    def plan_start(self) -> None:
        """Everybody starts at time 0, in standing order; those who crash at 0 never start."""
        start = self.setup.algorithm.on_start
        if start is Process.on_start and not self.world.watched:
            self.world.limit -= len(self.world.nodes)
            return  # nothing to do and nobody to see it, but they count

        def begin(node: Node) -> None:
            self.when_awake(node, lambda: self.world.call(node, start))

        for node in self.world.nodes.values():
            self.world.agenda.plan(0, partial(begin, node))

    def plan(self) -> None:
        """Put every fault into the agenda."""
        plan, nodes = self.world.agenda.plan, self.world.nodes
        for crash in self.crashes:
            node = nodes[crash.process]
            back = NEVER if crash.recover_ms is None else us(crash.recover_ms)
            if crash.at_ms == 0:
                self._crash(node, back)  # dead from the start
            else:
                plan(us(crash.at_ms), partial(self._crash, node, back))
            if crash.recover_ms is not None:
                plan(us(crash.recover_ms), partial(self._recover, node, crash.memory))
        for pause in self.pauses:
            plan(us(pause.at_ms), partial(self._pause, nodes[pause.process], us(pause.for_ms)))
        for partition in self.partitions:
            channels = self._channels(partition)
            plan(us(partition.at_ms), partial(self.world.network.cut, channels))
            if partition.until_ms is not None:
                plan(us(partition.until_ms), partial(self.world.network.heal, channels))
        for suspicion in self.world.scenario.suspect:
            self._plan_suspicion(suspicion)
        if self.detection is not None:
            for node in nodes.values():
                plan(0, partial(self.when_awake, node, partial(self.detection.start, node)))

    def explicit(self, scenario: Scenario) -> Scenario:
        """The scenario with the nemesis's faults written down."""
        written = scenario.but(nemesis=Nemesis(), crash=self.crashes, pause=self.pauses, partition=self.partitions)
        if self.detection is None:
            return written
        told = (*scenario.suspect, *self.detection.explicit())
        return written.but(detector=Detector(kind="none"), suspect=told)

    def _crash(self, node: Node, back: int) -> None:
        self._back[node.me] = max(back, self._back.get(node.me, 0))  # of overlapping crashes the longest counts
        if node.me in self._dead:
            return
        self._dead.add(node.me)
        self._backlogs.pop(node.me, None)
        self._lives[node.me] = self.life(node.me) + 1
        self.world.forget(node.me)
        self.world.leaders.pop(node.me, None)
        self.world.record(events.Crashed, node.me)
        self.world.harness.crashed(node.me)
        if self._tells:
            for other in self.world.nodes.values():
                self._plan_word(other, node.me, dead=True)

    def _recover(self, node: Node, memory: bool) -> None:
        if node.me not in self._dead or self._back[node.me] > self.world.agenda.now:
            return
        fresh = self.setup.process(node.me)
        for field in self._keeps if memory else ():
            setattr(fresh, field, getattr(node.process, field))
        node.process = fresh
        self._dead.discard(node.me)
        self.world.record(events.Recovered, node.me, memory)
        self.world.call(node, self.setup.algorithm.on_recover)
        self.world.harness.recovered(node)
        if self.detection is not None:
            self.detection.start(node)
        if self._tells:
            for other in self.world.nodes.values():
                self._plan_word(other, node.me, dead=False)
                if other.me in self._dead:
                    self._plan_word(node, other.me, dead=True)

    def _pause(self, node: Node, for_us: int) -> None:
        if node.me in self._dead:
            return
        until = self.world.agenda.now + for_us
        self._still[node.me] = max(until, self._still.get(node.me, 0))  # overlapping pauses end with the last
        if node.me not in self._backlogs:
            self._backlogs[node.me] = []
            self.world.record(events.Paused, node.me)
        self.world.agenda.plan(until, partial(self._resume, node, self.life(node.me)))

    def _resume(self, node: Node, life: int) -> None:
        if self.life(node.me) != life or self._still[node.me] > self.world.agenda.now or node.me not in self._backlogs:
            return
        backlog = self._backlogs.pop(node.me)
        self.world.record(events.Resumed, node.me)
        for action in backlog:
            self.when_awake(node, action)

    def _channels(self, partition: Partition) -> list[tuple[int, int]]:
        """The one-way channels that a partition cuts. Those who are in no group form one of their own."""
        ids = sorted(self.setup.ids)
        channels = list(partition.one_way)
        if partition.groups:
            group = {process: number for number, members in enumerate(partition.groups) for process in members}
            channels += [
                (one, other) for one in ids for other in ids if one != other and group.get(one) != group.get(other)
            ]
        return channels

    def _plan_word(self, node: Node, peer: int, *, dead: bool) -> None:
        """The perfect detector: word of a crash or a return, a while after it."""
        if node.me == peer or node.me in self._dead:
            return
        life = self.life(peer)

        def tell() -> None:
            if self.life(peer) == life and (peer in self._dead) == dead and node.me not in self._dead:
                self.tell(node, peer, dead=dead)

        self.world.agenda.plan(self.world.agenda.now + us(self.world.scenario.detector.delay_ms), tell)

    def _plan_suspicion(self, suspicion: Suspicion) -> None:
        node, plan = self.world.nodes[suspicion.process], self.world.agenda.plan
        plan(us(suspicion.at_ms), lambda: self.tell(node, suspicion.peer, dead=True))
        if suspicion.until_ms is not None:
            plan(us(suspicion.until_ms), lambda: self.tell(node, suspicion.peer, dead=False))

    def tell(self, node: Node, peer: int, *, dead: bool) -> None:
        """The detector's word to a process, if its algorithm listens."""
        handler = getattr(self.setup.algorithm, "on_suspect" if dead else "on_trust", None)
        if handler is None:
            return

        def tell() -> None:
            self.world.record(events.Suspected if dead else events.Trusted, node.me, peer)
            self.world.call(node, handler, peer)

        self.when_awake(node, tell)

    def _draw(self, nemesis: Nemesis) -> tuple[list[Crash], list[Pause], list[Partition]]:
        """The random faults of the seed. Nobody is crashed twice."""
        chance = self.world.stream("nemesis").random
        ids, within = list(self.setup.ids), us(nemesis.within_ms)

        def moment(after: int = 0) -> float:
            return (after + 1 + int(chance() * within)) / US

        victims = [ids.pop(int(chance() * len(ids))) for _ in range(min(nemesis.crashes, len(ids)))]
        crashes = []
        for number, victim in enumerate(victims):
            at = moment()
            back = moment(us(at)) if number < nemesis.recoveries else None
            crashes.append(Crash(process=victim, at_ms=at, recover_ms=back, memory=nemesis.memory))
        everybody = self.setup.ids
        pauses = [
            Pause(process=everybody[int(chance() * len(everybody))], at_ms=moment(), for_ms=moment())
            for _ in range(nemesis.pauses)
        ]
        partitions = []
        for _ in range(nemesis.partitions):
            group = tuple(process for process in everybody if chance() < 0.5)
            at = moment()
            if 0 < len(group) < len(everybody):
                partitions.append(Partition(at_ms=at, until_ms=moment(us(at)), groups=(group,)))
        return crashes, pauses, partitions
