"""The values that an engine shows: positions, holders and waiters, forced releases, leaders.

They are structs, which programs compare, copy and write as JSON. Importing msgspec takes longer than starting Python,
so this module is imported when the first of these values is made, and `base.py` has their names for everybody else.
"""

from __future__ import annotations

import msgspec

from vez.locks.engines.base import Kind


class Place(msgspec.Struct, frozen=True):
    """The position of a waiting request."""

    position: int
    """Number of requests before it, holders included. It only falls, with one exception: in an election with weights it
    rises by one when a heavier candidate comes, which would lead first."""
    estimated_seconds: float | None
    """Position times the recent mean of stays, less the time for which the first holder has held the name. None if no
    stay has ended yet, or if this time is longer."""
    holder: Contestant | None = None


class Contestant(msgspec.Struct, frozen=True):
    """A holder or a waiter, as `inspect` shows it."""

    token: int | None
    """Its fencing token, or the number of a waiter in the queue; None where the engine gives none."""
    pid: int
    host: str
    since: float
    """Seconds since the epoch: when it was granted, or when it began to wait. On `etcd:` also for holders when they
    began to wait, because a grant writes nothing."""
    shared: bool = False
    label: str = ""
    weight: int = 0
    lost: bool = False
    """True if it was broken by force and has not released yet."""
    ended: bool = False
    """True if its process has ended, and a child of it keeps the lock."""


class Break(msgspec.Struct, frozen=True):
    """A forced release, as it was recorded."""

    name: str
    tokens: tuple[int, ...]
    reason: str
    at: float
    by_pid: int
    by_host: str
    kind: Kind = "lock"


class Done(msgspec.Struct, frozen=True):
    """Work that was done in a period: `every`."""

    every: str
    """The length of the period, such as "1d"."""
    at: int
    """When it was done last, in seconds since the epoch."""
    next_at: float
    """When the period after that begins, in seconds since the epoch."""
    due: bool
    """True if it is not done in the present period. Also true if a wrong clock has noted it for a period that is far
    ahead."""


class Inspection(msgspec.Struct, frozen=True):
    """All that is known of one name."""

    name: str
    kind: Kind
    limit: int
    holders: tuple[Contestant, ...]
    queue: tuple[Contestant, ...]
    """The waiters, in the order of their positions: first come, first served; in an election the heaviest first."""
    last_token: int
    """The newest token issued; 0 when there was none."""
    mean_hold_seconds: float | None = None
    lease_seconds: float | None = None
    """Longest time in seconds for which the lock can stay held after a crash: the longest lease of the holders. None
    where the kernel frees it at once."""
    breaks: tuple[Break, ...] = ()
    done: tuple[Done, ...] = ()
    """Work that was done once in a period under this lock (`every`)."""


class Leader(msgspec.Struct, frozen=True):
    """The leader, as an observer sees it."""

    term: int
    pid: int
    host: str
    label: str
    since: float
