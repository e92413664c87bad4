"""States of no return and endless runs: a naive computation and the simulator's judges give the same results."""

from __future__ import annotations

import pytest

from tests.worlds.crosscheck.cases import Case, unasked, untimed
from tests.worlds.crosscheck.compare import JUDGED, rules_of
from tests.worlds.crosscheck.explorer import Explorer, TooLarge
from tests.worlds.crosscheck.hope import hopeful, world_of
from tests.worlds.crosscheck.protocols import FAIRNESS
from vez.core import Io, Message, Mutex, Property
from vez.judge.properties import Status, judge
from vez.worlds.check import Configuration, Limits, check
from vez.worlds.check.liveness.lassos import Liveness
from vez.worlds.check.model.configuration import FOREVER
from vez.worlds.check.model.semantics import Model
from vez.worlds.check.search.breadth_first import Search
from vez.worlds.sim import simulate
from vez.worlds.sim.scenario import Scenario

MOST = 400
"""Largest number of states: the fixpoints take quadratic time."""
PER_GROUP = 60


def compare(case: Case) -> int:
    """Compare all states of a case. Returns the number of states from which some property cannot be kept."""
    configuration = case.configuration()
    names = tuple(Property(name) for name in JUDGED[configuration.algorithm.role])
    search = Search(Model(configuration), names, limits=Limits(states=MOST)).run()
    if not search.complete or search.packed.store.count > MOST:
        return 0
    try:
        explorer = Explorer(rules_of(configuration), MOST)
    except TooLarge:
        return 0
    liveness = Liveness(search)
    worlds = [world_of(search.model, search.packed.unpack(number)) for number in range(search.packed.store.count)]
    assert set(worlds) == set(explorer.moves)
    lost = 0
    for name in names:
        hopeless, hope = liveness.hopeless(name), hopeful(explorer, name)
        for world, doomed in zip(worlds, hopeless.tolist(), strict=True):
            assert doomed == (world not in hope), (case, name, world)
        lost += int(hopeless.sum())
    return lost


@pytest.mark.parametrize(
    "first", [pytest.param(group * PER_GROUP, marks=[pytest.mark.long] * (group > 0)) for group in range(3)]
)
def test_no_return_is_what_fixpoints_say(first: int) -> None:
    assert sum(compare(untimed(number)) > 0 for number in range(first, first + PER_GROUP)) > 5


@pytest.mark.parametrize(
    "first", [0, pytest.param(20, marks=pytest.mark.long), pytest.param(40, marks=pytest.mark.long)]
)
def test_no_return_is_what_fixpoints_say_where_nobody_may_be_asked(first: int) -> None:
    assert sum(compare(unasked(number)) > 0 for number in range(first, first + 20)) > 3


@pytest.mark.parametrize("algorithm", FAIRNESS, ids=lambda algorithm: algorithm.name)
def test_no_return_is_what_fixpoints_say_where_fairness_decides(algorithm: type[Mutex]) -> None:
    compare(Case(algorithm))


class Ask(Message):
    """May I?"""


class Out(Message):
    """I am out."""


class Go(Message):
    """You may."""


class SmallestFirst(Mutex):
    """The hub lets in the smallest waiting process. A larger one may wait for ever, but need not."""

    name = "smallest-first"
    guarantees = (Property.EXCLUSION, Property.STARVATION_FREEDOM)
    waiting: frozenset[int] = frozenset()
    inside: int = 0

    @classmethod
    def contenders(cls, ids: tuple[int, ...]) -> tuple[int, ...]:
        return ids[1:]

    def on_want(self, io: Io) -> None:
        io.send(io.hub, Ask())

    def on_ask(self, message: Ask, sender: int, io: Io) -> None:
        self.waiting |= {sender}
        self.next(io)

    def on_go(self, message: Go, sender: int, io: Io) -> None:
        io.enter()

    def on_done(self, io: Io) -> None:
        io.send(io.hub, Out())

    def on_out(self, message: Out, sender: int, io: Io) -> None:
        self.inside = 0
        self.next(io)

    def next(self, io: Io) -> None:
        if self.waiting and not self.inside:
            self.inside = min(self.waiting)
            self.waiting -= {self.inside}
            io.send(self.inside, Go())


def test_who_is_passed_over_can_still_be_served() -> None:
    scenario = Scenario(algorithm="smallest-first", n=4)
    report = check(Configuration(scenario, SmallestFirst, requests=FOREVER), ("starvation_freedom",))
    example = report.counterexamples["starvation_freedom"]
    assert example.path.loop is not None
    assert example.path.no_return is None  # the others may stop wanting in at any time
    assert example.verdict.status is Status.BROKEN


@pytest.mark.parametrize("number", [119, 152, 209, 268])
def test_an_endless_run_is_judged_broken_when_it_is_replayed(number: int) -> None:
    """Elections that never come to rest: the finite replay shows two laps, and its header says that they go on."""
    configuration = untimed(number).configuration()
    report = check(configuration, JUDGED[configuration.algorithm.role], no_return=False)
    endless = {name: run for name, run in report.counterexamples.items() if run.path.loop is not None}
    assert endless
    for name, run in endless.items():
        assert run.scenario.expect.broken == (name,)
        replayed = simulate(run.scenario, configuration.algorithm).trace
        assert replayed is not None
        assert judge(replayed, only=[name])[0].status is Status.BROKEN
