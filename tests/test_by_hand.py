"""The algorithms written by hand, against which the simulator is measured, do the same as the catalogue's."""

from __future__ import annotations

import pytest

from bench import mutex
from bench.by_hand import BY_HAND
from vez.catalogue.algorithms import ALGORITHMS


def test_every_algorithm_of_mutual_exclusion_is_there() -> None:
    assert list(BY_HAND) == [name for name, algorithm in ALGORITHMS.items() if algorithm.role == "mutex"]


@pytest.mark.parametrize("name", BY_HAND)
@pytest.mark.parametrize(("n", "requests"), [(5, 4), (12, 1), (30, 2)])
def test_the_same_messages_and_the_same_entries(name: str, n: int, requests: int) -> None:
    in_vez, by_hand = mutex.crowd(name, requests, n), mutex.by_hand(name, requests, n)
    assert (by_hand.messages, by_hand.entries) == (in_vez.messages, in_vez.entries)
