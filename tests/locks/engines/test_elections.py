"""Elections on files: a client that mapped the file before it grew also counts candidates that came later."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import cast

import pytest

from vez.errors import CorruptState
from vez.locks.engines.base import Request
from vez.locks.engines.file.candidates import Candidate
from vez.locks.engines.file.core import FileCore
from vez.locks.engines.file.layout import FIRST_CAPACITY, SLOT_BYTES, SLOTS_AT, TAKEN_AT
from vez.locks.engines.file.place import Place

_owners = count(1 << 41)


@pytest.fixture
def two(home: Path) -> Iterator[tuple[FileCore, FileCore]]:
    """Two clients of one directory, each with a map of its own."""
    with closing(FileCore(Place(home))) as one, closing(FileCore(Place(home))) as other:
        yield one, other


def stand(engine: FileCore, label: str, weight: int = 0) -> Candidate:
    """A candidate that polls only when the test calls it."""
    request = Request("e", "election", weight=weight, label=label)
    return cast("Candidate", engine.enlist(request, next(_owners), None, wait=True))


def stand_after_it_grew(engine: FileCore) -> list[Candidate]:
    """Enough candidates to make the file grow; the last one is the heaviest."""
    crowd = [stand(engine, f"later {number}") for number in range(FIRST_CAPACITY)]
    return [*crowd, stand(engine, "heaviest", weight=9)]


def test_who_elects_counts_candidates_that_came_after_the_file_grew(two: tuple[FileCore, FileCore]) -> None:
    one, other = two
    leader, waiting = stand(other, "leader"), stand(one, "waiting")
    later = stand_after_it_grew(other)
    assert waiting.file.capacity < later[-1].file.capacity
    assert waiting.place().position == 2  # behind the leader and the heaviest
    leader.release()
    waiting.relink()  # it elects
    assert not waiting.granted()
    assert later[-1].granted()
    for candidate in (waiting, *later):
        candidate.release()


def test_an_election_is_transferred_to_one_who_came_after_the_file_grew(two: tuple[FileCore, FileCore]) -> None:
    one, other = two
    leader = stand(one, "leader")
    later = stand_after_it_grew(other)
    leader.transfer("heaviest")
    assert later[-1].granted()
    for candidate in (leader, *later):
        candidate.release()


@pytest.mark.parametrize("place", [TAKEN_AT, SLOTS_AT])
def test_nobody_is_elected_beside_a_living_leader_whose_slot_is_damaged(
    two: tuple[FileCore, FileCore], place: int
) -> None:
    one, other = two
    leader = stand(one, "leader")
    at = place + leader.number * (SLOT_BYTES if place == SLOTS_AT else 1)
    leader.file.map[at] ^= 1
    with pytest.raises(CorruptState, match="leads and is alive"):
        stand(other, "another")
    assert leader.why_lost() is None
    leader.file.map[at] ^= 1
    leader.release()
