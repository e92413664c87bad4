"""Commands that a shell passes to a table."""

from __future__ import annotations

import msgspec


class Enlist(msgspec.Struct, frozen=True, gc=False, tag=True):
    """A client asks for the name. Answered by `Granted`, `Queued` or, if it does not wait, `Refused`."""

    client: int
    """The client whose crash ends the request. One client may have several requests."""
    shared: bool = False
    """Locks: True if the request may hold the name together with other shared requests."""
    limit: int = 1
    """Semaphores: largest number of holders. The first request after everybody has left decides."""
    weight: int = 0
    """Elections: the heaviest candidate wins."""
    grace_ms: int = 0
    """After a forced release: time in ms that the holder has to leave before others are granted."""
    label: str = ""
    """The name that others see. `Transfer` names a candidate by its label."""
    wait: bool = True
    """False if the request does not queue."""


class Leave(msgspec.Struct, frozen=True, gc=False, tag=True):
    """A request ends: a release, a withdrawal, or the answer to a loss."""

    number: int


class Break(msgspec.Struct, frozen=True, gc=False, tag=True):
    """Take the name from its holders by force. No effect if nobody holds it."""

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
