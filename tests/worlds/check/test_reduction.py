"""Every reduction is compared with the unreduced search: same verdicts, same ends, and exact counts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.worlds.check.test_search import configuration
from vez.catalogue.algorithms import find
from vez.catalogue.mutex.coordinator import Coordinator
from vez.core import Assumption, Election, Io, Message, Mutex, Ring
from vez.core.assumptions import Property
from vez.errors import Misuse
from vez.judge.properties import Status
from vez.worlds.check import Configuration, check
from vez.worlds.check.liveness.graph import Graph
from vez.worlds.check.liveness.lassos import Liveness
from vez.worlds.check.model.semantics import Model
from vez.worlds.check.model.state import State
from vez.worlds.check.reduce.symmetry import Symmetry
from vez.worlds.check.search.breadth_first import Search
from vez.worlds.sim.scenario import Scenario


class Token(Message):
    """There should be one."""


class TwoTokens(Mutex):
    """A ring in which the first two processes both believe that they hold the token."""

    name = "two-tokens"
    topology = Ring
    assumes = (Assumption.FIFO,)
    wanting: bool = False

    def on_start(self, io: Io) -> None:
        if io.me in (io.hub, io.after(io.hub)):
            io.send(io.right, Token())

    def on_want(self, io: Io) -> None:
        self.wanting = True

    def on_token(self, message: Token, sender: int, io: Io) -> None:
        if self.wanting:
            io.enter()
        else:
            io.send(io.right, message)

    def on_done(self, io: Io) -> None:
        self.wanting = False
        io.send(io.right, Token())


class Ball(Message):
    """Thrown to and fro, for ever."""


class Ignored(Mutex):
    """Two processes exchange a ball, invisibly. The others enter without asking, if they are ever scheduled."""

    name = "ignored"
    assumes = (Assumption.FIFO,)

    def on_start(self, io: Io) -> None:
        if io.me == 1:
            io.send(2, Ball())

    def on_ball(self, message: Ball, sender: int, io: Io) -> None:
        io.send(sender, message)

    def on_want(self, io: Io) -> None:
        if io.me > 2:
            io.enter()

    def on_done(self, io: Io) -> None:
        """Nothing to give back."""


class Reign(Message):
    """Begin, or end, to lead."""

    begin: bool


class ShortReigns(Election):
    """A process that is told to lead is told to resign next. Two lead at once only in some orders."""

    name = "short-reigns"
    assumes = (Assumption.FIFO,)

    def on_start(self, io: Io) -> None:
        for peer in io.peers if io.me == 3 else ():
            io.send(peer, Reign(True))
            io.send(peer, Reign(False))

    def on_reign(self, message: Reign, sender: int, io: Io) -> None:
        io.elected(io.me if message.begin else sender)

    def on_elect(self, io: Io) -> None:
        """Nobody is asked."""


CASES: list[tuple[str, int, dict[str, Any], int, int]] = [
    ("chang-roberts", 3, {"fifo": True}, 162, 105),
    ("chang-roberts", 4, {"fifo": True}, 798, 400),
    ("chang-roberts", 4, {"fifo": True, "elect": (2, 3)}, 52, 43),
    ("chang-roberts", 4, {}, 6775, 4391),
    ("dolev-klawe-rodeh", 5, {}, 3091, 26),
    ("dolev-klawe-rodeh", 3, {"fifo": False}, 832, 226),
    ("ring-collect", 4, {"fifo": True}, 7027, 1635),
    ("tournament", 3, {"fifo": True}, 1110, 542),
    ("yoyo", 3, {"fifo": True}, 198, 36),
    ("token-ring", 4, {"fifo": True, "requests": 2}, 3500, 2952),
    ("ricart-agrawala", 3, {"fifo": True}, 2551, 1773),
    ("ricart-agrawala-priority", 3, {}, 2643, 1687),
    ("ricart-agrawala", 2, {"fifo": True, "requests": 3}, 462, 448),
    ("coordinator", 4, {"fifo": True}, 180, 180),
]


@pytest.mark.long
@pytest.mark.parametrize(("name", "n", "options", "whole", "reduced"), CASES, ids=str)
def test_partial_order_reduction_keeps_verdicts_and_ends(
    name: str, n: int, options: dict[str, Any], whole: int, reduced: int
) -> None:
    chosen = configuration(name, n, options)
    properties = (Property.EXCLUSION, Property.UNIQUENESS)
    full, part = (Search(Model(chosen), properties, reduce=reduce).run() for reduce in (False, True))
    assert (full.packed.store.count, part.packed.store.count) == (whole, reduced)
    assert full.broken.keys() == part.broken.keys()
    assert bool(len(Graph.of(full).core().source)) == Liveness(part).may_be_endless
    assert ends_of(full) == ends_of(part)


def test_a_violation_survives_the_reduction() -> None:
    chosen = Configuration(Scenario(algorithm="two-tokens", n=4), TwoTokens)
    for reduce in (False, True):
        report = check(chosen, ("exclusion",), reduce=reduce)
        assert report.verdicts[0].status is Status.BROKEN


def test_nobody_is_ignored_for_ever() -> None:
    chosen = Configuration(Scenario(algorithm="ignored", n=4), Ignored)
    full, part = (Search(Model(chosen), (Property.EXCLUSION,), reduce=reduce).run() for reduce in (False, True))
    assert full.broken.keys() == part.broken.keys() == {Property.EXCLUSION}


def test_what_can_be_seen_is_tried_in_every_order() -> None:
    chosen = Configuration(Scenario(algorithm="short-reigns", n=3), ShortReigns)
    full, part = (Search(Model(chosen), (Property.UNIQUENESS,), reduce=reduce).run() for reduce in (False, True))
    assert full.broken.keys() == part.broken.keys() == {Property.UNIQUENESS}


def test_liveness_is_judged_only_where_the_reduced_graph_can_tell() -> None:
    acyclic = check(configuration("chang-roberts", 3, {"fifo": True}), reduce=True)
    assert {verdict.status for verdict in acyclic.verdicts} == {Status.HOLDS}
    cyclic = check(configuration("token-ring", 3, {"fifo": True}), ("starvation_freedom",), reduce=True)
    assert cyclic.verdicts[0].status is Status.NOT_JUDGED


SYMMETRIC: list[tuple[str, int, dict[str, Any], int, int]] = [
    ("token-ring", 3, {}, 108, 36),
    ("token-ring", 4, {"requests": 2, "crashes": 1}, 12800, 3200),
    ("coordinator", 4, {"requests": 2}, 1505, 285),
    ("coordinator", 4, {"crashes": 1, "recoveries": 1, "fifo": True}, 1785, 367),
    ("naimi-trehel", 4, {"losses": 1}, 3480, 614),
    ("ring-anonymous", 4, {}, 2554, 649),
    ("itai-rodeh", 2, {"bounds": {"round": 2}}, 249, 129),
]


@pytest.mark.long
@pytest.mark.parametrize(("name", "n", "options", "whole", "orbits"), SYMMETRIC, ids=str)
def test_symmetry_stores_one_state_of_every_orbit(
    name: str, n: int, options: dict[str, Any], whole: int, orbits: int
) -> None:
    chosen = configuration(name, n, options)
    properties = (Property.EXCLUSION, Property.UNIQUENESS)
    full, part = (Search(Model(chosen), properties, symmetry=symmetry).run() for symmetry in (False, True))
    symmetry = Symmetry(full.model)
    left = {full.packed.unpack(number) for number in range(full.packed.store.count)}
    counted = 0
    while left:  # the orbits, counted in the whole graph without the packed search's help
        state = left.pop()
        left -= {symmetry.renamed(state, renaming) for renaming in symmetry.renamings}
        counted += 1
    assert (full.packed.store.count, part.packed.store.count, counted) == (whole, orbits, orbits)
    assert full.broken.keys() == part.broken.keys()
    assert full.depth >= part.depth


BOTH: list[tuple[str, int, dict[str, Any], int, int]] = [
    ("token-ring", 4, {"requests": 2, "fifo": True}, 875, 751),
    ("ring-anonymous", 4, {}, 649, 299),
    ("ring-anonymous", 5, {"fifo": True}, 4555, 1535),
    ("itai-rodeh", 3, {"bounds": {"round": 1}}, 983, 506),
    ("coordinator", 4, {"requests": 2, "fifo": True}, 238, 238),
]


@pytest.mark.parametrize(("name", "n", "options", "orbits", "reduced"), BOTH, ids=str)
def test_the_reductions_can_be_combined(name: str, n: int, options: dict[str, Any], orbits: int, reduced: int) -> None:
    """Both keep the ends of runs: the orbits of ends are those of symmetry alone."""
    chosen = configuration(name, n, options)
    properties = (Property.EXCLUSION, Property.UNIQUENESS)
    alone, both = (Search(Model(chosen), properties, symmetry=True, reduce=reduce).run() for reduce in (False, True))
    assert (alone.packed.store.count, both.packed.store.count) == (orbits, reduced)
    assert alone.broken.keys() == both.broken.keys()
    assert _end_orbits(alone) == _end_orbits(both)
    assert Liveness(alone).may_be_endless == Liveness(both).may_be_endless


def test_a_run_found_by_both_reductions_is_real() -> None:
    report = check(configuration("ring-anonymous", 4, {}), ("uniqueness",), reduce=True, symmetry=True)
    assert report.verdicts[0].status is Status.BROKEN
    assert report.counterexamples["uniqueness"].verdict.status is Status.BROKEN


def test_dolev_klawe_rodeh_needs_one_order_only() -> None:
    """774,247 states without reduction: with it, one run, however many processes there are."""
    ids = (5, 1, 8, 3, 6, 2, 7, 4)
    chosen = Configuration(Scenario(algorithm="dolev-klawe-rodeh", ids=ids), find("dolev-klawe-rodeh"))
    report = check(chosen, reduce=True)
    assert (report.states, report.transitions, report.ends) == (73, 72, 1)
    assert {verdict.status for verdict in report.verdicts} == {Status.HOLDS}


def test_a_symmetry_is_not_inherited() -> None:
    """A subclass may compare by order what its parent only compared for equality."""

    class Favourite(Coordinator):
        name = "favourite"

    with pytest.raises(Misuse, match="of its base class does not count"):
        check(Configuration(Scenario(algorithm="favourite", n=3), Favourite), symmetry=True)


def test_a_run_found_under_symmetry_is_the_shortest_and_real() -> None:
    """It was renamed back: the simulator replayed it, or there would be no report."""
    chosen = configuration("coordinator", 4, {"crashes": 1, "recoveries": 1})
    lengths = []
    for symmetry in (False, True):
        report = check(chosen, symmetry=symmetry)
        lengths.append({name: example.steps for name, example in report.counterexamples.items()})
    assert lengths[0] == lengths[1]
    assert "exclusion" in lengths[0]


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        ("ricart-agrawala", {}, "compares identifiers by order has none"),
        ("token-ring", {"victims": (1,), "crashes": 1}, "only some processes may crash"),
        ("ring-anonymous", {"elect": (1,)}, "asked to do more than others"),
    ],
)
def test_a_symmetry_that_does_not_exist_is_refused(name: str, options: dict[str, Any], reason: str) -> None:
    with pytest.raises(Misuse, match=reason):
        check(configuration(name, 3, options), symmetry=True)


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        ("ricart-agrawala", {"fifo": True, "capacity": 2}, "takes no more"),
        ("ricart-agrawala", {"fifo": True, "crashes": 1}, "share one budget"),
        ("bully", {"fifo": True}, "time passes for all"),
    ],
)
def test_a_reduction_that_would_be_wrong_is_refused(name: str, options: dict[str, Any], reason: str) -> None:
    with pytest.raises(Misuse, match=reason):
        check(configuration(name, 3, options), reduce=True)


def _end_orbits(search: Search) -> list[list[str]]:
    """For each end state: its renamings, in words."""
    symmetry, model, found = search.symmetry, search.model, []
    assert symmetry is not None
    for number in search.end_states().tolist():
        state = search.packed.unpack(number)
        orbit = [state, *(symmetry.renamed(state, renaming) for renaming in symmetry.renamings)]
        found.append(sorted(_words(model, state) for state in orbit))
    return sorted(found)


def ends_of(search: Search) -> set[str]:
    """The states in which a run may end, in words, because numbers depend on the order of discovery."""
    return {_words(search.model, search.packed.unpack(number)) for number in search.end_states().tolist()}


def _words(model: Model, state: State) -> str:
    channels = [[repr(model.messages[number]) for number in content] for content in state.channels]
    channels = channels if model.fifo else [sorted(content) for content in channels]
    return repr([model.locals[local] for local in state.locals]) + repr(channels)
