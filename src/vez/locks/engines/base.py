"""The values that go into an engine and come out of it; `seam.py` has the interfaces.

Arguments are defined here, results in `views.py`, which is loaded at the first use of one of its names.
"""

# Annotations are not text here: NamedTuple and TypedDict would compile each of them when the module is imported.
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from vez.locks.engines.views import Break, Contestant, Done, Inspection, Leader, Place

__all__ = [
    "DEFAULT_GRACE_MS",
    "MAX_GRACE_MS",
    "MAX_LABEL",
    "Break",
    "Contestant",
    "Done",
    "Inspection",
    "Kind",
    "Leader",
    "Place",
    "Progress",
    "Request",
    "Token",
    "Traits",
]

Kind = Literal["lock", "semaphore", "election"]
Token = int | Any
"""The token of a grant, as programs see it: None where the engine gives no fencing (`Traits.token`). Written in this
way, as typeshed does, since having to ask for None would burden every program that uses an engine with fencing."""

MAX_LABEL = 48
"""Largest label in bytes. A label is the text by which others recognise a holder or waiter."""
DEFAULT_GRACE_MS = 0
"""Milliseconds that a forced release waits for the holder to release. A holder that must end a child asks for more."""
MAX_GRACE_MS = 3_600_000
"""Longest grace that a holder may ask for."""


class Request(NamedTuple):
    """A request of a client to an engine."""

    name: str
    kind: Kind = "lock"
    shared: bool = False
    limit: int = 1
    """Largest number of holders at once; more than 1 only for semaphores."""
    weight: int = 0
    """In an election the heaviest candidate wins; among equals the first."""
    grace_ms: int = DEFAULT_GRACE_MS
    label: str = ""
    lease_ms: int | None = None
    """Lease of this request, where leases free the locks of the dead; None: the engine's default."""


class Traits(NamedTuple):
    """Abilities of an engine. Clients, the conformance suite and the documentation read them; nothing is faked."""

    frees: Literal["kernel", "lease", "process", "members"] | None
    """The event that frees the lock of a dead holder: the kernel at once, the end of its lease, the end of the process
    in which everything is, or the members of its group when they notice. None: nothing does, and the others wait."""
    reaches: Literal["process", "machine", "network"]
    """Possible participants: the threads and tasks of one process, all processes of one machine, or many machines."""
    token: Literal["arrival", "grant"] | None
    """The moment at which the fencing token is drawn: when the request arrives, so that waiters have theirs, or when it
    is granted.
    None: there is no fencing, `grant.token` is None, and `vez.fence` refuses it. Terms of elections are drawn when a
    leader is elected."""
    cycles: Literal["all", "process"] | None
    """The cycles of waits that are refused: among all who take part, only within one process, or none."""
    lease_seconds: float | None = None
    """The lease of a request that names none; None without leases."""
    chosen_leases: bool = True
    """True if a request may name its own lease, where leases free the locks of the dead."""
    queue_visible: bool = True
    """True if `inspect` shows the waiters, and waiters know their position."""
    stays: Literal["all", "present"] | None = "all"
    """The stays that make the mean stay and the estimated waits: all that have ended, or those that the present holders
    and waiters have had themselves before. None: neither is known."""
    order: Literal["all", "vez"] | None = "all"
    """First come, first served: among all programs that use the name, or only among those that use vez. None: only
    among the threads and tasks of one program."""
    transfer: bool = True
    """True if a leader can choose the next one."""
    lifeline: bool = False
    """True if a child process can keep the lock when its parent is killed."""
    breaks: bool = True
    """True if a lock can be taken from its holders by force."""
    memos: bool = False
    """True if a name can have a memo, which stays when its holder has left (`Engine.memo`)."""
    shared: bool = True
    semaphores: bool = True
    elections: bool = True
    locks: bool = True
    weights: bool = True
    """True if the heaviest candidate of an election wins; else the first."""
    notes: tuple[str, ...] = ()
    """Faults that the engine does not tolerate, one plain sentence each."""


Progress = Callable[["Place"], None]


def __getattr__(name: str) -> Any:
    """Load `views.py`. Signals wait meanwhile: a request may be in the queue by now, and an interrupt that strikes the
    initialisation of msgspec, which is written in C, would be lost."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import signal

    blocks = hasattr(signal, "pthread_sigmask")  # not on every system
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM)) if blocks else set()
    try:
        from vez.locks.engines import views

        globals().update(
            {name: vars(views)[name] for name in ("Break", "Contestant", "Done", "Inspection", "Leader", "Place")}
        )
    finally:
        if blocks:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return globals()[name]
