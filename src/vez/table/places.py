"""Places: the position of a waiting request, and how long it may still wait."""

from __future__ import annotations

from bisect import bisect_left

from vez.table.granting import rank
from vez.table.values import Seat, Table

NEWEST_STAY = 0.2
"""Weight of the newest stay in the moving mean, which follows a change within some stays."""


def number_of(seat: Seat) -> int:
    """The key by which holders and queue are sorted."""
    return seat.number


def index_in(seats: tuple[Seat, ...], number: int) -> int | None:
    """Where a request stands among seats that are sorted by number; None if it is not there."""
    if seats and seats[0].number == number:
        return 0
    place = bisect_left(seats, number, key=number_of)
    return place if place < len(seats) and seats[place].number == number else None


def position(table: Table, number: int) -> int | None:
    """How many are before a waiting request, holders included; None if it does not wait. In an election the better
    candidates are before it, whenever they came.

    Holders that were broken count until they are out. If they did not, the position would fall at the break and rise
    again when somebody else is granted."""
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
    """How long a waiter may still wait: its position times the mean of stays, divided among the permits, less how long
    the first has been inside. None if no stay has ended yet, or if the first has been inside for longer than that."""
    left = position * mean / limit - inside if mean else 0.0
    return left if left > 0 else None


def mean_with(mean: float | None, stay: float) -> float:
    """The moving mean of stays after one more; `mean` is None or 0 before the first."""
    return mean + NEWEST_STAY * (stay - mean) if mean else stay
