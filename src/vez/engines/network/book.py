"""A book: the recipes of one server, as the engines use them. Sessions and seats are opaque values of the recipes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Protocol

import msgspec

from vez.engines.base import Break, Contestant, Inspection, Kind, Leader, Request, Traits
from vez.recipes import Recipe


class Me(msgspec.Struct, frozen=True):
    """Who asks, for others to see."""

    host: str
    pid: int
    at: float
    """Seconds since the epoch."""
    number: int = 0
    """Chosen at random: names what is written once."""
    stay: float = 0.0
    """Mean of the stays that its client has had in the name, in seconds; 0 if none has ended."""


class Granted(msgspec.Struct, frozen=True):
    """A request that was granted."""

    token: int | None
    seat: Any
    """What `leave` and `transfer` need."""


class Standing(msgspec.Struct, frozen=True):
    """Where a waiting request stands."""

    position: int
    """How many are before it, holders included."""
    holder: Contestant | None
    mean: float | None
    """Mean stay, as those in the queue have seen it; None if nobody has."""


class Seen(msgspec.Struct, frozen=True):
    """What an observer has seen of an election."""

    leader: Leader | None
    mark: Any
    """Where to go on."""


class Book(Protocol):
    """The recipes of a server."""

    traits: Traits

    @property
    def identity(self) -> Hashable:
        """Where the names are: the same for all clients that share them."""

    def check(self, request: Request) -> None:
        """Raise `Misuse` if the server cannot keep this name."""

    def lease_seconds(self, request: Request) -> float:
        """The lease of a request, as the server will keep it."""

    def open_session(self, number: int, seconds: float, me: Me) -> Recipe[Any]:
        """Make a session. The number is random."""

    def keep(self, session: Any, seconds: float) -> Recipe[str]:
        """Renew a session until it is gone; the reason."""

    def close_session(self, session: Any) -> Recipe[None]:
        """End a session."""

    def unopened(self, number: int) -> Any:
        """A session of which it is not known whether it was made, for `close_session`."""

    def key(self, request: Request) -> str:
        """What a session can be used for once at a time; also the key of `Lost`."""

    def acquire(self, session: Any, request: Request, me: Me, *, wait: bool) -> Recipe[Granted | None]:
        """Wait until granted. None if `wait` is false and it is not free."""

    def leave(self, session: Any, request: Request, granted: Granted | None) -> Recipe[str | None]:
        """Release; None, or why it was taken from us before ("" if that was not recorded). Without `granted` it is not
        known whether it was ever asked for."""

    def transfer(self, session: Any, request: Request, granted: Granted, to: str, me: Me) -> Recipe[int]:
        """Make the candidate with this label leader; its term."""

    def place(self, session: Any, request: Request) -> Recipe[Standing | None]:
        """Where a waiting request stands; None if it does not wait."""

    def inspect(self, name: str, kind: Kind) -> Recipe[Inspection]:
        """Holders, queue and forced releases of a name."""

    def names(self, prefix: str, kind: Kind) -> Recipe[list[str]]:
        """All names in use that begin with the prefix, sorted."""

    def prune(self, prefix: str) -> Recipe[int]:
        """Forget idle names; how many."""

    def break_lock(self, name: str, reason: str, kind: Kind, me: Me) -> Recipe[Break | None]:
        """Take it from its holders by force."""

    def observe(self, name: str, seen: Seen | None) -> Recipe[Seen]:
        """The leader now; or, after `seen`, the next change."""
