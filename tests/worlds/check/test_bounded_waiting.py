"""Bounded waiting: the bound of each algorithm on overtaking, counted from the end of the doorway, in every run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.worlds.check.test_observers import walk
from tests.worlds.check.test_search import configuration
from vez.catalogue.algorithms import ALGORITHMS, find
from vez.catalogue.mutex.token_ring import TokenRing
from vez.cli.app import run
from vez.core import Io, Message, Mutex, Property
from vez.core.process import bypass_bound
from vez.errors import BadDeclaration, Misuse
from vez.judge.properties import Status, judge
from vez.worlds.check import Configuration, Limits, check
from vez.worlds.check.model.configuration import default_requests
from vez.worlds.check.model.observers import Watch
from vez.worlds.check.model.path import Replay
from vez.worlds.check.model.semantics import Model
from vez.worlds.sim import simulate
from vez.worlds.sim.scenario import Network, Scenario, Workload

PROMISED: dict[str, Callable[[int], int]] = {
    "coordinator": lambda n: 0,
    "token-ring": lambda n: n - 1,
    "lamport": lambda n: 0,
    "ricart-agrawala": lambda n: 0,
    "ricart-agrawala-priority": lambda n: 0,  # wrong, and kept to show why
    "suzuki-kasami": lambda n: n - 2,
    "maekawa-fair": lambda n: n - 1,
}
FOREVER = -1


def test_who_promises_bounded_waiting_and_which_bound() -> None:
    mutexes = {name: cls for name, cls in ALGORITHMS.items() if cls.role == "mutex"}
    assert {name for name, cls in mutexes.items() if Property.BOUNDED_WAITING in cls.guarantees} == set(PROMISED)
    for name, bound in PROMISED.items():
        assert [bypass_bound(mutexes[name], n) for n in range(2, 9)] == [bound(n) for n in range(2, 9)], name
    unbounded = {name for name, cls in mutexes.items() if bypass_bound(cls, 3) is None}
    assert {"raymond", "naimi-trehel", "quorum", "maekawa", "elected-coordinator"} <= unbounded


@pytest.mark.parametrize(
    ("name", "n", "requests", "states", "worst"),
    [
        ("coordinator", 3, FOREVER, 48, "0 bypasses"),
        ("token-ring", 3, FOREVER, 153, "2 bypasses"),
        ("token-ring", 4, FOREVER, 1_428, "3 bypasses"),
        ("coordinator-lease", 3, 3, None, "0 bypasses"),
        ("suzuki-kasami", 2, 4, 735, "0 bypasses"),
        ("suzuki-kasami", 3, 1, 1_021, "1 bypass"),
        ("ricart-agrawala", 2, 4, 1_401, "0 bypasses"),
        ("ricart-agrawala", 3, 1, 7_274, "0 bypasses"),
        ("lamport", 2, 3, 16_635, "0 bypasses"),
        ("maekawa-fair", 3, 1, 203_078, "1 bypass"),
    ],
)
def test_bypasses_of_placed_requests(name: str, n: int, requests: int, states: int | None, worst: str) -> None:
    report = check(configuration(name, n, {"requests": requests}), ("bounded_waiting",))
    verdict = report.verdicts[0]
    assert verdict.status is Status.HOLDS
    assert states is None or report.states == states
    extent = "however often they ask" if requests < 0 else f"within {requests} request{'s' * (requests > 1)} each"
    assert verdict.evidence == f"at most {worst} in all {report.states:,} states, {extent}"


@pytest.mark.long
@pytest.mark.parametrize(("name", "each"), [("raymond", (0, 2, 4, 6)), ("naimi-trehel", (0, 1, 2, 3))])
def test_bypasses_that_grow_with_the_requests_have_no_bound(name: str, each: tuple[int, ...]) -> None:
    for requests, worst in enumerate(each, start=1):
        verdict = check(configuration(name, 3, {"requests": requests}), ("bounded_waiting",)).verdicts[0]
        assert verdict.status is Status.NOT_JUDGED
        assert verdict.evidence.startswith(f"{name} names no bound; at most {worst} bypass")
    endless = check(configuration(name, 3, {"requests": FOREVER}), ("bounded_waiting",)).verdicts[0]
    assert endless.evidence == f"{name} names no bound; 9 or more bypasses however often they ask"


def test_a_bound_is_broken_with_requests_without_end() -> None:
    report = check(configuration("ricart-agrawala-priority", 3, {"requests": FOREVER}), ("bounded_waiting",))
    assert (report.states, report.stopped) == (7_055, "")
    assert report.verdicts[0].evidence == "in 8 steps: process 1 was overtaken 1 time, more than the bound of 0"


def test_with_faults_and_requests_without_end_messages_cannot_be_told_apart() -> None:
    with pytest.raises(Misuse, match="faults") as refused:
        check(configuration("coordinator", 3, {"requests": FOREVER, "duplicates": 1}), ("bounded_waiting",))
    assert "--requests 2" in (refused.value.hint or "")


def test_who_comes_back_from_a_crash_gets_in_with_its_old_place() -> None:
    """The reason why `coordinator-lease`, whose participants may crash and come back, does not promise a bound."""
    back = {"requests": 2, "crashes": 1, "recoveries": 1, "victims": (2,)}
    report = check(configuration("coordinator-lease", 3, back), ("bounded_waiting",))
    assert report.broken == ("bounded_waiting",)
    assert not report.verdicts[0].promised
    gone = {"requests": 2, "crashes": 1, "victims": (2,)}
    assert not check(configuration("coordinator-lease", 3, gone), ("bounded_waiting",)).broken


@pytest.mark.parametrize("name", [name for name in PROMISED if not ALGORITHMS[name].wrong])
def test_no_simulated_run_goes_beyond_the_bound(name: str) -> None:
    for seed in range(12):
        scenario = Scenario(
            algorithm=name,
            n=2 + seed % 5,
            seed=seed,
            network=Network(delay="uniform(0.01, 20)"),
            workload=Workload(requests=4, think_ms="uniform(0, 10)", inside_ms="uniform(0, 3)"),
        )
        trace = simulate(scenario, find(name)).trace
        assert trace is not None
        assert judge(trace, only=["bounded_waiting"])[0].status is Status.HOLDS_IN_RUNS, (name, seed)


class Hasty(TokenRing):
    """Promises that nobody is ever overtaken, which a ring cannot guarantee."""

    name = "hasty-ring"

    @classmethod
    def bypass_bound(cls, n: int) -> int:
        return 0


def test_a_bound_that_is_too_small_is_broken() -> None:
    report = check(Configuration(Scenario(algorithm="hasty-ring", n=2), Hasty), ("bounded_waiting",))
    assert report.broken == ("bounded_waiting",)
    assert "more than the bound of 0" in report.verdicts[0].evidence


class Knock(Message):
    """To the hub: I want in."""


class Careless(Mutex):
    """Enters even if its Knock has not arrived, so that Knocks of old requests may be in transit."""

    name = "careless"

    def on_want(self, io: Io) -> None:
        io.send(io.hub, Knock())
        io.set_timer("go", 1.0)

    def on_timer_go(self, io: Io) -> None:
        io.enter()

    def on_knock(self, message: Knock, sender: int, io: Io) -> None:
        pass

    def on_done(self, io: Io) -> None:
        pass

    @classmethod
    def bypass_bound(cls, n: int) -> int:
        return 0


def test_messages_of_requests_that_are_over_do_not_place_the_next() -> None:
    """With unlimited requests all Knocks are equal; the judge of the replayed run distinguishes them."""
    asked = Configuration(Scenario(algorithm="careless", n=2), Careless, requests=FOREVER)
    seen = set()
    for seed in range(100):
        observer = Watch((Property.BOUNDED_WAITING,), 0, asked.ids)
        model = Model(asked, observer)
        path = walk(model, seed)
        verdict = judge(Replay(model, path).trace(), only=["bounded_waiting"])[0]
        assert observer.broken(path.states[-1].observer) == (
            ("bounded_waiting",) if verdict.status is Status.BROKEN else ()
        )
        seen.add(verdict.status)
    assert seen == {Status.BROKEN, Status.HOLDS_IN_RUNS}


def test_a_promise_without_a_bound_is_refused() -> None:
    with pytest.raises(BadDeclaration, match="guarantees bounded_waiting and names no bound") as refused:
        type("Vague", (Mutex,), {"name": "vague", "guarantees": (Property.BOUNDED_WAITING,)})
    assert "bypass_bound(cls, n)" in (refused.value.hint or "")


@pytest.mark.long
@pytest.mark.parametrize(("name", "n", "steps"), [("raymond", 3, 13), ("naimi-trehel", 3, 12), ("quorum", 2, 21)])
def test_an_order_that_holds_for_one_request_each_and_not_for_more(name: str, n: int, steps: int) -> None:
    once = check(configuration(name, n, {}), ("request_order",)).verdicts[0]
    assert once.evidence.endswith("states, within 1 request each")
    for requests in (2, 3):
        report = check(configuration(name, n, {"requests": requests}), ("request_order",))
        assert report.broken == ("request_order",)
        assert report.counterexamples["request_order"].steps == steps
        assert not report.verdicts[0].promised


@pytest.mark.parametrize(("name", "n"), [("ricart-agrawala", 2), ("lamport", 2), ("coordinator", 3), ("token-ring", 3)])
def test_an_order_that_holds_for_more_requests_too(name: str, n: int) -> None:
    for requests in (2, 3):
        verdict = check(configuration(name, n, {"requests": requests}), ("request_order",)).verdicts[0]
        assert verdict.status is Status.HOLDS
        assert verdict.evidence.endswith(f"within {requests} requests each")


ENDLESS = ("coordinator", "token-ring", "ricart-agrawala-priority", "raymond", "naimi-trehel")


def test_who_is_asked_without_end_unless_it_is_said() -> None:
    assert {name for name, cls in ALGORITHMS.items() if default_requests(cls) == FOREVER} == set(ENDLESS)
    ring = find("token-ring")
    assert default_requests(ring, ("exclusion", "bounded-waiting")) == FOREVER
    assert default_requests(ring, ("exclusion", "request-order")) == 2
    assert default_requests(ring, ("bounded_waiting",), faults=True) == 2
    assert default_requests(ring, faults=True) == FOREVER
    assert default_requests(ring, reduced=True) == 2
    assert default_requests(Hasty) == 1  # a subclass may count requests
    assert default_requests(find("lamport"), ("request_order",)) == 1


@pytest.mark.long
@pytest.mark.parametrize("name", ENDLESS)
def test_requests_without_end_lead_to_finitely_many_states(name: str) -> None:
    budgets: tuple[dict[str, int], ...] = ({}, {"crashes": 1, "recoveries": 1}, {"losses": 1}, {"duplicates": 1})
    for budget in budgets:
        assert not check(configuration(name, 3, {"requests": FOREVER, **budget}), limits=Limits(100_000)).stopped


def test_a_second_request_finds_what_one_request_each_does_not() -> None:
    """A Grant that arrives twice lets in a process that asks again."""
    once = check(configuration("coordinator", 3, {"duplicates": 1}), ("exclusion",))
    assert not once.broken
    endless = check(configuration("coordinator", 3, {"requests": FOREVER, "duplicates": 1}), ("exclusion",))
    assert endless.counterexamples["exclusion"].steps == 10


def test_the_command_asks_without_end_where_that_is_finite(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "coordinator"]) == 0
    printed = capsys.readouterr().out
    assert "n=3, requests without end, any order" in printed
    assert "36 states" in printed
    assert run(["check", "coordinator", "--reduce"]) == 0
    assert "n=3, 2 requests each" in capsys.readouterr().out
    assert run(["check", "lamport", "-n", "2"]) == 0
    assert "n=2, 1 request each" in capsys.readouterr().out


@pytest.mark.long
def test_who_could_not_be_overtaken_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "ricart-agrawala", "--requests", "1", "--property", "starvation_freedom"]) == 0
    assert "each asked once: nobody could be overtaken by a second request" in " ".join(capsys.readouterr().out.split())
    assert run(["check", "ricart-agrawala", "--requests", "2", "--property", "starvation_freedom"]) == 0
    assert "asked once" not in capsys.readouterr().out
