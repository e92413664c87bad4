"""Translate error replies of etcd into outcomes of a call and messages for the user."""

from __future__ import annotations

from typing import Any

import msgspec

from vez.errors import EngineUnavailable
from vez.locks.engines.etcd.codec import decoded
from vez.locks.engines.network.transport import WatchEnded
from vez.locks.recipes import Refused, Unknown

INVALID, NOT_FOUND, DENIED, EXHAUSTED, PRECONDITION, UNIMPLEMENTED, UNAUTHENTICATED = 3, 5, 7, 8, 9, 12, 16
"""gRPC status codes. All others (unavailable, deadline exceeded, internal …) leave the outcome unknown. etcd also
replies "unavailable" if the leader changed while a request was in progress."""
BAD_TOKEN = ("invalid auth token", "revision of auth store is old", "user name is empty")
SPACE = "database space exceeded"


class TokenExpired(Exception):
    """The server no longer accepts the token of our login. The call had no effect."""


class Stranger(EngineUnavailable):
    """The server at this port is not etcd."""


def verdict(status: int, body: bytes, where: str) -> Refused | Unknown:
    """Translate the HTTP status of a reply into a verdict. Raises if the same call would fail again."""
    code, text = _error(body)
    if code is None:
        raise stranger(where, f"it answered with status {status}")
    if any(sign in text for sign in BAD_TOKEN):
        raise TokenExpired(text)
    if code == DENIED:
        raise EngineUnavailable(
            f"etcd at {where} denies this: {text}", hint="the user needs read and write on the keys; see vez docs etcd"
        )
    if code == UNAUTHENTICATED:
        raise no_user(where, text)
    if SPACE in text:
        raise EngineUnavailable(f"etcd at {where} has no space left: {text}", hint="compact and defragment it")
    if code == UNIMPLEMENTED:
        raise stranger(where, text)
    if code in (INVALID, NOT_FOUND, PRECONDITION):
        return Refused(text)
    return Unknown(text)


def no_user(where: str, text: str) -> EngineUnavailable:
    """The error for a server that requires a user."""
    return EngineUnavailable(f"etcd at {where} asks for a user: {text}", hint="etcd://user:password@host:port")


def bad_login(status: int, body: bytes, where: str, user: str) -> EngineUnavailable | None:
    """The error for a login that was refused; None if the server could not decide."""
    code, text = _error(body)
    if code is None:
        return stranger(where, f"it answered with status {status}")
    if code in (INVALID, DENIED, UNAUTHENTICATED, PRECONDITION, NOT_FOUND):
        hint = "name no user in the URL" if "not enabled" in text else "check user and password"
        return EngineUnavailable(f"etcd at {where} refuses the user {user!r}: {text}", hint=hint)
    return None


def result(line: bytes) -> dict[str, Any]:
    """Parse one watch message. Raises `WatchEnded` if it says that the watch has ended."""
    try:
        message = decoded(line)
        found: dict[str, Any] = message.get("result") or {}
    except (msgspec.DecodeError, AttributeError) as error:
        raise WatchEnded(f"not a message of a watch: {error}") from error
    if "error" in message:
        raise WatchEnded(str(message["error"]))
    if found.get("canceled"):
        compacted = f"revision {found['compact_revision']} was compacted" if found.get("compact_revision") else ""
        raise WatchEnded(found.get("cancel_reason") or compacted or "the server ended it")
    return found


def stranger(where: str, what: str) -> Stranger:
    """The error for a server that is not etcd."""
    return Stranger(
        f"{where} does not speak etcd's protocol: {what}",
        hint="is this the client port of etcd (2379), with TLS (?tls=1) if it wants that?",
    )


def _error(body: bytes) -> tuple[int | None, str]:
    """The gRPC code and the text of an error; the code is None if the body is not an error of etcd's gateway."""
    try:
        found = decoded(body)
        inner = found["error"]
        if isinstance(inner, dict):  # in a stream
            return int(inner.get("grpc_code", 2)), str(inner.get("message", ""))
        return int(found["code"]), str(inner)
    except (msgspec.DecodeError, KeyError, TypeError, ValueError):
        return None, ""
