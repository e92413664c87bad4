"""Commands: what a shell may ask of a table."""

from __future__ import annotations

import msgspec


class Enlist(msgspec.Struct, frozen=True, gc=False, tag=True):
    """A client asks for the name. Answered by `Granted`, `Queued` or, if it does not wait, `Refused`."""

    client: int
    """Whose crash takes the request along. One client may have several requests."""
    shared: bool = False
    """Locks: together with others that are shared."""
    limit: int = 1
    """Semaphores: how many may hold it at once. The first request after everybody has left decides."""
    weight: int = 0
    """Elections: the heaviest candidate wins."""
    grace_ms: int = 0
    """How long others must wait for it after it was broken by force."""
    label: str = ""
    """How it is shown to others; a leadership is transferred to a label."""
    wait: bool = True
    """False: do not queue."""


class Leave(msgspec.Struct, frozen=True, gc=False, tag=True):
    """A request ends: a release, a withdrawal, or the answer to a loss."""

    number: int


class Break(msgspec.Struct, frozen=True, gc=False, tag=True):
    """Take it from its holders by force. No effect if nobody holds it."""

    reason: str
    by: str = ""


class Transfer(msgspec.Struct, frozen=True, gc=False, tag=True):
    """The leader makes the first candidate with this label leader, at once and with a new term."""

    number: int
    to: str


class Crash(msgspec.Struct, frozen=True, gc=False, tag=True):
    """A client is gone: all its requests leave. No effect if it has none."""

    client: int


class Tick(msgspec.Struct, frozen=True, gc=False, tag=True):
    """Time has passed."""


Command = Enlist | Leave | Break | Transfer | Crash | Tick
