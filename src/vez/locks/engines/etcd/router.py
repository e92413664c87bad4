"""Router: selects the member of the cluster for a call, and keeps idle connections and the login token. No I/O.

All calls go to one member while it answers. After a failure the next member is used, so that the loss of a member costs
one call. Connections are reused, newest first.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

import msgspec

from vez.locks.engines.etcd.address import Address, Endpoint
from vez.locks.engines.etcd.certificates import Certificates
from vez.locks.engines.etcd.codec import Codec
from vez.locks.engines.etcd.error_replies import (
    Stranger,
    TokenExpired,
    bad_login,
    no_user,
    not_etcd,
    stranger,
    verdict,
)
from vez.locks.engines.etcd.failures import advice_on_tls
from vez.locks.engines.etcd.replies import Login, NotEtcd, read
from vez.locks.engines.network.transport import Unreachable
from vez.locks.recipes import Answer, Refused, Unknown
from vez.locks.recipes.etcd.operations import Request

C = TypeVar("C")


class Watched(Protocol):
    """An open watch."""

    @property
    def endpoint(self) -> Endpoint:
        """The member that serves the watch."""

    def interrupt(self) -> None:
        """End the watch. Any thread may call it."""


MOST_IDLE = 16
"""Largest number of idle connections. Each thread or task that calls at the same time uses one connection."""
SHORTEST = 0.001
"""Shortest timeout of a call, in seconds. A call is sent even if no time is left."""
UNREAD = "the files that the URL names could not be read in time"
CONNECT_SECONDS = 2.0
"""Longest wait for one member to accept a connection; then the next one is tried."""
HUNG = 0.5
"""Seconds of silence after which a member counts as hung. Its watches are then ended too."""


def until(end: float, parts: int = 1) -> float:
    """An equal part of the seconds that are left until `end`, for a step that must have some time in any case."""
    return max(SHORTEST, (end - time.monotonic()) / parts)


class Router(Generic[C]):
    """The state that the transports for threads and for tasks share."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.codec = Codec(address.namespace)
        self.certificates: Certificates | None = None
        """The certificates; None until they are read, and without TLS."""
        self._password = ""
        self.token = ""
        """Token of our login; empty before the first login, and after the token has expired."""
        self.contacted = False
        self.closed = False
        self._current = 0
        self._strangers: set[Endpoint] = set()
        self._answered: set[Endpoint] = set()
        self._cut_off = False  # a connection was closed before the first reply
        self._idle: list[tuple[Endpoint, C]] = []
        self.streams: set[Watched] = set()
        """The open watches. A stream adds itself when it starts and removes itself when it is closed."""

    def read_files(self) -> None:
        """Read the password and the certificates from the files that the URL names. May block."""
        self._password = self.address.password()
        if self.address.tls:
            self.certificates = Certificates(self.address)

    def endpoints(self) -> list[Endpoint]:
        """All members, the one in use first."""
        known = self.address.endpoints
        return [known[(self._current + step) % len(known)] for step in range(len(known))]

    def within(self, end: float) -> Iterator[tuple[Endpoint, float]]:
        """All members, the one in use first, each with the seconds in which it must accept a connection. The time until
        `end` is divided equally among those that are left."""
        endpoints = self.endpoints()
        for number, endpoint in enumerate(endpoints):
            yield endpoint, until(end, len(endpoints) - number)

    def failed(self, endpoint: Endpoint, seconds: float = HUNG) -> None:
        """Note that a member did not answer for `seconds`, and use the next one. After a long silence its watches are
        interrupted too, because they may stay silent for ever."""
        known = self.address.endpoints
        if known[self._current % len(known)] == endpoint:
            self._current = (self._current + 1) % len(known)
        if seconds >= HUNG:
            for stream in list(self.streams):
                if stream.endpoint == endpoint:
                    stream.interrupt()

    def unanswered(self, why: str, *, cut_off: bool) -> Unknown:
        """The reply for a call without an answer. A server that requires TLS may close a plain connection at once, so
        the text suggests TLS in this case."""
        self._cut_off = self._cut_off or cut_off  # later attempts may only time out
        plain = self._cut_off and not self.contacted and not self.address.tls
        return Unknown(f"{why}; if it speaks TLS, the URL needs tls=1" if plain else why)

    def share(self, endpoint: Endpoint, seconds: float) -> float:
        """The part of `seconds` for which this member may be silent. Until a member has answered once, the time is
        divided equally among all members."""
        known = self.address.endpoints
        return seconds if endpoint in self._answered else seconds / len(known)

    def strange(self, endpoint: Endpoint, error: Exception) -> Unknown:
        """Note that a member sent a reply that is not etcd's, and use the next one. Raises `Stranger` if all members
        sent such replies and none has ever answered as etcd does."""
        self.failed(endpoint)
        self._strangers.add(endpoint)
        if self.contacted or not self._strangers.issuperset(self.address.endpoints):
            return Unknown(error.message if isinstance(error, Stranger) else str(error))
        raise error if isinstance(error, Stranger) else stranger(str(endpoint), str(error))

    def take(self, endpoint: Endpoint) -> C | None:
        """Remove and return an idle connection to this member; None if there is none."""
        for pair in reversed(list(self._idle)):
            if pair[0] == endpoint:
                try:
                    self._idle.remove(pair)
                except ValueError:  # another thread took it
                    continue
                return pair[1]
        return None

    def keep(self, endpoint: Endpoint, connection: C) -> bool:
        """Keep a connection for later calls. False if the caller must close it: enough are kept, or the client is
        closed."""
        pair = (endpoint, connection)
        self._idle.append(pair)
        if not self.closed and len(self._idle) <= MOST_IDLE:
            return True
        try:
            self._idle.remove(pair)
        except ValueError:  # another thread took it, or closes it
            return True
        return False

    def drop_all(self) -> list[C]:
        """Forget all idle connections, and return them."""
        dropped, self._idle = self._idle, []
        return [connection for _, connection in dropped]

    def judge(self, request: Request, status: int, body: bytes, endpoint: Endpoint) -> Answer | Refused | Unknown:
        """Translate a reply into a verdict. Raises `TokenExpired` if the call must be repeated after a new login."""
        try:
            found = self._judge(request, status, body, endpoint)
        except Stranger as error:
            return self.strange(endpoint, error)
        self.contacted = True
        self._answered.add(endpoint)
        return found

    def _judge(self, request: Request, status: int, body: bytes, endpoint: Endpoint) -> Answer | Refused | Unknown:
        if status == 200 and not body.startswith(b'{"error"'):
            try:
                return Answer(self.codec.decode(request, body))
            except NotEtcd as error:
                raise not_etcd(str(endpoint), error) from error
        try:
            return verdict(status, body, str(endpoint))
        except TokenExpired as error:
            self.token = ""
            if not self.address.user:
                raise no_user(str(endpoint), str(error)) from None
            raise

    def must_login(self) -> bool:
        """True if the URL names a user and there is no token."""
        return bool(self.address.user) and not self.token

    def login(self) -> bytes:
        """The body of a login request."""
        return msgspec.json.encode({"name": self.address.user, "password": self._password})

    def logged_in(self, status: int, body: bytes, endpoint: Endpoint) -> None:
        """Keep the token of a login. Raises if the login was refused. If the server could not decide it, the token
        stays empty."""
        if status == 200:
            try:
                token = read(Login, body).token
            except NotEtcd as error:
                raise not_etcd(str(endpoint), error) from error
            self.token = token if token.isascii() and token.isprintable() else ""  # it is sent in a header
        elif (refused := bad_login(status, body, str(endpoint), self.address.user)) is not None:
            raise refused

    def absent(self, reasons: list[str]) -> Unreachable:
        """The error for a cluster of which no member could be reached."""
        speaks = ", which speaks TLS" if self.address.tls else ""
        hint = f"is it running, and does the URL name its client port{speaks}?"
        advice = (advice_on_tls(reason, shows=bool(self.address.cert)) for reason in reasons)
        hint = "; ".join(dict.fromkeys(filter(None, advice))) or hint
        return Unreachable(f"no etcd server could be reached: {'; '.join(reasons)}", hint=hint)
