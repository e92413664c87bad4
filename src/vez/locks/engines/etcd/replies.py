"""Replies: the JSON texts of etcd's gateway, as far as they are read. No I/O.

A text of another shape is refused with the shape that was expected and the one that was found, so a server that is not
etcd, or is hostile, causes a plain error. Keys and values are base64, 64-bit numbers are text, and fields that are 0,
false or empty are left out.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

T = TypeVar("T")
Whole = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
Signed = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
Unsigned = Annotated[int, Meta(ge=0)]
"""Up to 64 bits, which is more than a limit of msgspec can be."""
LONGEST = 300
"""Most characters of a server's text in an error message."""

NO_REASON = "it gave no reason"


class NotEtcd(ValueError):
    """A reply that etcd could not have written. The text says what was expected and what was found."""


class Header(Struct):
    """The header that every reply has."""

    revision: Whole
    member_id: Unsigned = 0


class KeyValue(Struct):
    """A key, as it was read. In the event of a removal it has only the key and the revision."""

    key: bytes
    mod_revision: Whole
    create_revision: Whole = 0
    value: bytes = b""
    lease: Signed = 0


class Range(Struct):
    """The result of a read."""

    kvs: tuple[KeyValue, ...] = ()


class RangeReply(Range, kw_only=True):
    """The reply to a read."""

    header: Header


class Deleted(Struct):
    """The result of a removal."""

    deleted: Whole = 0


class Result(Struct):
    """The result of one operation of a transaction; one field is set."""

    response_range: Range | None = None
    response_put: dict[str, Any] | None = None
    response_delete_range: Deleted | None = None


class TxnReply(Struct):
    """The reply to a transaction."""

    header: Header
    succeeded: bool = False
    responses: tuple[Result, ...] = ()


class LeaseReply(Struct):
    """The reply to a request about a lease. A renewal of a lease that is gone has no TTL."""

    header: Header
    ID: Signed = 0
    TTL: Signed = 0


class Renewal(Struct):
    """The reply to a renewal, one message of a stream."""

    result: LeaseReply


class HeaderOnly(Struct):
    """A reply of which only the header is read."""

    header: Header


class Login(Struct):
    """The reply to a login."""

    header: Header
    token: str = ""


class WatchHeader(Struct):
    """The header of a message of a watch."""

    revision: Whole = 0


class Change(Struct):
    """An event of a watch."""

    kv: KeyValue
    type: str = "PUT"


class Watched(Struct):
    """A message of a watch. One that ends it has no revision."""

    header: WatchHeader
    created: bool = False
    canceled: bool = False
    compact_revision: Whole = 0
    cancel_reason: str = ""
    events: tuple[Change, ...] = ()


class Failure(Struct):
    """An error in a stream."""

    grpc_code: int = 2
    message: str = ""


class WatchLine(Struct):
    """A line of a watch: a message, or an error."""

    result: Watched | None = None
    error: str | Failure | None = None


class Status(Struct):
    """The state of a member, for `vez doctor`."""

    header: Header
    version: str = "of an unknown version"
    leader: Unsigned = 0
    dbSize: Whole = 0


class Member(Struct):
    """A member of the cluster."""

    isLearner: bool = False


class Members(Struct):
    """The members of the cluster; none if this user may not list them."""

    members: tuple[Member, ...] = ()


class Alarm(Struct):
    """An alarm of the cluster."""

    alarm: str = "?"


class Alarms(Struct):
    """The alarms of the cluster."""

    alarms: tuple[Alarm, ...] = ()


class _ErrorReply(Struct):
    error: str | Failure
    code: int | None = None


_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}


def read(kind: type[T], text: bytes) -> T:
    """Parse a JSON text as a value of this class. Raises `NotEtcd`."""
    decoder = _decoders.get(kind) or _decoders.setdefault(kind, msgspec.json.Decoder(kind, strict=False))
    try:
        return decoder.decode(text)  # type: ignore[no-any-return]  # the decoder of that class
    except RecursionError:
        raise NotEtcd("it is nested too deeply") from None
    except UnicodeDecodeError:
        raise NotEtcd("it is not text in UTF-8") from None
    except msgspec.DecodeError as error:
        raise NotEtcd(str(error)) from None


def read_failure(body: bytes) -> tuple[int | None, str]:
    """The gRPC code and the text of an error; the code is None if the body is not an error of etcd's gateway."""
    try:
        found = read(_ErrorReply, body)
    except NotEtcd:
        return None, ""
    if isinstance(found.error, Failure):  # in a stream
        return found.error.grpc_code, said(found.error.message) or NO_REASON
    return found.code, said(found.error) or NO_REASON


def said(text: str) -> str:
    """A text of a server, made safe for a terminal."""
    return "".join(one if one.isprintable() else "?" for one in text[:LONGEST])
