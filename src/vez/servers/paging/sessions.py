"""Sessions: the user and the expiry of each random name. They are kept in memory or in the database."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Callable
from typing import Protocol

import msgspec

from vez.servers.paging.refusal import Refused
from vez.servers.paging.store import Store

_TABLE = (
    "CREATE TABLE IF NOT EXISTS paging_session "
    "(name TEXT PRIMARY KEY, owner TEXT NOT NULL, expires DOUBLE PRECISION NOT NULL)"
)


class SessionLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Largest number of sessions, and their lifetime."""

    sessions: int = 10_000
    last_s: float = 3600.0


class Sessions(Protocol):
    """A store of sessions."""

    def begin(self, user: str) -> str:
        """A new session; its name is the secret of the client."""

    def find(self, name: str) -> str | None:
        """The user of a session; None if there is no such session."""

    def end(self, name: str) -> bool:
        """Forget a session; True if there was one."""


class MemorySessions:
    """Sessions in the memory of this process."""

    def __init__(self, limits: SessionLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits, self._clock = limits, clock
        self._known: dict[str, tuple[str, float]] = {}
        """Sessions by name, in the order of their expiry, since all last equally long."""
        self._lock = threading.Lock()

    def begin(self, user: str) -> str:
        """A new session; its name is the secret of the client."""
        name, now = _new_name(), self._clock()
        with self._lock:
            while self._known and next(iter(self._known.values()))[1] <= now:
                del self._known[next(iter(self._known))]
            if len(self._known) >= self._limits.sessions:
                raise _full(self._limits)
            self._known[session_key(name)] = (user, now + self._limits.last_s)
        return name

    def find(self, name: str) -> str | None:
        """The user of a session; None if there is no such session."""
        with self._lock:
            user, until = self._known.get(session_key(name), ("", 0.0))
        return user if until > self._clock() else None

    def end(self, name: str) -> bool:
        """Forget a session; True if there was one."""
        with self._lock:
            return self._known.pop(session_key(name), None) is not None


class StableSessions:
    """Sessions in a table: they survive the server, and every server of the database knows them."""

    def __init__(self, store: Store, limits: SessionLimits, clock: Callable[[], float] = time.time) -> None:
        self._store, self._limits, self._clock = store, limits, clock
        with store.transaction() as cursor:
            store.lock_for_creation(cursor)
            cursor.execute(_TABLE)

    def begin(self, user: str) -> str:
        """A new session; its name is the secret of the client."""
        name, now, sql = _new_name(), self._clock(), self._store.sql
        with self._store.transaction() as cursor:
            self._store.lock_table(cursor, "paging_session")
            cursor.execute(sql("DELETE FROM paging_session WHERE expires <= ?"), (now,))
            cursor.execute("SELECT COUNT(*) FROM paging_session")
            if cursor.fetchone()[0] >= self._limits.sessions:
                raise _full(self._limits)
            cursor.execute(
                sql("INSERT INTO paging_session (name, owner, expires) VALUES (?, ?, ?)"),
                (session_key(name), user, now + self._limits.last_s),
            )
        return name

    def find(self, name: str) -> str | None:
        """The user of a session; None if there is no such session."""
        statement = self._store.sql("SELECT owner FROM paging_session WHERE name = ? AND expires > ?")
        with self._store.connection() as connection:
            found = connection.execute(statement, (session_key(name), self._clock())).fetchone()
        return None if found is None else str(found[0])

    def end(self, name: str) -> bool:
        """Forget a session; True if there was one."""
        statement = self._store.sql("DELETE FROM paging_session WHERE name = ?")
        with self._store.connection() as connection:
            return bool(connection.execute(statement, (session_key(name),)).rowcount)


def _new_name() -> str:
    return "s." + secrets.token_urlsafe(24)


def session_key(name: str) -> str:
    """The key under which a session is kept: a hash, because its name is the secret of the client."""
    return hashlib.sha256(name.encode()).hexdigest()


def _full(limits: SessionLimits) -> Refused:
    return Refused(503, f"all {limits.sessions} sessions are in use; try again later")
