"""Voting sets: any two share a process, for every number of processes, and wrong sets are refused."""

from __future__ import annotations

from itertools import combinations
from math import isqrt

import pytest

from vez.core import voting_set
from vez.errors import Misuse


@pytest.mark.parametrize("n", range(1, 51))
def test_any_two_meet_and_everybody_votes_for_itself(n: int) -> None:
    ids = tuple(range(10, 10 + 3 * n, 3))
    sets = [voting_set(me, ids) for me in ids]
    assert all(me in voters for me, voters in zip(ids, sets, strict=True))
    assert all(set(one) & set(other) for one, other in combinations(sets, 2))


@pytest.mark.parametrize("side", [2, 3, 4, 7])
def test_a_square_asks_a_row_and_a_column(side: int) -> None:
    ids = tuple(range(1, side * side + 1))
    assert {len(voting_set(me, ids)) for me in ids} == {2 * side - 1}


@pytest.mark.parametrize("n", range(2, 51))
def test_no_set_is_larger_than_in_the_next_square(n: int) -> None:
    ids = tuple(range(1, n + 1))
    assert max(len(voting_set(me, ids)) for me in ids) <= 2 * (isqrt(n - 1) + 1) - 1


def test_given_sets_go_by_ascending_identifier() -> None:
    assert voting_set(20, (30, 10, 20), ((10, 20), (30, 20), (30, 10))) == (20, 30)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (((1, 2),), "1 voting sets for 3 processes"),
        (((1, 9), (1, 2), (1, 3)), "there is no process 9"),
        (((1, 2), (2, 3), (3,)), "share no voter"),
    ],
)
def test_bad_sets_are_refused(given: tuple[tuple[int, ...], ...], said: str) -> None:
    with pytest.raises(Misuse, match=said):
        voting_set(1, (1, 2, 3), given)
