"""What a recipe yields, and what it is sent.

The rules for a recipe:

- It yields one of `Call`, `Wait`, `Proved`, `Lost`, and is sent the reply that stands beside it. `yield from` calls
  another.
- Its locals are immutable values, so that its whole state is its position and its locals.
- It reads no clock. Durations are constants or parameters; deadlines belong to the pump, which throws `Withdrawn`.
- `Withdrawn` may be thrown at any yield: the time is over, the task was cancelled, the client is closing. The recipe
  then undoes what it did, with further yields, and raises it again. It is thrown once.
- `Unknown` is not a failure: the call may have taken effect, may take effect later, or never. A recipe resolves it by
  asking again in a way that is right in all three cases. It never guesses.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

import msgspec


class Call(msgspec.Struct, frozen=True):
    """Ask the server. Sent: `Answer`, `Unknown` or `Refused`."""

    request: Any
    """An operation of the server, a frozen value."""


class Answer(msgspec.Struct, frozen=True):
    """The reply of the server."""

    value: Any


class Unknown(msgspec.Struct, frozen=True):
    """No reply came. The call may have taken effect, may still do so, or never."""

    why: str = ""


class Refused(msgspec.Struct, frozen=True):
    """The server said no: the call had no effect and will have none."""

    why: str = ""


class Wait(msgspec.Struct, frozen=True):
    """Wait for a change. Sent: `Changed`, `Elapsed` or `Unwatched`."""

    watch: Any = None
    """What to watch, a frozen value; None only waits."""
    seconds: float | None = None
    """Longest wait; None waits without limit."""


class Changed(msgspec.Struct, frozen=True):
    """Something happened to what is watched. Several events may have become one, so the recipe looks again."""

    events: tuple[Any, ...] = ()


class Elapsed(msgspec.Struct, frozen=True):
    """The time of a `Wait` is over."""


class Unwatched(msgspec.Struct, frozen=True):
    """The watch ended: its connection broke, or the server no longer has the history. Events may have been missed."""

    why: str = ""


class Proved(msgspec.Struct, frozen=True):
    """The last answered call proved the ownership for so long, counted from when that call was sent. Sent: None.

    The pump keeps the deadline and tells the loss when it passes, whatever the recipe is doing at that moment.
    """

    seconds: float


class Lost(msgspec.Struct, frozen=True):
    """Something that this client holds was taken from it. Sent: None. The pump tells its holder at once."""

    key: str
    """Which of the things that depend on the session."""
    why: str
    token: int | None = None
    """Of which grant: the word may come late, when the same client has the key again. None: whichever it has."""


Step = Call | Wait | Proved | Lost
Reply = Answer | Unknown | Refused | Changed | Elapsed | Unwatched | None

T = TypeVar("T")
Recipe = Generator[Step, Any, T]


class Withdrawn(Exception):
    """Thrown into a recipe: nobody waits for its result any more. It cleans up and raises it again."""


class Failed(Exception):
    """The server refused a call that a recipe cannot do without; the text is the server's."""


class SessionEnded(Exception):
    """The session is gone, and with it everything that depends on it."""


class Removed(SessionEnded):
    """Somebody has removed the request; the session may still be there."""
