"""The recipes of one server, as the engines use them. Sessions and seats are opaque values of the recipes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Protocol

import msgspec

from vez.locks.engines.base import Break, Contestant, Inspection, Kind, Leader, Request, Traits
from vez.locks.recipes import Recipe


class Me(msgspec.Struct, frozen=True):
    """Description of a client, which others can see."""

    host: str
    pid: int
    at: float
    """Time of the request, in seconds since the epoch."""
    number: int = 0
    """Random number that makes records unique."""
    stay: float = 0.0
    """Mean of this client's stays in the name, in seconds; 0 if none has ended."""


class Granted(msgspec.Struct, frozen=True):
    """A request that was granted."""

    token: int | None
    seat: Any
    """The value that `leave` and `transfer` need."""


class Standing(msgspec.Struct, frozen=True):
    """The position of a waiting request."""

    position: int
    """Number of requests before it, holders included."""
    holder: Contestant | None
    mean: float | None
    """Mean stay in seconds, from the values that the clients in the queue published; None if none did."""


class Seen(msgspec.Struct, frozen=True):
    """A state of an election, as an observer has seen it."""

    leader: Leader | None
    mark: Any
    """The point from which to continue."""


class RecipeSet(Protocol):
    """The recipes of a server."""

    traits: Traits

    @property
    def identity(self) -> Hashable:
        """Identifies the server and the namespace. Equal for all clients that share the names."""

    def check(self, request: Request) -> None:
        """Raise `Misuse` if the server cannot keep this name."""

    def lease_seconds(self, request: Request) -> float:
        """The lease of a request, as the server will keep it."""

    def open_session(self, number: int, seconds: float, me: Me) -> Recipe[Any]:
        """Open a session. The number is random."""

    def keep(self, session: Any, seconds: float) -> Recipe[str]:
        """Renew a session until it ends. Returns the reason."""

    def close_session(self, session: Any) -> Recipe[None]:
        """End a session."""

    def unopened(self, number: int) -> Any:
        """A session that may or may not have been opened, for `close_session`."""

    def key(self, request: Request) -> str:
        """The key of a request in `Session.users` and in `Lost`. A session serves one request of each key at a time."""

    def acquire(self, session: Any, request: Request, me: Me, *, wait: bool) -> Recipe[Granted | None]:
        """Wait until granted. None if `wait` is false and it is not free."""

    def leave(self, session: Any, request: Request, granted: Granted | None) -> Recipe[str | None]:
        """Release. Returns None, or the reason if it was taken from us before ("" if none was recorded). If `granted`
        is None, it is not known whether the request was ever written."""

    def transfer(self, session: Any, request: Request, granted: Granted, to: str, me: Me) -> Recipe[int]:
        """Make the candidate with this label leader. Returns its term."""

    def place(self, session: Any, request: Request) -> Recipe[Standing | None]:
        """The position of a waiting request; None if it does not wait."""

    def inspect(self, name: str, kind: Kind) -> Recipe[Inspection]:
        """Holders, queue and forced releases of a name."""

    def names(self, prefix: str, kind: Kind) -> Recipe[list[str]]:
        """All names in use that begin with the prefix, sorted."""

    def prune(self, prefix: str) -> Recipe[int]:
        """Forget idle names, and return their number."""

    def memo(self, name: str, kind: Kind) -> Recipe[str | None]:
        """The memo of a name, or None."""

    def write_memo(self, name: str, text: str | None, token: int, kind: Kind) -> Recipe[None]:
        """Replace the memo of a name; None removes it. Raises `StaleToken` if it was written with a higher token."""

    def break_lock(self, name: str, reason: str, kind: Kind, me: Me) -> Recipe[Break | None]:
        """Release by force, and record the reason. None if nobody holds it."""

    def observe(self, name: str, seen: Seen | None) -> Recipe[Seen]:
        """The present leader; or, after `seen`, the next change."""
