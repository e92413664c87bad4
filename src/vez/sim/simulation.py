"""Simulation: one run of one scenario, decided by its seed alone.

The loop takes the next time from the agenda and does what is due, in the order in which it was planned.
Where nobody watches, a delivery is a triple in the agenda and one call of a handler; with a trace or with
faults it goes through `Network.arrive`. Both ways give the same run for the same seed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from random import Random
from typing import Any

import msgspec

from vez.core import trace as events
from vez.core.message import Message, handler_name
from vez.core.process import Process
from vez.core.trace import AnyEvent, End, Header, Trace
from vez.core.view import View
from vez.errors import ProtocolBug, UnhandledMessage, VezError, article
from vez.sim.agenda import Agenda, Moments
from vez.sim.blame import blame
from vez.sim.debug import run_twice
from vez.sim.delays import us
from vez.sim.faults import Faults
from vez.sim.harness import Harness
from vez.sim.loop import moment_by_moment, one_by_one
from vez.sim.network import NetworkModel
from vez.sim.node import Node
from vez.sim.quiet import Broadcasts, ConstantNode, Nobody, QuietHarness, RandomNode
from vez.sim.scenario import Choice, Scenario
from vez.sim.setup import Setup
from vez.sim.timers import Timers

NO_VIEW = View()


class Run(msgspec.Struct, frozen=True):
    """What came of a simulation."""

    scenario: Scenario
    messages: dict[str, int]
    """How many were sent, by kind; messages to oneself are not counted."""
    leaders: dict[int, tuple[int, int]]
    """Whom each process took for the leader in the end, and the term."""
    end: End
    ended_at: int
    steps: int
    trace: Trace | None
    beats: int = 0
    """How many heartbeats the failure detectors sent; they are never counted among the messages."""
    explicit: Scenario | None = None
    """The same run with nothing left to chance, where `explain` was asked for."""


class Simulation:
    """The world of one run."""

    def __init__(
        self,
        scenario: Scenario,
        algorithm: type[Process],
        *,
        record: bool = True,
        debug: bool = False,
        explain: bool = False,
    ) -> None:
        self.scenario = scenario
        self.algorithm = algorithm
        self.debug = debug
        self.explain = explain
        setup = Setup(scenario, algorithm)
        self.topology = setup.topology
        self.message_us = setup.message_us
        self.log: list[AnyEvent] | None = [] if record else None
        self.watched = record or debug or explain or setup.has_faults or (setup.fifo and not setup.delay.is_constant)
        alike = setup.delay.is_constant and not self.watched
        self.nodes: dict[int, Node] = {}
        by_id = _by_id(setup.ids, self.nodes)
        self.agenda = Moments(by_id, max(1, us(setup.delay.numbers[0]))) if alike else Agenda(by_id)
        self.deadline = us(scenario.until_ms)
        self.limit = scenario.max_events  # entries of the agenda; what takes more steps than one lowers it
        self.handlers: dict[type, Callable[..., None]] = {}
        self.leaders: dict[int, tuple[int, int]] = {}
        self.draw = setup.delay.sampler(self.stream("network"))
        self.hub = setup.topology.hub
        make = Node if self.watched else ConstantNode if isinstance(self.agenda, Moments) else RandomNode
        for me, right, process in setup.processes():
            by_id[me] = self.nodes[me] = make(self, me, right, process)
        self.peers: dict[int, tuple[int, ...]] = {}
        self.neighbours: dict[int, tuple[int, ...]] = {}
        self.network = NetworkModel(self, setup)
        self.faults = Faults(self, setup)
        self.harness = Harness(self, setup) if self.watched else QuietHarness(self, setup)
        self.timers = Timers(self)
        if isinstance(self.agenda, Moments):
            Broadcasts(self)
        self._status: dict[int, str] = {}
        self._views: dict[int, View] = {}
        self._choices = {(choice.process, choice.number): choice.index for choice in scenario.choice}
        self._chosen: list[Choice] = []
        self._choosing: defaultdict[int, int] = defaultdict(int)
        self._chance = self.stream("choose").random

    def stream(self, purpose: str) -> Random:
        """An independent source of chance; what one purpose draws does not shift another."""
        return Random(f"{self.scenario.seed}/{purpose}")

    def run(self) -> Run:
        """Run to the end: nothing left to happen, the work done, or a limit met."""
        try:
            self.faults.plan_start()
            self.faults.plan()
            self.harness.plan()
            end, steps = self._loop()
        except VezError:
            raise
        except (Exception, SystemExit) as error:  # sys.exit() in a handler would end the program without a word
            failed = blame(self, error)
            if failed is None:
                raise
            raise failed from error
        ended_at = self.deadline if end == "time" else self.agenda.now
        if end == "quiet" and self.log:
            ended_at = self.log[-1].at  # what came after was only timers that had been cancelled
        explicit = self._explicit() if self.explain else None
        recorded = self._trace(end, ended_at)
        messages = dict(sorted((kind.__name__, count) for kind, count in self.agenda.sent.items()))
        beats = self.faults.detection.beats if self.faults.detection is not None else 0
        return Run(self.scenario, messages, self.leaders, end, ended_at, steps, recorded, beats, explicit)

    def _loop(self) -> tuple[End, int]:
        steps = moment_by_moment(self, self.agenda) if isinstance(self.agenda, Moments) else one_by_one(self)
        end: End = "finished" if self.harness.idle else "time"
        if self.agenda.is_empty:
            end = "quiet"
        elif steps >= self.limit:
            end = "events"
        return end, steps + self.scenario.max_events - self.limit

    def handler(self, kind: type[Message]) -> Callable[..., None]:
        """The handler of a kind of message, found by name when the first one arrives."""
        found = self.handlers.get(kind)
        if found is None:
            name = handler_name(kind)
            found = getattr(self.algorithm, name, None)
            if found is None:
                raise UnhandledMessage(
                    f"{self.algorithm.__name__} received {article(kind.__name__)} and has no {name}",
                    hint=f"define {name}(self, message, sender, io)",
                )
            self.handlers[kind] = found
        return found

    # What handlers ask of the world, by way of Node.

    def choose(self, node: Node, count: int) -> int:
        if count < 1:
            raise ProtocolBug(f"{self.algorithm.__name__} chose among no options")
        if not self._choices and not self.explain:
            return min(int(self._chance() * count), count - 1)
        self._choosing[node.me] += 1
        number = self._choosing[node.me]
        index = self._choices.get((node.me, number))
        if index is None:
            index = int(self._chance() * count)
        index = min(index, count - 1)
        self._chosen.append(Choice(process=node.me, number=number, index=index))
        return index

    def elected(self, node: Node, leader: int, term: int) -> None:
        if not isinstance(leader, int) or leader not in self.nodes or not isinstance(term, int):
            raise ProtocolBug(
                f"{self.algorithm.__name__}: process {node.me} called io.elected({leader!r}, {term!r})",
                hint="expected the identifier of a process, and a whole number as the term",
            )
        self.leaders[node.me] = (leader, term)
        if self.log is not None:
            self.record(events.Elected, node.me, leader, term)

    def note(self, node: Node, text: str) -> None:
        self._check_text(text, f"process {node.me} called io.note")
        self.record(events.Noted, node.me, text)

    # What the parts of the simulator ask of it.

    def forget(self, process: int) -> None:
        """A crash takes the timers with it, and the last words: what it says when it is back is news."""
        self.timers.forget(process)
        self._status.pop(process, None)
        self._views.pop(process, None)

    def record(self, kind: Callable[..., AnyEvent], process: int, *details: Any) -> None:
        """Add an event to the trace, if there is one."""
        if self.log is not None:
            self.log.append(kind(self.agenda.now, process, *details))

    def call(self, node: Node, handler: Callable[..., None], *arguments: Any) -> None:
        """Run a handler of a live process, and note how it describes itself afterwards."""
        if self.debug:
            run_twice(self, node, handler, arguments)
        else:
            handler(node.process, *arguments, node)
        if self.log is not None:
            text = node.process.status()
            if text != self._status.get(node.me, ""):
                self._check_text(text, f"status() of process {node.me} gave")
                self._status[node.me] = text
                self.record(events.Status, node.me, text)
            view = node.process.view() or NO_VIEW
            if view != self._views.get(node.me, NO_VIEW):
                self._views[node.me] = view
                self.record(events.Viewed, node.me, view)

    def _check_text(self, text: object, what: str) -> None:
        if not isinstance(text, str):
            raise ProtocolBug(f"{self.algorithm.__name__}: {what} {text!r}, expected text", hint="use str(...)")

    def _trace(self, end: End, ended_at: int) -> Trace | None:
        if self.log is None:
            return None
        algorithm, scenario = self.algorithm, self.scenario
        patience = scenario.patience_ms
        bound = next(iter(self.nodes.values())).process.longest_delay_ms()
        header = Header(
            vez_trace=events.FORMAT,
            algorithm=scenario.algorithm,
            role=algorithm.role,
            ids=self.topology.ids,
            topology=self.topology.name,
            edges=self.topology.edges() if self.topology.name in ("graph", "grid") else (),
            seed=scenario.seed,
            end=end,
            ended_at=ended_at,
            message_us=self.message_us,
            guarantees=tuple(map(str, algorithm.guarantees)),
            assumes=tuple(map(str, algorithm.assumes)),
            best_wins=getattr(algorithm, "best_wins", False),
            bypass_bound=getattr(algorithm, "bypass_bound", None),
            stay_bound_us=self._stay_bound(),
            delay_bound_us=None if bound is None else us(bound),
            drifting=tuple(sorted(drift.process for drift in scenario.drift if drift.rate != 1.0)),
            patience_us=100 * self.message_us if patience is None else us(patience),
            loop_us=None if scenario.loop_ms is None else (us(scenario.loop_ms[0]), us(scenario.loop_ms[1])),
        )
        return Trace(header, tuple(self.log))

    def _stay_bound(self) -> int | None:
        parameter = getattr(self.algorithm, "stay_bound", "")
        return us(getattr(next(iter(self.nodes.values())).process, parameter)) if parameter else None

    def _explicit(self) -> Scenario:
        """The run as a scenario in which nothing is left to chance, for replaying and shrinking."""
        return self.faults.explicit(self.harness.explicit(self.network.explicit(self.scenario))).but(
            choice=tuple(self._chosen)
        )


def _by_id(ids: tuple[int, ...], nodes: dict[int, Node]) -> dict[int, Node] | list[Any]:
    """A list to be filled where the identifiers are dense enough: indexing one is faster than hashing."""
    dense = min(ids) >= 0 and max(ids) <= 2 * len(ids)
    return [Nobody()] * (max(ids) + 1) if dense else nodes


def simulate(
    scenario: Scenario,
    algorithm: type[Process],
    *,
    record: bool = True,
    debug: bool = False,
    explain: bool = False,
) -> Run:
    """Run a scenario. Without `record` there is no trace, and the run is many times faster."""
    return Simulation(scenario, algorithm, record=record, debug=debug, explain=explain).run()
