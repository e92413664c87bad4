"""Operations of etcd's key-value, lease and watch services, and their replies, as frozen values.

There are only the operations that the recipes need. The transport turns them into requests of the JSON gateway; the
model of the checker executes them directly. Keys and values are text.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Order = Literal["", "oldest first", "newest first"]


class Compare(msgspec.Struct, frozen=True):
    """A condition of a transaction: an attribute of a key equals a number. All attributes of a missing key are 0."""

    key: str
    attribute: Literal["create", "mod", "version"]
    equals: int


class Put(msgspec.Struct, frozen=True):
    """Write a key."""

    key: str
    value: str
    lease: int = 0


class Delete(msgspec.Struct, frozen=True):
    """Remove a key, or all keys from `key` up to, but not including, `end`."""

    key: str
    end: str = ""


class Get(msgspec.Struct, frozen=True):
    """Read a key, or all keys from `key` up to, but not including, `end`, ordered by create revision."""

    key: str
    end: str = ""
    order: Order = ""
    limit: int = 0
    created_before: int = 0
    """Only keys with a smaller create revision; 0 for all."""


class Txn(msgspec.Struct, frozen=True):
    """A transaction: all of `then` if every condition is true, else all of `otherwise`, in one step."""

    conditions: tuple[Compare, ...]
    then: tuple[Put | Delete | Get, ...] = ()
    otherwise: tuple[Put | Delete | Get, ...] = ()


class LeaseGrant(msgspec.Struct, frozen=True):
    """Make a lease with a number that the client chooses, so that the request can be repeated."""

    lease: int
    seconds: int


class KeepAlive(msgspec.Struct, frozen=True):
    """Renew a lease."""

    lease: int


class Revoke(msgspec.Struct, frozen=True):
    """End a lease; its keys are removed."""

    lease: int


class Watch(msgspec.Struct, frozen=True):
    """Watch the changes of a key, or of a range, from a revision on."""

    key: str
    start: int
    end: str = ""
    late: float = 0.0
    """Seconds by which a change from before the start of the watch may be reported late; only for a single key."""


class Entry(msgspec.Struct, frozen=True):
    """A key, as it was read."""

    key: str
    value: str
    create: int
    mod: int
    lease: int = 0


class Written(msgspec.Struct, frozen=True):
    """Reply to `Put` and `Delete`: number of removed keys."""

    removed: int = 0


class Found(msgspec.Struct, frozen=True):
    """Reply to `Get`."""

    entries: tuple[Entry, ...] = ()


class TxnDone(msgspec.Struct, frozen=True):
    """Reply to `Txn`. `revision` is the revision of the store after it."""

    succeeded: bool
    replies: tuple[Written | Found, ...]
    revision: int


class LeaseFor(msgspec.Struct, frozen=True):
    """Reply to `LeaseGrant` and `KeepAlive`: seconds until the lease ends; 0 if there is no such lease."""

    seconds: int


class Event(msgspec.Struct, frozen=True):
    """A change of a watched key. `entry` is None if it was removed."""

    key: str
    revision: int
    entry: Entry | None = None


Request = Txn | LeaseGrant | KeepAlive | Revoke


EVERYTHING = "\0"
"""The end of a range that begins with the empty key and contains all keys."""


LAST_CHARACTER = "\U0010ffff"
SURROGATES = "\ud800", "\ue000"
"""The first surrogate, and the first character after the surrogates. Surrogates cannot be encoded."""


def prefix_end(prefix: str) -> str:
    """The end of the range of all keys with a prefix. UTF-8 keeps the order of characters."""
    rest = prefix.rstrip(LAST_CHARACTER)
    if not rest:
        return EVERYTHING
    after = chr(ord(rest[-1]) + 1)
    return rest[:-1] + (SURROGATES[1] if after == SURROGATES[0] else after)
