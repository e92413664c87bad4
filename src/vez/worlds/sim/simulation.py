"""Simulation: one run of one scenario, which depends only on the scenario and its seed.

This is the only module that knows all parts: it makes them, gives each what it uses, and runs the loop. The loop takes
the next time from the agenda and performs its entries in the order of planning. In a quiet run (no trace, no
faults) a delivery is a triple in the agenda and one call of a handler; otherwise it goes through `NetworkModel`.
Both ways give the same run for the same seed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from vez.core.detectors import MONITORS
from vez.core.process import Process
from vez.core.trace import End, Noted, Trace
from vez.errors import ProtocolBug, VezError
from vez.worlds.sim.agenda import Agenda, Moments
from vez.worlds.sim.availability import Availability
from vez.worlds.sim.blame import Failure, blame, is_ctrl_c, whose
from vez.worlds.sim.choices import Choices
from vez.worlds.sim.delays import US, us
from vez.worlds.sim.detection import Detection, HeartbeatDetection, PerfectDetection
from vez.worlds.sim.dispatch import Dispatcher
from vez.worlds.sim.expiry import Expiry, run_out_quietly
from vez.worlds.sim.faults import Faults
from vez.worlds.sim.harness import LINGER, Harness
from vez.worlds.sim.header import make_header
from vez.worlds.sim.limits import Limits
from vez.worlds.sim.loop import moment_by_moment, one_by_one
from vez.worlds.sim.nemesis import Window
from vez.worlds.sim.network import NetworkModel
from vez.worlds.sim.node import Node, RecordedNode, Services
from vez.worlds.sim.quiet import Broadcast, Broadcasts, ConstantNode, MissingNode, QuietHarness, RandomNode
from vez.worlds.sim.recording import Recording
from vez.worlds.sim.scenario import Nemesis, Scenario
from vez.worlds.sim.setup import Setup
from vez.worlds.sim.suspicions import Suspicions
from vez.worlds.sim.timers import Timer, Timers
from vez.worlds.sim.topology_cache import TopologyCache


class Run(msgspec.Struct, frozen=True):
    """The result of a simulation."""

    scenario: Scenario
    messages: dict[str, int]
    """Number of messages by kind, without messages of a process to itself."""
    leaders: dict[int, tuple[int, int]]
    """The leader that each process named last, and its term."""
    end: End
    ended_at: int
    steps: int
    trace: Trace | None
    beats: int = 0
    """Heartbeats of the failure detectors. They are not counted as messages."""
    all_served: bool = False
    """Mutual exclusion: every planned stay is over, except those of processes that crashed for good."""
    explicit: Scenario | None = None
    """With `explain`: a scenario that gives the same run without any random choice."""


class Progress(NamedTuple):
    """The progress of a run."""

    at_ms: float
    """Virtual time."""
    steps: int
    messages: int


class Simulation:
    """The parts of one run. Each part is made after those that it uses; the nodes come last."""

    def __init__(
        self,
        scenario: Scenario,
        algorithm: type[Process],
        *,
        record: bool = True,
        debug: bool = False,
        explain: bool = False,
        watch: Callable[[Progress], None] | None = None,
        excused: bool = False,
    ) -> None:
        self._watch = watch
        setup = self._setup = Setup(scenario, algorithm)
        setup.excused = excused
        # Faults and withdrawals need bookkeeping; so do missing channels, and FIFO if delays vary.
        watched = record or debug or explain or setup.has_faults or setup.lacks_channels
        watched = watched or setup.withdraws or (setup.fifo and not setup.delay.is_constant)
        self._quiet, self._explain = not watched, explain
        self._nodes: dict[int, Node] = {}
        by_id = _by_id(setup.ids, self._nodes)
        constant = self._quiet and setup.delay.is_constant
        self._agenda = Moments(by_id, max(1, us(setup.delay.numbers[0]))) if constant else Agenda(by_id)
        self._limits, self._availability = Limits(scenario, sliced=watch is not None), Availability()
        self._recording = Recording(setup, self._agenda, record=record)
        self._choices, self._timers = Choices(setup, explain=explain), Timers(setup)
        self._dispatcher = Dispatcher(algorithm, self._recording, self._choices, debug=debug)
        draw = setup.delay.sampler(setup.stream("network"))
        self._network = self._make_network(draw)
        self._harness = self._make_harness()
        self._suspicions = self._make_suspicions()
        self._detection = self._make_detection()
        self._faults = self._make_faults()
        services = self._make_services(draw)
        kind = ConstantNode if constant else RandomNode if self._quiet else RecordedNode if record else Node
        for me, right, process in setup.processes():
            by_id[me] = self._nodes[me] = kind(services, me, right, process)
        self._add_deliveries()

    def run(self) -> Run:
        """Run until no entry is left, the work is done, or a limit is met."""
        try:
            self._plan()
            end, steps = self._loop()
            self._dispatcher.settle()
        except ProtocolBug as error:
            self._keep_trace(error, error)
            raise
        except VezError:
            raise
        except (Exception, SystemExit, KeyboardInterrupt) as error:  # sys.exit() would end the program silently
            if is_ctrl_c(error):
                raise
            failed = blame(error, self._nodes.values(), self._agenda.now)
            if failed is None:
                raise
            self._keep_trace(failed, error)
            raise failed from error
        ended_at = self._limits.deadline if end == "time" else self._agenda.now
        log = self._recording.log
        if end == "quiet" and log:
            ended_at = log[-1].at  # later entries were only cancelled timers
        return Run(
            scenario=self._setup.scenario,
            messages=dict(sorted((kind.__name__, count) for kind, count in self._agenda.sent.items())),
            leaders=self._recording.leaders,
            end=end,
            ended_at=ended_at,
            steps=steps,
            trace=None if log is None else self._trace(end, ended_at),
            beats=self._detection.beats,
            all_served=self._harness.idle,
            explicit=self._explicit() if self._explain else None,
        )

    def _plan(self) -> None:
        """Plan the run. Among events of the same time, the one planned first happens first."""
        if self._quiet and self._setup.algorithm.on_start is Process.on_start:
            self._limits.charge(len(self._nodes))  # on_start does nothing, but starts count as steps
        else:
            self._faults.plan_start()
        self._faults.plan()
        self._suspicions.plan()
        self._detection.plan()
        self._harness.plan()

    def _loop(self) -> tuple[End, int]:
        agenda, limits = self._agenda, self._limits
        steps, going_on = 0, True
        try:
            while going_on:
                steps = self._slice(steps)
                going_on = limits.begin_slice(steps)
                if going_on and self._watch is not None:
                    self._watch(Progress(agenda.now / US, steps + limits.charged, sum(agenda.sent.values())))
        except KeyboardInterrupt as error:
            if self._watch is None or not is_ctrl_c(error):  # an unwatched run has no way to report it
                raise
            return "interrupted", steps + limits.charged
        end: End = "finished" if self._harness.idle else "time"
        if agenda.is_empty:
            end = "quiet"
        elif steps >= limits.steps:
            end = "events"
        return end, steps + limits.charged

    def _slice(self, steps: int) -> int:
        if isinstance(self._agenda, Moments):
            return moment_by_moment(self._agenda, self._dispatcher, self._limits, steps)
        return one_by_one(self._agenda, self._dispatcher, self._limits, steps)

    def _trace(self, end: End, ended_at: int) -> Trace:
        some_process = next(iter(self._nodes.values())).process
        return Trace(make_header(self._setup, some_process, end, ended_at), tuple(self._recording.log or ()))

    def _keep_trace(self, failed: ProtocolBug, cause: BaseException) -> None:
        """Attach the trace of the run to the exception, if it was recorded."""
        log = self._recording.log
        if log:
            process = whose(cause, self._nodes.values())
            log.append(Noted(self._agenda.now, log[-1].process if process is None else process, Failure(failed).text))
            failed.trace = self._trace("raised", self._agenda.now)

    def _explicit(self) -> Scenario:
        """A scenario that gives this run without any random choice, for replaying and shrinking."""
        scenario = self._setup.scenario
        for part in (self._network, self._harness, self._faults, self._detection, self._choices):
            scenario = part.explicit(scenario)
        return scenario

    # Each part gets exactly what it uses.

    def _make_network(self, draw: Callable[[], int]) -> NetworkModel:
        return NetworkModel(
            self._setup,
            self._nodes,
            agenda=self._agenda,
            recording=self._recording,
            dispatcher=self._dispatcher,
            availability=self._availability,
            draw=draw,
            explain=self._explain,
        )

    def _make_harness(self) -> Harness:
        return (QuietHarness if self._quiet else Harness)(
            self._setup,
            self._nodes,
            agenda=self._agenda,
            limits=self._limits,
            recording=self._recording,
            dispatcher=self._dispatcher,
            availability=self._availability,
        )

    def _make_suspicions(self) -> Suspicions:
        return Suspicions(
            self._setup,
            self._nodes,
            agenda=self._agenda,
            recording=self._recording,
            dispatcher=self._dispatcher,
            availability=self._availability,
        )

    def _make_detection(self) -> Detection:
        kind = self._setup.scenario.detector.kind
        if not hasattr(self._setup.algorithm, "on_suspect"):
            return Detection()
        if kind == "perfect":
            return PerfectDetection(
                self._setup,
                self._nodes,
                agenda=self._agenda,
                availability=self._availability,
                suspicions=self._suspicions,
            )
        if kind not in MONITORS:
            return Detection()
        return HeartbeatDetection(
            self._setup,
            self._nodes,
            agenda=self._agenda,
            availability=self._availability,
            suspicions=self._suspicions,
            network=self._network,
        )

    def _make_faults(self) -> Faults:
        return Faults(
            self._setup,
            self._nodes,
            agenda=self._agenda,
            recording=self._recording,
            dispatcher=self._dispatcher,
            availability=self._availability,
            timers=self._timers,
            network=self._network,
            harness=self._harness,
            detection=self._detection,
            suspicions=self._suspicions,
            window=self._fault_window(),
        )

    def _fault_window(self) -> Window:
        """The time in which random faults happen: that of the scenario, or the time in which the run without them is
        active. A fixed time would miss most of a long run, and would be after the end of a short one.
        """
        setup, nothing = self._setup, Nemesis()
        nemesis = setup.scenario.nemesis
        if nemesis == nothing or nemesis.within_ms is not None:
            return Window(us(nemesis.within_ms or 0))
        calm = Simulation(setup.scenario.but(nemesis=nothing), setup.algorithm)
        with suppress(ProtocolBug):  # the run was active until then; with faults, this may only be a note in the trace
            calm.run()
        within = calm._active_until()
        moments = sorted({event.at for event in calm._recording.log or () if event.at < within})
        return Window(within, tuple(moments), setup.message_us)

    def _active_until(self) -> int:
        """The end of the active time. Call this after the run. It is ten message times after the last stay, the last
        change of a leader, or else the last event."""
        limits, setup, last = self._limits, self._setup, self._agenda.now
        if self._harness.idle:
            return limits.deadline
        if setup.algorithm.role == "election" and self._recording.leaders:  # heartbeats may go on for ever
            last = max(self._recording.leaders_at, *(us(elect.at_ms) for elect in setup.scenario.elect), 0)
        return min(limits.deadline, last + LINGER * setup.message_us)

    def _make_services(self, draw: Callable[[], int]) -> Services:
        return Services(
            agenda=self._agenda,
            topology_cache=TopologyCache(self._setup.topology),
            channels=self._network,
            timers=self._timers,
            choices=self._choices,
            recording=self._recording,
            application=self._harness,
            draw=draw,
        )

    def _add_deliveries(self) -> None:
        """Add handlers for entries of the agenda that are not messages."""
        expiry = Expiry(self._availability, self._recording, self._dispatcher)
        self._dispatcher.add(Timer, run_out_quietly if self._quiet else expiry.run_out)
        if isinstance(self._agenda, Moments):
            broadcasts = Broadcasts(self._nodes.values(), self._dispatcher, self._limits)
            self._dispatcher.add(Broadcast, broadcasts.deliver)


def _by_id(ids: tuple[int, ...], nodes: dict[int, Node]) -> dict[int, Node] | list[Any]:
    """A list if the identifiers are dense, because indexing is faster than hashing; else the dict."""
    dense = min(ids) >= 0 and max(ids) <= 2 * len(ids)
    return [MissingNode()] * (max(ids) + 1) if dense else nodes


def with_drawn_faults(scenario: Scenario, algorithm: type[Process]) -> Scenario:
    """The scenario with the random faults of its seed written out."""
    if scenario.nemesis == Nemesis():
        return scenario
    return Simulation(scenario, algorithm)._faults.explicit(scenario)


def simulate(
    scenario: Scenario,
    algorithm: type[Process],
    *,
    record: bool = True,
    debug: bool = False,
    explain: bool = False,
    watch: Callable[[Progress], None] | None = None,
    excused: bool = False,
) -> Run:
    """Run a scenario. Without `record` there is no trace, and the run is many times faster.

    `watch` is called with the progress at regular intervals. A watched run that is interrupted (Ctrl-C) ends there: its
    end is "interrupted", and its trace has the events up to then. If it is `excused`, an entry without a request does
    not end it even if it has no faults.
    """
    simulation = Simulation(
        scenario, algorithm, record=record, debug=debug, explain=explain, watch=watch, excused=excused
    )
    return simulation.run()
