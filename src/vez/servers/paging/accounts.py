"""Authentication: a password with every request, a signed token with every request, or a session.

    password   the server remembers nothing, and every request costs a slow hash (scrypt)
    token      the server remembers nothing: it signed the user and the expiry, and checks its signature. It cannot
               revoke a token before it expires
    session    the password is checked once, then a random name is looked up; dropping it ends the session at once

Secrets are never in a URL, and nothing here is logged. Names of sessions are kept as hashes, so that reading the memory
or the table of sessions opens none, and the time of a look-up reveals nothing about another name.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from typing import Annotated

import msgspec

from vez.servers.paging.refusal import Refused
from vez.servers.paging.sessions import Sessions, session_key
from vez.servers.paging.signing import Signer

COST = 2**14
"""The cost of scrypt (N, with r = 8 and p = 1): about 16 MB and some tens of milliseconds for each guess."""
TOKEN_S = 3600.0
LONGEST_HEADER = 1024


class Account(msgspec.Struct, frozen=True):
    """A user and the hash of the password."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=64, pattern="^[a-z0-9-]+$")]
    salt: bytes
    digest: bytes
    cost: Annotated[int, msgspec.Meta(ge=2, le=2**17)] = COST


class Token(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a signed token."""

    user: str
    until: float


class Checks(msgspec.Struct):
    """The number of checks of each kind since the server started."""

    passwords: int = 0
    signatures: int = 0
    look_ups: int = 0


def account(name: str, password: str, *, cost: int = COST) -> Account:
    """An account whose password is kept as a salted hash."""
    salt = secrets.token_bytes(16)
    return Account(name, salt, _hash(password, salt, cost), cost)


class Gate:
    """Authenticates requests."""

    def __init__(
        self, accounts: Mapping[str, Account], key: bytes, sessions: Sessions, clock: Callable[[], float] = time.time
    ) -> None:
        self._accounts, self._sessions, self._clock = accounts, sessions, clock
        self._signer = Signer(key, "token", status=401)
        self._nobody = account("nobody", secrets.token_urlsafe(16), cost=_cost(accounts))
        self._lock = threading.Lock()
        self.checks = Checks()

    def who(self, authorization: str | None) -> str:
        """The user of a request. Raises `Refused` if it is unknown."""
        kind, secret = _split(authorization)
        if kind == "basic":
            return self._password(secret)
        if secret.startswith("s."):
            self._count("look_ups")
            user = self._sessions.find(secret)
            if user is None:
                raise Refused(401, "there is no such session: it expired, was ended, or is known to another server")
            return user
        self._count("signatures")
        token = self._signer.read(secret, Token)
        if token.until <= self._clock():
            raise Refused(401, "the token has expired; log in again")
        return token.user

    def log_in(self, authorization: str | None, *, remember: bool) -> str:
        """Check the password, and return a new session, which the server remembers, or a token, which it does not."""
        kind, secret = _split(authorization)
        if kind != "basic":
            raise Refused(401, "logging in needs a name and a password")
        user = self._password(secret)
        return self._sessions.begin(user) if remember else self._signer.sign(Token(user, self._clock() + TOKEN_S))

    def log_out(self, authorization: str | None) -> bool:
        """End a session. False for a token, which stays valid until it expires, because the server does not remember
        it."""
        _, secret = _split(authorization)
        return secret.startswith("s.") and self._sessions.end(secret)

    def session(self, authorization: str | None) -> str:
        """The key of the session of a request. Raises `Refused` if the request does not belong to a session."""
        _, secret = _split(authorization)
        if not secret.startswith("s."):
            raise Refused(403, "only a session can be told of news; log in as=session")
        return session_key(secret)

    def _password(self, secret: str) -> str:
        self._count("passwords")
        try:
            name, _, password = base64.b64decode(secret, validate=True).decode().partition(":")
        except (binascii.Error, ValueError):
            raise Refused(401, "the name and the password are not in the form of HTTP") from None
        known = self._accounts.get(name, self._nobody)  # an unknown name costs as much time as a wrong password
        right = hmac.compare_digest(known.digest, _hash(password, known.salt, known.cost))
        if not right or known is self._nobody:
            raise Refused(401, "the name or the password is wrong")
        return name

    def _count(self, kind: str) -> None:
        with self._lock:
            setattr(self.checks, kind, getattr(self.checks, kind) + 1)


def basic(name: str, password: str) -> str:
    """The header of a request with a password."""
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


def _split(authorization: str | None) -> tuple[str, str]:
    if not authorization:
        raise Refused(401, "say who you are")
    kind, _, secret = authorization.partition(" ")
    if len(authorization) > LONGEST_HEADER or kind.lower() not in ("basic", "bearer"):
        raise Refused(401, "the header Authorization is too long or of another kind than Basic and Bearer")
    return kind.lower(), secret.strip()


def _hash(password: str, salt: bytes, cost: int) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=cost, r=8, p=1, maxmem=2**28, dklen=32)


def _cost(accounts: Mapping[str, Account]) -> int:
    return max((known.cost for known in accounts.values()), default=COST)
