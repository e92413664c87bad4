"""A handler whose outcome depends on the order of a set is reported, wherever the set is and however it was made.

Equal sets may be iterated in different orders if hashes of members collide: 8, 16 and 24 in a small table. The checker
merges equal states, so it would see only one of the orders, while the simulator may use another.
"""

from __future__ import annotations

import pytest

from vez.core import Io, Message, Mutex, Process
from vez.core.purity import Backwards
from vez.errors import NotDeterministic
from vez.worlds.check import Configuration, check
from vez.worlds.sim import simulate
from vez.worlds.sim.scenario import Scenario, Want

WANTS = tuple(Want(process=process, at_ms=2.0 * process) for process in (1, 2, 3))


class May(Message):
    """May I?"""


class Yes(Message):
    """You may."""


class FirstOfAll(Mutex):
    """The hub lets in whoever is first in its set."""

    asked: frozenset[int] = frozenset()

    def on_want(self, io: Io) -> None:
        io.send(io.hub, May())

    def on_may(self, message: May, sender: int, io: Io) -> None:
        self.asked = self.asked | {8 * sender}
        if len(self.asked) == 3:
            io.send(next(iter(self.asked)) // 8, Yes())

    def on_yes(self, message: Yes, sender: int, io: Io) -> None:
        io.enter()

    def on_done(self, io: Io) -> None:
        pass


class InATuple(FirstOfAll):
    """The set is inside a tuple."""

    kept: tuple[frozenset[int], int] = (frozenset(), 0)

    def on_may(self, message: May, sender: int, io: Io) -> None:
        if len(self.kept[0]) == 2:
            io.send(next(iter(self.kept[0])) // 8, Yes())
        self.kept = (self.kept[0] | {8 * sender}, 0)


class ByADisplay(FirstOfAll):
    """The set is built anew by a display, which does not call `__iter__`."""

    def on_may(self, message: May, sender: int, io: Io) -> None:
        self.asked = frozenset({*self.asked, 8 * sender})
        if len(self.asked) == 3:
            io.send(next(iter(self.asked)) // 8, Yes())


class OfSets(FirstOfAll):
    """A set of sets."""

    sets: frozenset[frozenset[int]] = frozenset()

    def on_may(self, message: May, sender: int, io: Io) -> None:
        if len(self.sets) == 2:
            io.send(sum(next(iter(self.sets))) // 8, Yes())
        self.sets = self.sets | {frozenset({8 * sender})}


@pytest.mark.parametrize("kind", [FirstOfAll, InATuple, ByADisplay, OfSets])
def test_the_order_of_a_set_is_found(kind: type[Process]) -> None:
    with pytest.raises(NotDeterministic, match=r"\.on_may of process 1, in the same state"):
        check(Configuration(Scenario(algorithm="mine", n=3), kind))
    with pytest.raises(NotDeterministic, match=r"\.on_may of process 1, in the same state"):
        simulate(Scenario(algorithm="mine", n=3, want=WANTS), kind, debug=True)


class Smallest(FirstOfAll):
    """Sorts before it sends."""

    kept: tuple[frozenset[int], ...] = ()

    def on_may(self, message: May, sender: int, io: Io) -> None:
        self.asked = (self.asked | {8 * sender}) - {0}
        self.kept = (*self.kept[-1:], self.asked & {8, 16})
        if len(self.asked) == 3:
            io.send(min(self.asked) // 8, Yes())


def test_who_sorts_is_not_accused() -> None:
    check(Configuration(Scenario(algorithm="mine", n=3), Smallest))
    simulate(Scenario(algorithm="mine", n=3, want=WANTS), Smallest, debug=True)


def test_sets_that_are_turned_round_are_equal_and_stay_turned() -> None:
    plain = frozenset({3, 1, 2})
    turned = Backwards(plain)
    assert turned == plain
    assert hash(turned) == hash(plain)
    assert list(turned) == list(plain)[::-1]
    for made, same in ((turned | {4}, plain | {4}), (turned - {3}, plain - {3}), (turned & {1, 2}, plain & {1, 2})):
        assert made == same
        assert type(made) is Backwards
    assert turned.union({9}) == plain | {9}
