"""Explained: cases whose verdict only time explains, with that verdict."""

from __future__ import annotations

from typing import NamedTuple

from tests.worlds.crosscheck.cases import Case
from tests.worlds.crosscheck.early import Welcome
from tests.worlds.crosscheck.timed import (
    Announce,
    Chatter,
    ClockedElection,
    Hasty,
    Idle,
    Impatience,
    Offset,
    Patience,
    Slots,
    Spinning,
    Whirl,
)


class Explained(NamedTuple):
    """A case with its expected verdict. If nothing is broken and nothing holds, time stops."""

    case: Case
    broken: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()


SOME, MORE = {"delay": 2.0}, {"delay": 4.0}
FOREVER = -1

SPINNING = Case(Spinning, parameters={"stay": 4.0})
NO_TICK = Case(ClockedElection, fifo=False, budget={"crashes_inside": 1}, parameters={"seed": 532877})
"""Its timers are of 0 ms, so there is no tick at all, and any crash would end the loop."""
EXPLAINED = (
    Explained(Case(Offset), broken=("exclusion",)),
    Explained(Case(Announce, parameters=SOME), holds=("exclusion",)),
    Explained(Case(Announce, parameters=MORE), broken=("exclusion",)),
    Explained(Case(Slots, parameters={"stay": 4.0}), holds=("exclusion",)),
    Explained(Case(Slots, parameters={"stay": 6.0}), broken=("exclusion",)),  # out and in at the same moment
    Explained(Case(Slots), broken=("exclusion",)),
    Explained(Case(Slots, parameters={"stay": 4.0}, without=("bounded_stay",)), broken=("exclusion",)),
    Explained(Case(Slots, parameters={"stay": 4.0}, without=("known_bounds",)), broken=("exclusion",)),
    Explained(Case(Welcome, parameters=SOME), broken=("exclusion",)),
    Explained(Case(Welcome, parameters={"delay": 0.5}), holds=("exclusion",)),
    Explained(Case(Hasty)),
    Explained(Case(Hasty, parameters=SOME)),
    Explained(NO_TICK),
    Explained(SPINNING),
    Explained(Case(Chatter)),
    Explained(Case(Chatter, parameters=SOME), holds=("deadlock_freedom", "starvation_freedom")),
    Explained(Case(Idle), broken=("deadlock_freedom", "starvation_freedom"), holds=("exclusion",)),
    Explained(Case(Whirl, requests=FOREVER), broken=("starvation_freedom",), holds=("deadlock_freedom",)),
    Explained(Case(Patience), broken=("termination", "agreement")),
    Explained(Case(Patience, parameters=SOME), broken=("termination", "agreement"), holds=("uniqueness",)),
    Explained(Case(Impatience, parameters=SOME), broken=("agreement",), holds=("termination",)),
)
