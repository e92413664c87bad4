"""Verdicts: the properties that hold or break according to textbooks, with the run that the simulator replays."""

from __future__ import annotations

from typing import Any

import pytest

from tests.worlds.check.test_search import configuration
from vez.catalogue.algorithms import ALGORITHMS, find
from vez.catalogue.mutex.coordinator import Coordinator
from vez.core import Io, Message, Mutex, Parameter, Property
from vez.core.assumptions import Assumption
from vez.core.trace import Entered
from vez.judge.properties import Status, judge
from vez.worlds.check import Budget, Configuration, Limits, Report, check
from vez.worlds.check.model.configuration import FOREVER
from vez.worlds.sim import simulate
from vez.worlds.sim.scenario import Elect, Scenario, dumps, loads


def verdicts(report: Report) -> dict[str, Status]:
    return {verdict.name: verdict.status for verdict in report.verdicts}


@pytest.mark.parametrize(
    ("name", "n", "options"),
    [
        ("ricart-agrawala", 3, {}),
        ("ricart-agrawala", 2, {"requests": 3}),
        ("coordinator", 4, {"requests": 2}),
        ("coordinator-lease", 3, {"requests": 2}),
        ("coordinator-lease", 3, {"crashes": 1, "victims": (2, 3)}),
        ("token-ring", 4, {"requests": -1}),
        ("chang-roberts", 4, {}),
        ("bully", 3, {}),
        ("bully", 3, {"crashes": 1}),
    ],
    ids=str,
)
def test_what_is_promised_holds(name: str, n: int, options: dict[str, Any]) -> None:
    report = check(configuration(name, n, options))
    assert {v.name: v.evidence for v in report.verdicts if v.status is not Status.HOLDS} == {}


@pytest.mark.parametrize(
    ("name", "n", "options", "broken", "steps"),
    [
        ("coordinator-lease", 3, {"without": ("bounded_stay",)}, "exclusion", 7),
        ("ricart-agrawala", 2, {"requests": 2, "duplicates": 1}, "exclusion", 9),
        ("ricart-agrawala", 3, {"crashes": 1}, "deadlock_freedom", 5),
        ("coordinator", 3, {"crashes": 1}, "deadlock_freedom", 3),
        ("coordinator", 3, {"losses": 1}, "starvation_freedom", 2),
        ("token-ring", 3, {"losses": 1}, "deadlock_freedom", 2),
        ("token-ring", 3, {"crashes": 1}, "starvation_freedom", 3),
        ("token-ring", 2, {"duplicates": 1}, "exclusion", 5),
        ("bully", 2, {"without": ("no_recovery",)}, "uniqueness", 4),
        ("bully", 3, {"losses": 1}, "uniqueness", 4),
    ],
    ids=str,
)
def test_what_is_known_to_break_breaks_in_the_shortest_run(
    name: str, n: int, options: dict[str, Any], broken: str, steps: int
) -> None:
    report = check(configuration(name, n, options))
    assert verdicts(report)[broken] is Status.BROKEN
    example = report.counterexamples[broken]
    assert example.steps == steps
    written = loads(dumps(example.scenario))  # through the file, as a user would replay it
    trace = simulate(written, find(name)).trace
    assert trace == example.trace
    assert judge(trace, only=[broken])[0].status is Status.BROKEN
    assert written.expect.broken == (broken,)


def test_fencing_protects_the_resource_where_exclusion_is_lost() -> None:
    report = check(configuration("coordinator-lease", 3, {"timeouts": True, "requests": 2}))
    assert verdicts(report)["exclusion"] is Status.BROKEN
    assert verdicts(report)["fenced_exclusion"] is Status.HOLDS


class Ball(Message):
    """Hot potato."""


class Unfair(Mutex):
    """Two processes throw a ball for ever. A process that wants in waits for a message that nobody sends.

    The run never ends, so only a search for fair cycles shows that the process waits in vain.
    """

    name = "unfair"
    polite: Parameter[bool] = False
    wanting: bool = False

    def on_start(self, io: Io) -> None:
        if io.me == io.hub:
            io.send(io.right, Ball())

    def on_want(self, io: Io) -> None:
        self.wanting = True

    def on_ball(self, message: Ball, sender: int, io: Io) -> None:
        if self.wanting and (self.polite or io.me == io.hub):
            self.wanting = False
            io.enter()
        io.send(io.right, message)

    def on_done(self, io: Io) -> None:
        pass


def test_starvation_in_a_run_that_never_rests_is_found_as_a_loop() -> None:
    chosen = Configuration(Scenario(algorithm="unfair", n=2), Unfair)
    report = check(chosen)
    assert verdicts(report)["starvation_freedom"] is Status.BROKEN
    example = report.counterexamples["starvation_freedom"]
    assert example.path.loop is not None
    loop = example.path.steps[example.path.loop :]
    assert [step.kind for step in loop] == ["deliver", "deliver"]
    assert judge(example.trace, only=["starvation_freedom"])[0].status is Status.BROKEN
    assert not any(isinstance(event, Entered) and event.process == 2 for event in example.trace)
    kept = Configuration(Scenario(algorithm="unfair", n=2, parameters={"polite": True}), Unfair)
    assert verdicts(check(kept))["starvation_freedom"] is Status.HOLDS


class Favourite(Coordinator):
    """The hub grants the smallest identifier that waits, not the first that asked."""

    name = "favourite"

    def _grant_next(self, io: Io) -> None:
        self.queue = tuple(sorted(self.queue))
        super()._grant_next(io)


def test_starvation_while_others_get_in_again_and_again() -> None:
    report = check(Configuration(Scenario(algorithm="favourite", n=3), Favourite, requests=FOREVER))
    assert verdicts(report)["deadlock_freedom"] is Status.HOLDS
    assert verdicts(report)["starvation_freedom"] is Status.BROKEN
    example = report.counterexamples["starvation_freedom"]
    assert example.path.loop is not None
    loop = example.path.steps[example.path.loop :]
    assert ("enter", None) in [seen for step in loop for seen in step.transition.visible]
    assert judge(example.trace, only=["starvation_freedom"])[0].status is Status.BROKEN


def test_an_unfair_cycle_is_no_starvation() -> None:
    """The token may turn for ever while a message waits: fairness says that it does not wait for ever."""
    report = check(configuration("token-ring", 3, {"requests": -1}))
    assert set(verdicts(report).values()) == {Status.HOLDS}


def test_the_point_of_no_return_is_the_first_step_after_which_all_is_lost() -> None:
    report = check(configuration("ricart-agrawala", 3, {"crashes": 1}))
    example = report.counterexamples["deadlock_freedom"]
    assert [step.kind for step in example.path.steps[:2]] == ["crash", "want"]
    assert example.path.no_return == 2  # a crash alone harms nobody; wanting in afterwards does


def test_a_search_that_was_cut_short_never_says_that_a_property_holds() -> None:
    report = check(configuration("ricart-agrawala", 3, {"requests": 2}), limits=Limits(states=500))
    assert set(verdicts(report).values()) == {Status.UNDECIDED}
    assert all("no violation in what was explored" in verdict.evidence for verdict in report.verdicts)


def test_stability_is_judged_by_an_observer() -> None:
    report = check(configuration("bully", 2, {"crashes": 1, "recoveries": 1}), ("stability",))
    assert verdicts(report)[Property.STABILITY] is Status.BROKEN


def _edges(name: str) -> tuple[tuple[int, int], ...]:
    return ((1, 2), (2, 3), (1, 3)) if ALGORITHMS[name].topology.name == "graph" else ()


SWITCHES = [
    (name, assumption)
    for name, algorithm in ALGORITHMS.items()
    for assumption in algorithm.assumes
    if assumption is not Assumption.UNIQUE_IDS
]


@pytest.mark.parametrize(("name", "assumption"), SWITCHES)
def test_every_assumption_that_is_turned_off_changes_what_is_explored(name: str, assumption: Assumption) -> None:
    scenario, algorithm = Scenario(algorithm=name, edges=_edges(name)), ALGORITHMS[name]
    without = Configuration(scenario, algorithm, without=(assumption,))
    assert without.words() != Configuration(scenario, algorithm).words()


def test_a_hub_that_does_not_stay_is_the_one_that_crashes() -> None:
    scenario = Scenario(algorithm="coordinator-lease", ids=(4, 7))
    lonely = Configuration(scenario, find("coordinator-lease"), without=("hub_stays",))
    assert (lonely.budget.crashes, lonely.budget.recoveries, lonely.victims) == (1, 0, (4,))
    report = check(lonely, ("deadlock_freedom",))
    assert verdicts(report) == {"deadlock_freedom": Status.BROKEN}
    assert report.counterexamples["deadlock_freedom"].words


def test_without_stable_storage_somebody_comes_back_and_has_forgotten() -> None:
    forgetful = Configuration(Scenario(algorithm="majority", n=3), find("majority"), without=("stable_storage",))
    assert (forgetful.budget.crashes, forgetful.budget.recoveries, forgetful.amnesia) == (1, 1, True)


@pytest.mark.parametrize("victim", [2, 4])
def test_a_ring_of_four_survives_the_crash_of_a_relay_and_of_the_leader(victim: int) -> None:
    """With four processes, unlike with three, a process may be between one that is misinformed and one that knows
    better."""
    scenario = Scenario(algorithm="chang-roberts", n=4, elect=(Elect(process=1), Elect(process=4)))
    crash = Configuration(scenario, find("chang-roberts"), budget=Budget(crashes=1), victims=(victim,))
    report = check(crash, no_return=False)
    assert set(verdicts(report).values()) == {Status.HOLDS}
    assert report.states > 30_000
