"""A handler that raises is found by the shortest run to it, and the simulator's replay of that run raises too."""

from __future__ import annotations

from typing import Any

import pytest

from tests.worlds.crosscheck.cases import untimed
from tests.worlds.crosscheck.compare import rules_of
from tests.worlds.crosscheck.protocols import EndlessElection, EndlessMutex, RandomElection, RandomMutex, Scrawl, draw
from tests.worlds.crosscheck.semantics import Semantics
from vez.catalogue.algorithms import find
from vez.core import Durable, Election, Io, Message, Mutex, Parameter, Process
from vez.errors import Misuse, ProtocolBug
from vez.judge.properties import Status, judge
from vez.worlds.check import Budget, Configuration, Limits, Report, check
from vez.worlds.sim import simulate
from vez.worlds.sim.scenario import Scenario


class Ask(Message):
    """May I?"""


class Yes(Message):
    """You may."""


class Odd(Message):
    """Nobody handles it."""


class Frail(Mutex):
    """Asks everybody, and raises in the handler that `where` names."""

    name = "frail"
    symmetry = "full"
    where: Parameter[str] = ""
    asked: bool = False
    lives: Durable[int] = 1

    def here(self, name: str) -> None:
        assert self.where != name, f"in {name}"

    def on_start(self, io: Io) -> None:
        self.here("on_start")

    def on_recover(self, io: Io) -> None:
        self.here("on_recover")

    def on_want(self, io: Io) -> None:
        self.asked = True
        self.here("on_want")
        if self.where == "io.send":
            io.send(99, Ask())
        if self.where == "io.choose" and io.choose((1, 2)) + io.choose((1, 2)) == 4:
            raise KeyError("both")
        if self.where == "sys.exit":
            raise SystemExit(3)
        if self.where == "on_timer_bell":
            io.set_timer("bell", 5)
        if self.where == "on_odd":
            io.broadcast(Odd())
        io.broadcast(Ask())

    def on_timer_bell(self, io: Io) -> None:
        self.here("on_timer_bell")

    def on_ask(self, message: Ask, sender: int, io: Io) -> None:
        self.here("on_ask")
        io.send(sender, Yes())

    def on_yes(self, message: Yes, sender: int, io: Io) -> None:
        self.here("on_yes")
        if self.asked:
            self.asked = False
            io.enter()

    def on_done(self, io: Io) -> None:
        self.here("on_done")

    def on_withdraw(self, io: Io) -> None:
        self.here("on_withdraw")

    def on_suspect(self, peer: int, io: Io) -> None:
        self.here("on_suspect")

    def on_trust(self, peer: int, io: Io) -> None:
        self.here("on_trust")


class FrailElection(Election):
    """Raises when it is asked to elect."""

    name = "frail-election"

    def on_elect(self, io: Io) -> None:
        raise ValueError("never")


class Counter(Process):
    """Neither a mutex nor an election: a message is counted, and may not come more often than the limit."""

    name = "counter"
    limit: Parameter[int] = 2
    seen: int = 0

    def on_start(self, io: Io) -> None:
        io.broadcast(Ask())

    def on_ask(self, message: Ask, sender: int, io: Io) -> None:
        self.seen += 1
        assert self.seen <= self.limit


class Silent(Process):
    """Does nothing."""

    name = "silent"


STEPS: dict[str, tuple[int, dict[str, int]]] = {
    "on_start": (0, {}),
    "on_want": (1, {}),
    "on_ask": (2, {}),
    "on_done": (4, {}),
    "on_timer_bell": (2, {}),
    "on_withdraw": (2, {"withdrawals": 1}),
    "on_recover": (2, {"crashes": 1, "recoveries": 1}),
    "on_suspect": (1, {"mistakes": 1}),
    "on_trust": (2, {"mistakes": 1}),
    "on_odd": (2, {}),
    "on_yes": (3, {"crashes_inside": 1}),
    "io.send": (1, {}),
    "io.choose": (1, {}),
    "sys.exit": (1, {}),
}


def checked(algorithm: type[Process], n: int = 2, *, budget: dict[str, int] | None = None, **more: Any) -> Report:
    options = {key: more.pop(key) for key in ("reduce", "symmetry", "limits", "workers") if key in more}
    properties = more.pop("properties", ())
    scenario = Scenario(algorithm=algorithm.name, n=n, parameters=more)
    return check(Configuration(scenario, algorithm, budget=Budget(**(budget or {}))), properties, **options)


def shown(report: Report, algorithm: type[Process]) -> int:
    """The length of the run to the exception, after a replay of it that raises the same exception."""
    verdict = report.verdicts[0]
    assert (verdict.name, verdict.status, verdict.promised) == ("no_exceptions", Status.BROKEN, True)
    assert report.stopped == "at the first exception of a handler"
    example = report.counterexamples["no_exceptions"]
    assert example.scenario.expect.broken == ("no_exceptions",)
    with pytest.raises(ProtocolBug) as caught:
        simulate(example.scenario, algorithm)
    assert caught.value.trace == example.trace
    assert example.trace.header.end == "raised"
    again = judge(caught.value.trace, only=["no_exceptions"])[0]
    assert again.evidence in verdict.evidence
    return example.steps


@pytest.mark.parametrize("where", STEPS)
def test_every_handler_that_raises_gives_the_shortest_run_to_it(where: str) -> None:
    steps, budget = STEPS[where]
    report = checked(Frail, where=where, budget=budget)
    assert shown(report, Frail) == steps
    words = {"on_odd": "has no on_odd", "io.send": "to 99, which does not exist", "io.choose": "KeyError: 'both'"}
    words |= {"sys.exit": "SystemExit: 3"}
    assert words.get(where, f"AssertionError: in {where}") in report.verdicts[0].evidence
    for verdict in report.verdicts[1:]:
        assert verdict.status in (Status.UNDECIDED, Status.BROKEN)


@pytest.mark.parametrize(
    "options", [{"reduce": True}, {"symmetry": True}, {"workers": 1}, {"reduce": True, "symmetry": True}]
)
@pytest.mark.parametrize("where", ["on_start", "on_want", "on_ask", "on_done", "io.choose", "on_odd"])
def test_every_way_of_searching_finds_it(where: str, options: dict[str, Any]) -> None:
    report = checked(Frail, 3, where=where, **options)
    assert shown(report, Frail) >= STEPS[where][0]


@pytest.mark.parametrize("name", ["request_order", "bounded_waiting", "fenced_exclusion", "exclusion"])
def test_it_is_found_whatever_property_was_asked_for(name: str) -> None:
    assert shown(checked(Frail, where="on_done", properties=(name,)), Frail) == 4


def test_nothing_is_said_of_exceptions_where_there_are_none_unless_asked() -> None:
    report = checked(Frail)
    assert "no_exceptions" not in [verdict.name for verdict in report.verdicts]
    (verdict,) = checked(Frail, properties=("no_exceptions",)).verdicts
    assert (verdict.status, verdict.promised) == (Status.HOLDS, True)


def test_an_election_that_raises() -> None:
    assert shown(checked(FrailElection), FrailElection) == 1


def test_a_process_of_no_role_is_checked_for_its_assertions() -> None:
    (verdict,) = checked(Counter, 3).verdicts
    assert (verdict.name, verdict.status, verdict.promised) == ("no_exceptions", Status.HOLDS, True)
    assert shown(checked(Counter, 4), Counter) == 3
    assert shown(checked(Counter, 3, budget={"duplicates": 1}), Counter) == 3
    assert shown(checked(Counter, 4, reduce=True), Counter) >= 3


def test_a_process_that_does_nothing_is_not_said_to_be_right() -> None:
    (verdict,) = checked(Silent).verdicts
    assert verdict.status is Status.UNDECIDED
    assert "no handler ever ran" in verdict.evidence


def test_a_limit_before_the_exception_leaves_it_undecided() -> None:
    report = checked(Counter, 5, limit=3, limits=Limits(states=20), properties=("no_exceptions",))
    assert report.verdicts[0].status is Status.UNDECIDED


def test_a_promised_property_that_a_reduction_left_open_is_not_answered() -> None:
    lively = Scenario(algorithm="token-ring", n=3)
    reduced = check(Configuration(lively, find("token-ring"), requests=-1), symmetry=True)
    assert {str(v.name) for v in reduced.verdicts if v.status is Status.NOT_JUDGED} >= {"starvation_freedom"}
    assert reduced.undecided
    bound = Configuration(Scenario(algorithm="itai-rodeh", n=2), find("itai-rodeh"), bounds={"round": 1})
    assert not check(bound).undecided  # what lies beyond the bound was not asked for


class Drawn(Exception):
    """Raised by a random handler."""


class Breaking(Scrawl):
    """A random protocol that raises in a state drawn from its seed."""

    def run(self, io: Io, *event: int, hops: int = 1) -> None:
        if not draw(self.seed, 9, *event, int(self.value), self.kept, io.me) % 11:
            raise Drawn
        super().run(io, *event, hops=hops)


class BreakingMutex(Breaking, RandomMutex):
    """A mutex at random that raises."""

    name = "breaking-mutex"


class BreakingElection(Breaking, RandomElection):
    """An election at random that raises."""

    name = "breaking-election"


class BreakingEndlessMutex(Breaking, EndlessMutex):
    """A mutex at random that raises, and may go on for ever."""

    name = "breaking-endless-mutex"


class BreakingEndlessElection(Breaking, EndlessElection):
    """An election at random that raises, and may go on for ever."""

    name = "breaking-endless-election"


BREAKING: dict[str, tuple[type[Process], ...]] = {
    "mutex": (BreakingMutex, BreakingEndlessMutex),
    "election": (BreakingElection, BreakingEndlessElection),
}


def naive_length(configuration: Configuration, most: int) -> int | None:
    """The shortest run to an exception, by the explorer that shares no code with the checker; None if there is none."""
    semantics, seen, at = Semantics(rules_of(configuration)), set[Any](), 0
    layer = semantics.starts()
    while layer:
        seen |= layer
        assert len(seen) < most
        following = set()
        for world in layer:
            try:
                following |= {move.to for move in semantics.moves(world)}
            except Drawn:
                return at + 1
        layer, at = following - seen, at + 1
    return None


@pytest.mark.parametrize("first", range(0, 80, 40))
def test_the_shortest_run_to_an_exception_is_that_of_the_explorer(first: int) -> None:
    found = 0
    for number in range(first, first + 40):
        case = untimed(number)
        case = case._replace(algorithm=BREAKING[case.algorithm.role][number % 2], edges=())
        configuration = case.configuration()
        report = check(configuration, ("no_exceptions",), limits=Limits(states=3_000))
        if report.stopped.startswith("past"):
            continue
        length = naive_length(configuration, 10_000)
        assert (report.counterexamples["no_exceptions"].steps if report.broken else None) == length, (number, case)
        found += length is not None
        try:
            reduced = check(configuration, ("no_exceptions",), reduce=True)
        except Misuse:
            continue  # faults are not reduced
        assert reduced.broken == report.broken, (number, case)
    assert found > 5
