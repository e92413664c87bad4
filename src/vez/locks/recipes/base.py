"""The values that a recipe yields, and the values that it is sent.

The rules for a recipe:

- It yields one of `Call`, `Wait`, `Proved`, `Lost`, and is sent one of the replies that the class names. It calls
  another recipe with `yield from`.
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
    """No reply came. The call may have taken effect, may take effect later, or may never do so."""

    why: str = ""


class Refused(msgspec.Struct, frozen=True):
    """The server refused the call, which had no effect and will have none."""

    why: str = ""


class Wait(msgspec.Struct, frozen=True):
    """Wait for a change. Sent: `Changed`, `Elapsed` or `Unwatched`."""

    watch: Any = None
    """The watch, a frozen value; None to wait only for the time."""
    seconds: float | None = None
    """Longest wait; None waits without limit."""


class Changed(msgspec.Struct, frozen=True):
    """The watched keys changed. Several events may have become one, so the recipe looks again."""

    events: tuple[Any, ...] = ()


class Elapsed(msgspec.Struct, frozen=True):
    """The time of a `Wait` is over."""


class Unwatched(msgspec.Struct, frozen=True):
    """The watch ended: its connection broke, or the server no longer has the history. Events may have been missed."""

    why: str = ""


class Proved(msgspec.Struct, frozen=True):
    """The last answered call proved the ownership for `seconds`, counted from the time when that call was sent. Sent:
    None.

    The pump keeps the deadline and reports the loss when it passes, whatever the recipe is doing at that moment.
    """

    seconds: float


class Lost(msgspec.Struct, frozen=True):
    """A holding of this client was taken from it. Sent: None. The pump tells its holder at once."""

    key: str
    """The holding, among those that depend on the session."""
    why: str
    token: int | None = None
    """The token of the lost grant. The notice may come late, when the same client has the key again. None means the
    current grant, whichever it is."""


Step = Call | Wait | Proved | Lost
Reply = Answer | Unknown | Refused | Changed | Elapsed | Unwatched | None

T = TypeVar("T")
Recipe = Generator[Step, Any, T]


class Withdrawn(Exception):
    """Thrown into a recipe whose result is no longer needed. The recipe cleans up and raises it again."""


class Failed(Exception):
    """The server refused a call that the recipe needs; the text is the server's."""


class SessionEnded(Exception):
    """The session is gone, and with it everything that depends on it."""


class Removed(SessionEnded):
    """Somebody has removed the request; the session may still be there."""
