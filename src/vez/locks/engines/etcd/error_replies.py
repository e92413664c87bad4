"""Translate error replies of etcd into outcomes of a call and messages for the user."""

from __future__ import annotations

from vez.errors import EngineUnavailable
from vez.locks.engines.etcd.replies import NotEtcd, Watched, WatchLine, read, read_failure, said
from vez.locks.engines.network.transport import WatchEnded
from vez.locks.recipes import Refused, Unknown

INVALID, NOT_FOUND, DENIED, EXHAUSTED, PRECONDITION, UNIMPLEMENTED, UNAUTHENTICATED = 3, 5, 7, 8, 9, 12, 16
"""gRPC status codes. All others (unavailable, deadline exceeded, internal …) leave the outcome unknown. etcd also
replies "unavailable" if the leader changed while a request was in progress."""
BAD_TOKEN = ("invalid auth token", "revision of auth store is old", "user name is empty")
ENDED = "the server ended it"
SPACE = "database space exceeded"


class TokenExpired(Exception):
    """The server no longer accepts the token of our login. The call had no effect."""


class Stranger(EngineUnavailable):
    """The server at this port is not etcd."""


def verdict(status: int, body: bytes, where: str) -> Refused | Unknown:
    """Translate the HTTP status of a reply into a verdict. Raises if the same call would fail again."""
    code, text = read_failure(body)
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
    code, text = read_failure(body)
    if code is None:
        return stranger(where, f"it answered with status {status}")
    if code in (INVALID, DENIED, UNAUTHENTICATED, PRECONDITION, NOT_FOUND):
        hint = "name no user in the URL" if "not enabled" in text else "check user and password"
        return EngineUnavailable(f"etcd at {where} refuses the user {user!r}: {text}", hint=hint)
    return None


def result(line: bytes) -> Watched:
    """Parse one watch message. Raises `WatchEnded` if it says that the watch has ended, and `NotEtcd`."""
    message = read(WatchLine, line)
    if message.error is not None:
        text = message.error if isinstance(message.error, str) else message.error.message
        raise WatchEnded(said(text) or ENDED)
    found = message.result
    if found is None:
        raise NotEtcd("expected a result or an error, found neither")
    if found.canceled:
        compacted = f"revision {found.compact_revision} was compacted" if found.compact_revision else ""
        raise WatchEnded(said(found.cancel_reason) or compacted or ENDED)
    return found


def stranger(where: str, what: str) -> Stranger:
    """The error for a server that is not etcd."""
    return Stranger(
        f"{where} does not speak etcd's protocol: {what}",
        hint="is this the client port of etcd (2379), with TLS (?tls=1) if it wants that?",
    )


def not_etcd(where: str, error: NotEtcd) -> Stranger:
    """The error for a reply of another shape than etcd's."""
    return stranger(where, f"a reply that is not etcd's ({error})")
