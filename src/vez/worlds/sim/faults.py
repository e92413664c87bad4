"""Faults: plans and performs starts, crashes, recoveries, pauses and partitions.

Lost, late and duplicated messages are in `network.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from vez.core import trace as events
from vez.core.process import DURABLE, PARAMETER, marked
from vez.worlds.sim.agenda import Agenda
from vez.worlds.sim.availability import NEVER, Availability
from vez.worlds.sim.delays import us
from vez.worlds.sim.detection import Detection
from vez.worlds.sim.dispatch import Dispatcher
from vez.worlds.sim.harness import Harness
from vez.worlds.sim.nemesis import Window, draw_faults
from vez.worlds.sim.network import NetworkModel
from vez.worlds.sim.node import Node
from vez.worlds.sim.recording import Recording
from vez.worlds.sim.scenario import Crash, Nemesis, Scenario
from vez.worlds.sim.setup import Setup
from vez.worlds.sim.suspicions import Suspicions
from vez.worlds.sim.timers import Timers


class Faults:
    """The faults of a run. Each is passed on to the parts that it concerns."""

    def __init__(
        self,
        setup: Setup,
        nodes: Mapping[int, Node],
        *,
        agenda: Agenda,
        recording: Recording,
        dispatcher: Dispatcher,
        availability: Availability,
        timers: Timers,
        network: NetworkModel,
        harness: Harness,
        detection: Detection,
        suspicions: Suspicions,
        window: Window,
    ) -> None:
        self._setup = setup
        self._nodes = nodes
        self._agenda = agenda
        self._recording = recording
        self._dispatcher = dispatcher
        self._availability = availability
        self._timers = timers
        self._network = network
        self._harness = harness
        self._detection = detection
        self._suspicions = suspicions
        scenario = setup.scenario
        drawn = draw_faults(scenario.nemesis, setup.ids, setup.stream("nemesis"), window)
        self._crashes = (*scenario.crash, *drawn.crashes)
        self._pauses = (*scenario.pause, *drawn.pauses)
        self._partitions = (*scenario.partition, *drawn.partitions)
        self._keeps = (*marked(setup.algorithm, DURABLE), *marked(setup.algorithm, PARAMETER))

    def plan_start(self) -> None:
        """Start every process at time 0, in the order of the ids. A process that crashes at 0 does not start."""
        start = self._setup.algorithm.on_start
        for node in self._nodes.values():
            self._recording.starts(node.me, node.process)
            call = partial(self._dispatcher.call, node, start)
            self._agenda.plan(0, partial(self._availability.when_awake, node.me, call))

    def plan(self) -> None:
        """Plan every fault in the agenda."""
        plan, nodes = self._agenda.plan, self._nodes
        self._plan_crashes_inside()
        for crash in self._crashes:
            node = nodes[crash.process]
            if crash.after_actions is None and crash.at_ms == 0:
                self._crash(node, _back_at(crash))  # before anything starts
            elif crash.after_actions is None:
                plan(us(crash.at_ms), partial(self._crash, node, _back_at(crash)))
            if crash.recover_ms is not None:
                plan(us(crash.recover_ms), partial(self._recover, node, crash.memory))
        for pause in self._pauses:
            plan(us(pause.at_ms), partial(self._pause, pause.process, us(pause.for_ms)))
        for partition in self._partitions:
            channels = partition.channels(self._setup.ids)
            plan(us(partition.at_ms), partial(self._network.cut, channels))
            if partition.until_ms is not None:
                plan(us(partition.until_ms), partial(self._network.heal, channels))

    def _plan_crashes_inside(self) -> None:
        """Plan the crashes inside handlers, before everything else: the handler may be `on_start`, or the handler of a
        recovery at the same time."""
        for crash in self._crashes:
            if crash.after_actions is not None:
                happen = partial(self._crash, self._nodes[crash.process], _back_at(crash))
                arm = partial(self._dispatcher.inside.arm, crash.process, crash.after_actions, happen)
                if crash.at_ms == 0:
                    arm()
                else:
                    self._agenda.plan(us(crash.at_ms), arm)

    def explicit(self, scenario: Scenario) -> Scenario:
        """The scenario with the random faults written out."""
        return scenario.but(nemesis=Nemesis(), crash=self._crashes, pause=self._pauses, partition=self._partitions)

    def _crash(self, node: Node, back_at: int) -> None:
        if back_at <= self._agenda.now:  # the handler ran after the recovery was due
            back_at = NEVER
        if not self._availability.crash(node.me, back_at):
            return
        self._timers.forget(node.me)
        self._recording.forget(node.me)
        self._suspicions.crashed(node.me)
        self._recording.add(events.Crashed, node.me)
        self._availability.drop(node.me)
        self._harness.crashed(node.me)
        self._detection.crashed(node.me)

    def _recover(self, node: Node, memory: bool) -> None:
        if not self._availability.can_recover(node.me, self._agenda.now):
            return
        fresh = self._setup.process(node.me)
        for field in self._keeps if memory else ():
            setattr(fresh, field, getattr(node.process, field))
        node.process = fresh
        self._availability.recover(node.me)
        self._recording.recovers(node.me, fresh, memory)
        self._dispatcher.call(node, self._setup.algorithm.on_recover)
        if self._availability.is_dead(node.me):
            return  # the process crashed inside that handler
        self._harness.recovered(node)
        self._detection.recovered(node)

    def _pause(self, process: int, for_us: int) -> None:
        availability, until = self._availability, self._agenda.now + for_us
        if availability.is_dead(process):
            return
        if availability.pause(process, until):
            self._recording.add(events.Paused, process)
        self._agenda.plan(until, partial(self._resume, process, availability.life(process)))

    def _resume(self, process: int, life: int) -> None:
        availability = self._availability
        if availability.life(process) != life or not availability.can_resume(process, self._agenda.now):
            return
        self._recording.add(events.Resumed, process)
        availability.resume(process)


def _back_at(crash: Crash) -> int:
    return NEVER if crash.recover_ms is None else us(crash.recover_ms)
