"""A property must be symmetric too: a verdict on one state of an orbit must be true of all of them."""

from __future__ import annotations

import pytest

from vez.core import Election, Io, Message, Process, Property
from vez.errors import Misuse
from vez.worlds.check import Configuration, check
from vez.worlds.sim.scenario import Scenario


class Candidacy(Message):
    """I would lead."""


class Won(Message):
    """Who leads."""

    leader: int


class FirstCome(Election):
    """The hub names whoever stands first; no handler compares identifiers, so the transitions are symmetric."""

    name = "first-come"
    guarantees = (Property.VALIDITY,)
    symmetry = "full"
    identifier_fields = ("leader",)
    leader: int | None = None

    def on_elect(self, io: Io) -> None:
        if io.me != io.hub:
            io.send(io.hub, Candidacy())

    def on_candidacy(self, message: Candidacy, sender: int, io: Io) -> None:
        if self.leader is None:
            self.leader = sender
            io.broadcast(Won(sender))
            io.elected(sender)

    def on_won(self, message: Won, sender: int, io: Io) -> None:
        io.elected(message.leader)


class BestFirst(FirstCome):
    """The best must win: process 3, and not process 2 in the renamed run."""

    name = "best-first"
    symmetry = "full"
    best_wins = True


class Chosen(FirstCome):
    """Process 3 may not lead."""

    name = "chosen"
    symmetry = "full"

    def candidates(self, ids: tuple[int, ...]) -> tuple[int, ...]:
        return ids[:2]


def of(algorithm: type[Process]) -> Configuration:
    """Three processes, each asked once."""
    return Configuration(Scenario(algorithm=algorithm.name, n=3), algorithm)


@pytest.mark.parametrize(
    ("algorithm", "reason"), [(BestFirst, "the best must win"), (Chosen, "only some processes may lead")]
)
def test_symmetry_is_refused_where_a_renaming_changes_the_verdict(algorithm: type[Process], reason: str) -> None:
    assert "validity" in check(of(algorithm)).broken
    with pytest.raises(Misuse, match=reason):
        check(of(algorithm), symmetry=True)


def test_symmetry_is_used_where_no_property_tells_processes_apart() -> None:
    whole, some = (check(of(FirstCome), symmetry=symmetry) for symmetry in (False, True))
    assert (whole.broken, some.broken) == ((), ())
    assert (whole.states, some.states) == (56, 30)
    assert check(of(BestFirst), ("uniqueness", "agreement"), symmetry=True).states == 30
