"""The values that go into an engine and come out of it; `seam.py` has the interfaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

Kind = Literal["lock", "semaphore", "election"]
Token = int | Any
"""The token of a grant, as programs see it: None where the engine gives no fencing (`Traits.token`). Written in this
way, as typeshed does, since having to ask for None would burden every program that uses an engine with fencing."""

MAX_LABEL = 48
"""Largest label in bytes. A label is how a holder or waiter is shown to others."""
DEFAULT_GRACE_MS = 0
"""How long a forced release waits for the holder to release by itself; a holder that must end a child asks for more."""
MAX_GRACE_MS = 3_600_000
"""Longest grace that a holder may ask for."""


class Request(msgspec.Struct, frozen=True):
    """What a client asks an engine for."""

    name: str
    kind: Kind = "lock"
    shared: bool = False
    limit: int = 1
    """How many may hold it at once; more than 1 only for semaphores."""
    weight: int = 0
    """In an election the heaviest candidate wins; among equals the first."""
    grace_ms: int = DEFAULT_GRACE_MS
    label: str = ""
    lease_ms: int | None = None
    """How long a silent holder keeps it, where leases free the locks of the dead; None: the engine's default."""


class Traits(msgspec.Struct, frozen=True, kw_only=True):
    """What an engine can do. Clients, the conformance suite and the documentation read it; nothing is faked."""

    frees: Literal["kernel", "lease", "process", "members"] | None
    """What frees the lock of a dead holder: the kernel at once, the end of its lease, the end of the process in which
    everything is, or the other members of its group when they notice. None: nothing does, and the others wait."""
    reaches: Literal["process", "machine", "network"]
    """Who can take part: the threads and tasks of one process, all processes of one machine, or many machines."""
    token: Literal["arrival", "grant"] | None
    """When the fencing token is drawn: when the request arrives, so that waiters have theirs, or when it is granted.
    None: there is no fencing, `grant.token` is None, and `vez.fence` refuses it. Terms of elections are drawn when a
    leader is elected."""
    cycles: Literal["all", "process"] | None
    """Whose cycles of waits are refused: those of all who take part, only those within one process, or none."""
    lease_seconds: float | None = None
    """The lease of a request that names none; None without leases."""
    chosen_leases: bool = True
    """True if a request may name its own lease, where leases free the locks of the dead."""
    queue_visible: bool = True
    """True if `inspect` shows the waiters, and waiters know their position."""
    stays: Literal["all", "present"] | None = "all"
    """Whose stays make the mean stay and the estimated waits: all that have ended, or those that the holders and
    waiters of the moment have had themselves before. None: neither is known."""
    order: Literal["all", "vez"] | None = "all"
    """First come, first served: among all programs that use the name, or only among those that use vez. None: only
    among the threads and tasks of one program."""
    transfer: bool = True
    """True if a leader can choose the next one."""
    lifeline: bool = False
    """True if a child process can keep the lock when its parent is killed."""
    breaks: bool = True
    """True if a lock can be taken from its holders by force."""
    shared: bool = True
    semaphores: bool = True
    elections: bool = True
    locks: bool = True
    weights: bool = True
    """True if the heaviest candidate of an election wins; else the first."""
    notes: tuple[str, ...] = ()
    """What the engine does not tolerate, one plain sentence each."""


class Place(msgspec.Struct, frozen=True):
    """The position of a waiting request."""

    position: int
    """How many are before it, holders included. It only falls, but for one case: in an election with weights it rises
    by one when a heavier candidate comes, which would lead first."""
    estimated_seconds: float | None
    """Position times the recent mean of stays, less how long the first has held it. None if no stay has ended yet, or
    if the first has held it for longer than that."""
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


class Inspection(msgspec.Struct, frozen=True):
    """All that is known of one name."""

    name: str
    kind: Kind
    limit: int
    holders: tuple[Contestant, ...]
    queue: tuple[Contestant, ...]
    """Who waits, in the order of their positions: first come, first served; in an election the heaviest first."""
    last_token: int
    """The newest token issued; 0 when there was none."""
    mean_hold_seconds: float | None = None
    lease_seconds: float | None = None
    """How long the lock can stay held after a crash of the holder: the longest lease of those who hold it. None where
    the kernel frees it at once."""
    breaks: tuple[Break, ...] = ()


class Leader(msgspec.Struct, frozen=True):
    """The leader, as an observer sees it."""

    term: int
    pid: int
    host: str
    label: str
    since: float


Progress = Callable[[Place], None]
