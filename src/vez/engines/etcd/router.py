"""Router: which member of the cluster is asked, its idle connections, and the token of the login. No I/O.

All calls go to one member while it answers. After a failure the next one is asked, so that the loss of a member costs
one call. Connections are kept and used again, newest first.
"""

from __future__ import annotations

import socket
from typing import Generic, Protocol, TypeVar

import msgspec

from vez.engines.etcd.address import Address, Endpoint
from vez.engines.etcd.codec import Codec, decoded
from vez.engines.etcd.verdicts import Stranger, TokenExpired, bad_login, no_user, stranger, verdict
from vez.engines.network.transport import Unreachable
from vez.recipes import Answer, Refused, Unknown
from vez.recipes.etcd.operations import Request

C = TypeVar("C")


class Watched(Protocol):
    """A watch under way."""

    @property
    def endpoint(self) -> Endpoint:
        """The member on which it is."""

    def interrupt(self) -> None:
        """End it, from any thread."""


MOST_IDLE = 16
"""Connections that are kept for later calls; each thread or task that calls at the same time uses one."""
CONNECT_SECONDS = 2.0
"""Longest wait for one member to accept a connection; then the next one is tried."""
SOCKET_OPTIONS = ((socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),)
CHUNK = 1 << 16
HUNG = 0.5
"""Seconds of silence after which a member counts as hung, so that watches on it are given up too."""


class Router(Generic[C]):
    """What both transports share."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.codec = Codec(address.namespace)
        self.context = address.context()
        self.token = ""
        """Of our login; empty before the first, and after it has expired."""
        self.contacted = False
        self.closed = False
        self._current = 0
        self._strangers: set[Endpoint] = set()
        self._answered: set[Endpoint] = set()
        self._idle: list[tuple[Endpoint, C]] = []
        self.streams: set[Watched] = set()
        """The watches under way; whoever begins one adds it, and whoever closes it removes it."""

    def endpoints(self) -> list[Endpoint]:
        """All members, the one in use first."""
        known = self.address.endpoints
        return [known[(self._current + step) % len(known)] for step in range(len(known))]

    def failed(self, endpoint: Endpoint, seconds: float = HUNG) -> None:
        """This member did not answer in that time: use the next one. A watch on it may be as silent for ever."""
        known = self.address.endpoints
        if known[self._current % len(known)] == endpoint:
            self._current = (self._current + 1) % len(known)
        if seconds >= HUNG:
            for stream in list(self.streams):
                if stream.endpoint == endpoint:
                    stream.interrupt()

    def unanswered(self, why: str, *, cut_off: bool) -> Unknown:
        """No reply came. A server that wants TLS may close the connection of whoever does not speak it."""
        plain = cut_off and not self.contacted and not self.address.tls
        return Unknown(f"{why}; if it speaks TLS, the URL needs tls=1" if plain else why)

    def share(self, endpoint: Endpoint, seconds: float) -> float:
        """For how many of these seconds this member may be silent: until it has answered once, others get their part of
        the time too."""
        known = self.address.endpoints
        return seconds if endpoint in self._answered else seconds / len(known)

    def strange(self, endpoint: Endpoint, error: Exception) -> Unknown:
        """Pass over a member whose reply was not of etcd; raises if nothing but strangers was met: then it is no
        etcd."""
        self.failed(endpoint)
        self._strangers.add(endpoint)
        if self.contacted or not self._strangers.issuperset(self.address.endpoints):
            return Unknown(error.message if isinstance(error, Stranger) else str(error))
        raise error if isinstance(error, Stranger) else stranger(str(endpoint), str(error))

    def take(self, endpoint: Endpoint) -> C | None:
        """An idle connection to this member."""
        for pair in reversed(list(self._idle)):
            if pair[0] == endpoint:
                try:
                    self._idle.remove(pair)
                except ValueError:  # another thread took it
                    continue
                return pair[1]
        return None

    def keep(self, endpoint: Endpoint, connection: C) -> bool:
        """Keep a connection for later; False if there are enough, or the client was closed."""
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
        """All idle connections, which are no longer kept."""
        dropped, self._idle = self._idle, []
        return [connection for _, connection in dropped]

    def judge(self, request: Request, status: int, body: bytes, endpoint: Endpoint) -> Answer | Refused | Unknown:
        """What a reply means. `TokenExpired` if the call must be repeated after a new login."""
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
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise stranger(str(endpoint), f"a reply that is not etcd's ({error})") from error
        try:
            return verdict(status, body, str(endpoint))
        except TokenExpired as error:
            self.token = ""
            if not self.address.user:
                raise no_user(str(endpoint), str(error)) from None
            raise

    def must_login(self) -> bool:
        """True if there is a user, and no token of a login."""
        return bool(self.address.user) and not self.token

    def login(self) -> bytes:
        """The body of a login."""
        return msgspec.json.encode({"name": self.address.user, "password": self.address.password})

    def logged_in(self, status: int, body: bytes, endpoint: Endpoint) -> None:
        """Keep the token of a login; raise if it was refused. Without a token it was not decided."""
        if status == 200:
            try:
                found = decoded(body)
                token = str(found["header"] and found.get("token", ""))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise stranger(str(endpoint), f"a reply that is not etcd's ({error})") from error
            self.token = token if token.isascii() and token.isprintable() else ""  # it goes into a header
        elif (refused := bad_login(status, body, str(endpoint), self.address.user)) is not None:
            raise refused

    def absent(self, reasons: list[str]) -> Unreachable:
        """The error for a cluster of which no member could be reached."""
        speaks = ", which speaks TLS" if self.address.tls else ""
        hint = f"is it running, and does the URL name its client port{speaks}?"
        if any("CERTIFICATE_VERIFY_FAILED" in reason for reason in reasons):
            hint = "name whom to trust (?ca=FILE), and the host as its certificate does"
        return Unreachable(f"no etcd server could be reached: {'; '.join(reasons)}", hint=hint)
