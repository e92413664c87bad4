"""Values: a request in the table, the record of a forced release, and the table of one name."""

from __future__ import annotations

from typing import Literal

import msgspec

from vez.locks.table.commands import Enlist
from vez.locks.table.effects import Why

Kind = Literal["lock", "semaphore", "election"]

MOST_FORCED = 100
"""Records of forced releases that are kept: a table is one value, so it must not grow with the age of its name."""


class Seat(msgspec.Struct, frozen=True, gc=False):
    """One request, from its arrival until it leaves."""

    number: int
    """Number in the order of arrival. Never used again for this name."""
    token: int
    """The fencing token, the same as the number; of a leader its term, which is drawn when it is elected."""
    since_ns: int
    """Time of the grant; for a waiter, time of its arrival."""
    asked: Enlist
    lost: Why | None = None
    ends_ns: int = 0
    """For a broken holder: end of its grace."""


class Forced(msgspec.Struct, frozen=True, gc=False):
    """A forced release, as it was recorded."""

    tokens: tuple[int, ...]
    reason: str
    by: str
    at_ns: int


class Table(msgspec.Struct, frozen=True, gc=False):
    """One name. Each request is in exactly one of `holders`, `queue` and `stale`."""

    kind: Kind
    name: str
    limit: int = 1
    """Semaphores: largest number of holders; otherwise 1."""
    last: int = 0
    """The newest token, term or number that was drawn; it never falls."""
    holders: tuple[Seat, ...] = ()
    """The holders by number. Broken holders are among them until they leave or their grace is over."""
    queue: tuple[Seat, ...] = ()
    """The waiters by number. The first could not be granted; in an election there is a leader."""
    stale: tuple[Seat, ...] = ()
    """Requests that have lost the name and have not left yet. They do not delay any grant."""
    mean_ns: float | None = None
    """The moving mean of stays that ended by a release; None before the first."""
    alarm_ns: int | None = None
    """The end of the next grace; None if no holder is lost."""
    forced: tuple[Forced, ...] = ()
    """The newest forced releases, oldest first."""

    @property
    def leader(self) -> Seat | None:
        """The first holder, or None."""
        return self.holders[0] if self.holders else None

    def find(self, number: int) -> Seat | None:
        """The request with this number, or None if it is not in the table."""
        for seats in (self.holders, self.queue, self.stale):
            for seat in seats:
                if seat.number == number:
                    return seat
        return None
