"""Places: the position of a waiting request, and an estimate of its wait."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vez.locks.table.values import Seat, Table

NEWEST_STAY = 0.2
"""Weight of the newest stay in the moving mean, which follows a change within a few stays."""


def number_of(seat: Seat) -> int:
    """The key by which holders and queue are sorted."""
    return seat.number


def rank(seat: Seat) -> tuple[int, int]:
    """The key by which candidates are elected: the heaviest first, among equals the one that came first."""
    return -seat.asked.weight, seat.number


def index_in(seats: tuple[Seat, ...], number: int) -> int | None:
    """The index of a request among seats that are sorted by number; None if it is not there."""
    if seats and seats[0].number == number:
        return 0
    place = bisect_left(seats, number, key=number_of)
    return place if place < len(seats) and seats[place].number == number else None


def position(table: Table, number: int) -> int | None:
    """Number of requests before a waiting request, holders included; None if it does not wait. In an election the
    better candidates are before it, whenever they came.

    Broken holders count until they have left or their grace is over. If they did not, the position would fall at the
    break and rise again when another request is granted."""
    place = index_in(table.queue, number)
    if place is None:
        return None
    if table.kind == "election":
        mine = rank(table.queue[place])
        place = sum(rank(seat) < mine for seat in table.queue)
    return len(table.holders) + place


def in_turn(table: Table) -> tuple[Seat, ...]:
    """The queue in the order of positions."""
    return tuple(sorted(table.queue, key=rank)) if table.kind == "election" else table.queue


def estimate(position: int, mean: float | None, limit: int, inside: float) -> float | None:
    """Estimated wait: the position times the mean of stays, divided by the number of permits, less the time that the
    first holder has been inside. None if no stay has ended yet, or if that time is longer."""
    left = position * mean / limit - inside if mean else 0.0
    return left if left > 0 else None


def mean_with(mean: float | None, stay: float) -> float:
    """The moving mean of stays after one more; `mean` is None or 0 before the first."""
    return mean + NEWEST_STAY * (stay - mean) if mean else stay
