"""A leader is owed only after an election has started: the checker and the simulator agree on what starts one."""

from __future__ import annotations

import pytest

from vez.catalogue.algorithms import find
from vez.core import Election, Io, Message, Property
from vez.core.process import Process
from vez.judge.properties import Status, Verdict, judge
from vez.study.sweep import sweep
from vez.worlds.check import Budget, Configuration, Report, check
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Crash, Elect, Nemesis, Pause

OWED = (Property.TERMINATION, Property.AGREEMENT)
UNASKED = "no election started: nobody was asked, process 2 crashed before"


def checked(algorithm: type[Process], *starters: int, n: int = 3, requests: int = 1, **faults: int) -> Report:
    elect = tuple(Elect(process=process) for process in starters)
    scenario = Scenario(algorithm=algorithm.name, n=n, elect=elect)
    return check(Configuration(scenario, algorithm, requests=requests, budget=Budget(**faults)))


def verdict(report: Report, name: str) -> Verdict:
    return next(one for one in report.verdicts if one.name == name)


class Lead(Message):
    """Lead, or: I lead."""


class Hello(Message):
    """Is anybody there?"""


class Lazy(Election):
    """The process that is asked leads. Its subclasses do something before anybody is asked."""

    name = "lazy"
    guarantees = OWED

    def on_elect(self, io: Io) -> None:
        io.elected(io.me)
        io.broadcast(Lead())

    def on_lead(self, message: Lead, sender: int, io: Io) -> None:
        io.elected(sender)

    def on_suspect(self, peer: int, io: Io) -> None:
        io.elected(min({io.me, *io.peers} - {peer}))


class Idle(Lazy):
    """Ignores a crash before an election, and afterwards the smallest other process leads."""

    name = "idle"
    heard: bool = False
    dead: int = 0

    def on_elect(self, io: Io) -> None:
        self.heard = True
        super().on_elect(io)

    def on_lead(self, message: Lead, sender: int, io: Io) -> None:
        self.heard = True
        io.elected(min({io.me, *io.peers} - {self.dead}) if sender == self.dead else sender)

    def on_suspect(self, peer: int, io: Io) -> None:
        self.dead = peer
        if self.heard:
            super().on_suspect(peer, io)


class Watchful(Idle):
    """Sets a timer again and again, which starts no election."""

    name = "watchful"

    def on_start(self, io: Io) -> None:
        io.set_timer("watch", 5)

    def on_timer_watch(self, io: Io) -> None:
        io.set_timer("watch", 5)


class Greeting(Idle):
    """Starts an election as soon as it runs: process 1 sends a message, which process 3 ignores."""

    name = "greeting"

    def on_start(self, io: Io) -> None:
        if io.me == 1:
            io.send(3, Hello())

    def on_hello(self, message: Hello, sender: int, io: Io) -> None:
        pass


class Alarmed(Greeting):
    """Starts an election when it learns of a crash: process 1 sends a message, which process 3 ignores."""

    name = "alarmed"

    def on_start(self, io: Io) -> None:
        pass

    def on_suspect(self, peer: int, io: Io) -> None:
        super().on_suspect(peer, io)
        if io.me == 1:
            io.send(3, Hello())


class Naming(Idle):
    """Starts an election when it learns of a crash: process 1 names process 2, and nobody else anybody."""

    name = "naming"

    def on_suspect(self, peer: int, io: Io) -> None:
        super().on_suspect(peer, io)
        if io.me == 1 and not self.heard:
            io.elected(peer)


class Forgetful(Idle):
    """Only the process that is asked ever knows of the election, and it never leads."""

    name = "forgetful"

    def on_elect(self, io: Io) -> None:
        self.heard = True


def test_nobody_owes_a_leader_if_the_only_starter_crashes_before_it_is_asked() -> None:
    report = checked(find("bully"), 2, crashes=1)
    for name in OWED:
        found = verdict(report, name)
        assert found.status is Status.HOLDS
        assert found.evidence == "in all 369 states; no leader is owed where process 2 crashes before it is asked"


def test_all_starters_are_named() -> None:
    found = verdict(checked(find("bully"), 1, 2, crashes=2), "termination")
    assert found.status is Status.HOLDS, found.evidence
    assert found.evidence.endswith("; no leader is owed where processes 1, 2 crash before they are asked")


@pytest.mark.parametrize("starters", [(), (1, 2)], ids=["all", "more than may crash"])
def test_one_that_is_asked_is_left(starters: tuple[int, ...]) -> None:
    found = verdict(checked(find("bully"), *starters, crashes=1), "termination")
    assert found.status is Status.HOLDS
    assert "owed" not in found.evidence


def test_a_process_that_starts_by_itself_owes_a_leader() -> None:
    """Every process of this algorithm names a leader in `on_start`."""
    found = verdict(checked(find("luis"), 2, crashes=1), "termination")
    assert found.status is Status.HOLDS
    assert "owed" not in found.evidence


@pytest.mark.parametrize("algorithm", [Greeting, Alarmed, Naming])
def test_whoever_sends_or_names_a_leader_unasked_has_started_an_election(algorithm: type[Process]) -> None:
    report = checked(algorithm, 2, crashes=1)
    assert verdict(report, "termination").status is verdict(report, "agreement").status is Status.BROKEN
    example = report.counterexamples["termination"]
    assert not any(step.kind == "elect" for step in example.path.steps)
    assert verdict(checked(Idle, 2, crashes=1), "termination").status is Status.HOLDS


def test_a_timer_starts_no_election() -> None:
    """The run goes on for ever, and nobody owes a leader in it."""
    found = verdict(checked(Watchful, 2, crashes=1), "termination")
    assert (found.status, found.evidence.partition("; ")[2]) == (
        Status.HOLDS,
        "no leader is owed where process 2 crashes before it is asked",
    )


def test_an_election_has_started_although_the_process_that_was_asked_crashed() -> None:
    report = checked(Forgetful, 2, crashes=1)
    assert verdict(report, "termination").status is Status.BROKEN
    example = report.counterexamples["termination"]
    assert any(step.kind == "elect" for step in example.path.steps)
    crashed = simulate(Scenario(algorithm="forgetful", n=3, elect=(Elect(process=2),), crash=(Crash(process=2, at_ms=1),)), Forgetful)  # fmt: skip
    assert crashed.trace is not None
    assert judge(crashed.trace, ["termination"])[0].status is Status.BROKEN


@pytest.mark.parametrize("faults", [{"crash": (Crash(process=2, at_ms=1),)}, {"pause": (Pause(process=2, at_ms=1, for_ms=9),), "crash": (Crash(process=2, at_ms=7),)}], ids=["crash", "crash in a pause"])  # fmt: skip
def test_the_simulator_judges_no_run_in_which_nobody_was_asked(faults: dict[str, tuple[Crash | Pause, ...]]) -> None:
    scenario = Scenario(algorithm="bully", n=3, elect=(Elect(process=2, at_ms=5),), **faults)  # type: ignore[arg-type]
    trace = simulate(scenario, find("bully")).trace
    assert trace is not None
    for found in judge(trace, (*OWED, Property.VALIDITY)):
        assert (found.status, found.evidence) == (Status.NOT_JUDGED, UNASKED)


def test_a_sweep_counts_the_runs_in_which_nobody_was_asked() -> None:
    scenario = Scenario(
        algorithm="bully", n=3, elect=(Elect(process=2, at_ms=10),), nemesis=Nemesis(crashes=1, within_ms=20)
    )
    found = sweep(scenario, 40, jobs=1)
    tally = next(one for one in found.tallies if one.name == "termination")
    assert (tally.broken, tally.undecided) == (0, 0)
    assert 0 < tally.not_judged < 40
    assert not any(one.undecided for one in found.tallies)
    assert tally.words == f"holds in {40 - tally.not_judged} runs, not judged in {tally.not_judged}"
