"""Effects: what the shell owes to whom after a command, in the order in which it owes them.

Who is granted or lost is woken. The answer to an `Enlist` is the effect with its number; it is the only one that names
a request which did not exist before.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Why = Literal["broken", "transferred"]


class Granted(msgspec.Struct, frozen=True, gc=False, tag=True):
    """This request holds the name from now on."""

    number: int
    token: int
    """The fencing token; the term of a leader."""


class Queued(msgspec.Struct, frozen=True, gc=False, tag=True):
    """This request waits."""

    number: int
    position: int
    """How many are before it, holders included."""


class Refused(msgspec.Struct, frozen=True, gc=False, tag=True):
    """The name is not free, and the request does not wait. Nothing is left of it."""


class Lost(msgspec.Struct, frozen=True, gc=False, tag=True):
    """This holder has lost it, and is told before others are granted."""

    number: int
    why: Why
    ends_ns: int
    """Until when others are kept from it, unless it leaves before."""


class Vacant(msgspec.Struct, frozen=True, gc=False, tag=True):
    """The election has no leader any more, and no candidate."""


class Alarm(msgspec.Struct, frozen=True, gc=False, tag=True):
    """A grace ends at this time: a `Tick` is due then. The answer to a `Break` and to a `Tick` while graces last."""

    at_ns: int


Effect = Granted | Queued | Refused | Lost | Vacant | Alarm
