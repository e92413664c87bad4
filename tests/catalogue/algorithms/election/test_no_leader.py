"""An election may report that it knows no leader: the worlds, the judges and the pictures understand it."""

from __future__ import annotations

import pytest

from vez.core import Election, Io, Message, Property
from vez.core.inner_process import InnerIo
from vez.core.recorder import Recorder, Site
from vez.core.topology import Complete
from vez.core.trace import Elected, Trace
from vez.core.trace_file import decode
from vez.draw import FORMATS
from vez.judge.properties import Status, judge
from vez.judge.properties.election import leader
from vez.judge.properties.history import History
from vez.worlds.check.checker import check
from vez.worlds.check.model.configuration import Budget, Configuration
from vez.worlds.sim import Run, Scenario, simulate
from vez.worlds.sim.scenario import Crash


class Leader(Message):
    """I lead."""


class Frank(Election):
    """The largest live process leads. A process that learns of the leader's crash reports that it knows no leader, and
    then looks for another."""

    guarantees = (Property.UNIQUENESS, Property.TERMINATION, Property.AGREEMENT)
    dead: frozenset[int] = frozenset()
    leader: int = 0

    def on_elect(self, io: Io) -> None:
        self._lead(io)

    def on_suspect(self, peer: int, io: Io) -> None:
        self.dead |= {peer}
        if peer == self.leader:
            self.leader = 0
            io.elected(None)
        self._lead(io)

    def on_leader(self, message: Leader, sender: int, io: Io) -> None:
        self._follow(sender, io)

    def _lead(self, io: Io) -> None:
        if io.me > max({*io.peers} - self.dead, default=0) and self.leader != io.me:
            self._follow(io.me, io)
            io.broadcast(Leader())

    def _follow(self, leader: int, io: Io) -> None:
        self.leader = leader
        io.elected(leader)


class Resigning(Frank):
    """The leader resigns as soon as it is elected, and no other process takes over."""

    def _follow(self, leader: int, io: Io) -> None:
        io.elected(leader)
        if leader == io.me:
            io.elected(None)


class Yielding(Frank):
    """The leader resigns, and 2 takes over although the leader has not failed."""

    def on_leader(self, message: Leader, sender: int, io: Io) -> None:
        if io.me == 2:
            io.elected(2)
            io.broadcast(Leader())
        elif io.me == 3:
            io.elected(None)


def simulated(algorithm: type[Election] = Frank, **parts: object) -> Run:
    return simulate(Scenario(algorithm="frank", n=3, **parts), algorithm)  # type: ignore[arg-type]


def trace_of(run: Run) -> Trace:
    assert run.trace is not None
    return run.trace


def verdicts(run: Run) -> dict[str, Status]:
    return {verdict.name: verdict.status for verdict in judge(trace_of(run))}


def test_who_hears_of_the_crash_knows_no_leader_for_a_while() -> None:
    run = simulated(crash=(Crash(process=3, at_ms=5),))
    said = [(event.process, event.leader) for event in trace_of(run) if isinstance(event, Elected)]
    assert said == [(3, 3), (1, 3), (2, 3), (1, None), (2, None), (2, 2), (1, 2)]
    assert run.leaders == {1: (2, 0), 2: (2, 0)}
    assert set(verdicts(run).values()) == {Status.HOLDS_IN_RUNS}
    cut = simulated(crash=(Crash(process=3, at_ms=5),), until_ms=7.5)
    assert cut.leaders == {2: (2, 0)}


def test_a_leader_that_resigns_ends_its_reign() -> None:
    run = simulated(Resigning)
    history = History(trace_of(run))
    assert [(reign.leader, reign.ended_by) for reign in history.reigns] == [(3, "nobody")]
    assert history.views.keys() == {1, 2}
    assert leader(history) is None
    found = verdicts(run)
    assert found["termination"] is Status.HOLDS_IN_RUNS
    assert found["agreement"] is Status.BROKEN
    assert verdicts(simulated(Yielding))["stability"] is Status.BROKEN


@pytest.mark.parametrize("crashes", [0, 1])
def test_the_checker_agrees(crashes: int) -> None:
    scenario = Scenario(algorithm="frank", n=3)
    report = check(Configuration(scenario, Frank, budget=Budget(crashes=crashes)))
    found = {verdict.name: verdict.status for verdict in report.verdicts}
    assert found["uniqueness"] is Status.HOLDS
    late = Status.BROKEN if crashes else Status.HOLDS  # a late Leader message of the dead process wins
    assert found["termination"] is found["agreement"] is late


def test_the_checker_sees_a_resignation() -> None:
    report = check(Configuration(Scenario(algorithm="frank", n=3), Resigning), ("agreement", "termination"))
    assert [verdict.status for verdict in report.verdicts] == [Status.BROKEN, Status.HOLDS]
    report = check(Configuration(Scenario(algorithm="frank", n=3), Yielding), ("stability",))
    assert report.broken == ("stability",)


def test_the_counterexample_says_it_in_words() -> None:
    report = check(Configuration(Scenario(algorithm="frank", n=3), Resigning), ("agreement",))
    assert any("it knows no leader" in words for words in report.counterexamples["agreement"].words)


def test_pictures_and_files_show_it() -> None:
    trace = trace_of(simulated(crash=(Crash(process=3, at_ms=5),)))
    assert decode(trace.to_bytes(), "copy") == trace
    assert "knows no leader" in FORMATS["text"](trace, ())
    assert "knows no leader" in FORMATS["mermaid"](trace, ())
    assert "no_leader" in FORMATS["html"](trace, ())
    assert "<svg" in FORMATS["svg"](trace, ())


def test_a_process_inside_another_says_it_to_the_outer_one() -> None:
    outer = Recorder(Site(Frank, Complete((1, 2, 3)), 1), lambda _: 0)
    inner = InnerIo(outer, lambda message: message, "inner_")
    Frank(leader=3).on_suspect(3, inner)
    assert inner.elections == [(None, 0)]
    assert not outer.effects
