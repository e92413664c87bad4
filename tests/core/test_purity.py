"""A handler that reads more than its fields, its event and `io.choose` is named: by the checker and by a debug run."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from typing import ClassVar

import pytest

from vez.catalogue.algorithms import ALGORITHMS
from vez.core import Io, Message, Mutex, Parameter, Process
from vez.errors import NotDeterministic, ProtocolBug
from vez.worlds.check import Budget, Configuration, Limits, check
from vez.worlds.sim import simulate
from vez.worlds.sim.scenario import Scenario

CALLS = [0]
SEEN: list[int] = []


class Ask(Message):
    """May I?"""

    who: frozenset[str] = frozenset()


class Impure(Mutex):
    """Asks everybody. The result of `habit` decides if it enters, or is stored."""

    name = "impure"
    habit: ClassVar[Callable[[Impure, Io], int]]
    total: ClassVar[int] = 0
    remembered: int | str = 0
    names: frozenset[str] = frozenset()

    def on_start(self, io: Io) -> None:
        self.names = frozenset({"ann", "bob", "cid"})

    def on_want(self, io: Io) -> None:
        self.remembered = type(self).habit(self, io)
        io.enter()

    def on_done(self, io: Io) -> None:
        pass


def counter(self: Impure, io: Io) -> int:
    CALLS[0] += 1
    return CALLS[0] > 2


def global_list(self: Impure, io: Io) -> int:
    SEEN.append(io.me)
    return len(SEEN)


def chance(self: Impure, io: Io) -> int:
    return random.randrange(1_000_000)


def clock(self: Impure, io: Io) -> int:
    return time.perf_counter_ns()


def class_attribute(self: Impure, io: Io) -> int:
    type(self).total += 1
    return type(self).total // 3


def mutable_default(self: Impure, io: Io, kept: list[int] = []) -> int:  # noqa: B006 - the mistake
    kept.append(io.me)
    return len(kept) // 3


def order_of_a_set(self: Impure, io: Io) -> str:
    return next(iter(self.names))


HABITS = [counter, global_list, chance, clock, class_attribute, mutable_default, order_of_a_set]


@pytest.mark.parametrize("habit", HABITS, ids=lambda habit: habit.__name__)
def test_what_a_handler_reads_beside_its_state_is_found(habit: Callable[[Impure, Io], int]) -> None:
    class Bad(Impure):
        pass

    Bad.habit = habit
    scenario = Scenario(algorithm="bad", n=2)
    CALLS[0], Impure.total = 0, 0
    with pytest.raises(NotDeterministic, match=r"Impure.on_want of process \d, in the same state with the same event"):
        check(Configuration(scenario, Bad))
    CALLS[0], Impure.total = 0, 0
    with pytest.raises(NotDeterministic, match=r"on_want"):
        simulate(scenario, Bad, debug=True)


class Step(Message):
    """On to the next."""


class Late(Process):
    """Counts its steps, and is wrong in one call of some thousands."""

    name = "late"
    wrong_at: Parameter[int] = 0
    steps: int = 0

    def on_start(self, io: Io) -> None:
        if io.me == 1:
            io.send(2, Step())

    def on_step(self, message: Step, sender: int, io: Io) -> None:
        CALLS[0] += 1
        self.steps += 1
        if CALLS[0] == self.wrong_at:
            self.steps += 1
        if self.steps < 1_500:
            io.send(sender, Step())


@pytest.mark.parametrize("wrong_at", [5_000, 1, 300])
def test_one_wrong_call_among_thousands_is_found(wrong_at: int) -> None:
    scenario = Scenario(algorithm="late", n=2, parameters={"wrong_at": wrong_at}, until_ms=10_000)
    CALLS[0] = 0
    with pytest.raises(NotDeterministic, match=r"Late.on_step of process"):
        check(Configuration(scenario, Late))
    assert CALLS[0] >= wrong_at
    CALLS[0] = 0
    with pytest.raises(NotDeterministic, match=r"Late.on_step"):
        simulate(scenario, Late, debug=True)


class Polite(Mutex):
    """Sends to a set in the order of the set, to everybody once: no process can see that order."""

    name = "polite"
    peers: frozenset[int] = frozenset()

    def on_want(self, io: Io) -> None:
        self.peers = frozenset(io.peers)
        io.enter()

    def on_done(self, io: Io) -> None:
        for peer in self.peers:
            io.send(peer, Ask())

    def on_ask(self, message: Ask, sender: int, io: Io) -> None:
        pass


def test_an_order_that_nobody_sees_is_no_fault() -> None:
    scenario = Scenario(algorithm="polite", n=3)
    assert check(Configuration(scenario, Polite), ("exclusion",)).states
    assert simulate(scenario, Polite, debug=True).all_served


@pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=lambda algorithm: algorithm.name)
def test_no_algorithm_of_the_catalogue_is_accused(algorithm: type[Process]) -> None:
    edges = ((1, 2), (2, 3), (1, 3)) if algorithm.topology.name == "graph" else ()
    scenario = Scenario(algorithm=algorithm.name, edges=edges)
    budget = Budget(crashes=1, recoveries=1, losses=1)
    check(Configuration(scenario, algorithm, budget=budget), limits=Limits(states=3_000), pictures=False)
    simulate(scenario.but(n=5) if not edges else scenario, algorithm, debug=True)


class Assigning(Mutex):
    """Assigns a parameter, which is configuration."""

    name = "assigning"
    rank: Parameter[int] = 0

    def on_want(self, io: Io) -> None:
        self.rank = io.me
        io.enter()

    def on_done(self, io: Io) -> None:
        pass


def test_a_parameter_that_is_assigned_is_refused() -> None:
    scenario = Scenario(algorithm="assigning", n=2)
    words = r"Assigning.on_want of process \d assigned rank, a Parameter, which was 0 and is \d"
    with pytest.raises(ProtocolBug, match=words):
        check(Configuration(scenario, Assigning))
    with pytest.raises(ProtocolBug, match=words):
        simulate(scenario, Assigning, debug=True)


def after_forty_calls(self: Impure, io: Io) -> int:
    CALLS[0] += 1
    return CALLS[0] > 40


def environment(self: Impure, io: Io) -> int:
    os.environ["VEZ_TEST_CALLS"] = str(int(os.environ.get("VEZ_TEST_CALLS", "0")) + 1)
    return int(os.environ["VEZ_TEST_CALLS"]) > 40


@pytest.mark.parametrize("habit", [after_forty_calls, environment], ids=lambda habit: habit.__name__)
def test_what_changes_after_some_dozens_of_calls_is_found(
    habit: Callable[[Impure, Io], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Bad(Impure):
        pass

    Bad.habit = habit
    for world in (lambda at: check(Configuration(at, Bad)), lambda at: simulate(at, Bad, debug=True)):
        CALLS[0] = 0
        monkeypatch.setenv("VEZ_TEST_CALLS", "0")
        with pytest.raises(NotDeterministic, match="on_want"):
            world(Scenario(algorithm="bad", n=2))


def environment_that_nobody_changes(self: Impure, io: Io) -> int:
    return len(os.environ)


def clock_that_matters_rarely(self: Impure, io: Io) -> int:
    return time.time() < 0  # stands for a moment that does not come during the test


@pytest.mark.parametrize("habit", [environment_that_nobody_changes, clock_that_matters_rarely])
def test_what_is_the_same_in_all_calls_is_not_seen(
    habit: Callable[[Impure, Io], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """docs/reference/core.md names this limit."""
    monkeypatch.setattr(Impure, "habit", habit, raising=False)
    check(Configuration(Scenario(algorithm="impure", n=2), Impure), ("exclusion",))
    simulate(Scenario(algorithm="impure", n=2), Impure, debug=True)
