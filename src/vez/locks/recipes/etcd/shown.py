"""The value of a key, which describes its owner, and the holders of a queue. Other programs may write any value."""

from __future__ import annotations

import msgspec

from vez.locks.recipes.etcd.operations import Entry

FORMAT = 1
"""Version of the values that vez writes."""


class Shown(msgspec.Struct, frozen=True, omit_defaults=True):
    """The value of a key of vez, as JSON."""

    vez: int = 0
    """Version of the format; 0 if vez did not write the value."""
    kind: str = ""
    host: str = ""
    pid: int = 0
    label: str = ""
    since: float = 0.0
    """Time of the request, in seconds since the epoch."""
    shared: bool = False
    limit: int = 1
    weight: int = 0
    grace_ms: int = 0
    arrived: int = 0
    """Create revision of the first key of a candidate that had to enter again; 0 if it had not."""
    stay: float = 0.0
    """Mean of this client's stays in the name, in seconds; 0 if none has ended."""
    inside: bool = False
    """True once the owner has noted its grant; only semaphores and elections do."""
    lease: int = 0
    """The requested lease in seconds; 0 if the value does not say, as in versions before this field."""


class Member(msgspec.Struct, frozen=True):
    """A request in the queue of a name."""

    entry: Entry
    shown: Shown | None
    """None for clients of other programs."""

    @property
    def arrived(self) -> int:
        """Create revision of its first key, which stays the same if it had to enter again."""
        return (self.shown.arrived if self.shown is not None else 0) or self.entry.create

    @property
    def shared(self) -> bool:
        """True for a shared lock. Clients of other programs have exclusive locks only."""
        return self.shown is not None and self.shown.shared


class OtherKind(Exception):
    """The name is in use as another kind; the argument says which."""


class OtherLimit(Exception):
    """The semaphore is in use with another limit, which is the argument."""


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Shown)


def encode(shown: Shown) -> str:
    """The value of a key."""
    return _encoder.encode(shown).decode()


def decode(value: str) -> Shown | None:
    """The decoded value; None if vez has not written it."""
    try:
        found = _decoder.decode(value)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    return found if found.vez else None


def changed(shown: Shown, **fields: object) -> Shown:
    """A copy with other values in these fields."""
    return msgspec.structs.replace(shown, **fields)


def member(entry: Entry) -> Member:
    """A request, as its key shows it."""
    return Member(entry, decode(entry.value))


def fits(entry: Entry | None, kind: str, limit: int = 1) -> None:
    """Raise if a request of the queue that we have joined is of another kind, or counts with another limit."""
    shown = None if entry is None else decode(entry.value)
    if shown is None:
        return
    if shown.kind != kind:
        raise OtherKind(shown.kind)
    if kind == "semaphore" and shown.limit != limit:
        raise OtherLimit(shown.limit)


def inside(kind: str, queue: tuple[Member, ...]) -> tuple[Member, ...]:
    """The holders of a queue, which is in the order of create revisions."""
    if not queue:
        return ()
    first = queue[0]
    if kind == "semaphore":
        return queue[: first.shown.limit if first.shown is not None else 1]
    if kind == "election":
        return (first,) if first.shown is None or first.shown.inside else ()
    if not first.shared:
        return (first,)
    readers = next((place for place, one in enumerate(queue) if not one.shared), len(queue))
    return queue[:readers]
