"""Effects of a command, which the shell carries out in their order.

The shell wakes the client of a `Granted` or a `Lost`. The answer to an `Enlist` is the effect with its number; it is
the only effect that names a request which did not exist before.
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
    """Number of requests before it, holders included."""


class Refused(msgspec.Struct, frozen=True, gc=False, tag=True):
    """The name is not free, and the request does not wait. The request is not in the table."""


class Lost(msgspec.Struct, frozen=True, gc=False, tag=True):
    """This holder has lost the name, and is told before others are granted."""

    number: int
    why: Why
    ends_ns: int
    """End of the grace: others are not granted before, unless the holder leaves earlier."""


class Vacant(msgspec.Struct, frozen=True, gc=False, tag=True):
    """The election no longer has a leader, and has no candidates."""


class Alarm(msgspec.Struct, frozen=True, gc=False, tag=True):
    """A grace ends at this time: a `Tick` is due then. The answer to a `Break` and to a `Tick` while graces last."""

    at_ns: int


Effect = Granted | Queued | Refused | Lost | Vacant | Alarm
