"""A watch for rows that any process inserts. A trigger of the database reports them.

SQLite has no way to wake another process, so the watch polls a number that changes with every commit (`PRAGMA
data_version`, without reading the table). PostgreSQL wakes the listener (`LISTEN`, `NOTIFY`).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any, Protocol

from vez.servers.paging.store import PostgresStore, Row, Store

LOOK_S = 0.02
"""Seconds between two polls of SQLite: people do not notice the delay, and a poll takes some microseconds."""
TURN_S = 0.2
"""Seconds for which a listener of PostgreSQL waits before it checks whether it should stop."""

_LOG = (
    "CREATE TABLE IF NOT EXISTS paging_log (number INTEGER PRIMARY KEY AUTOINCREMENT, id BIGINT)",
    "CREATE TRIGGER IF NOT EXISTS paging_tell AFTER INSERT ON product BEGIN "
    "INSERT INTO paging_log (id) VALUES (NEW.id); "
    "DELETE FROM paging_log WHERE number <= (SELECT MAX(number) FROM paging_log) - 10000; END",
)
_NOTIFY = (
    "CREATE OR REPLACE FUNCTION paging_tell() RETURNS trigger AS $$ BEGIN PERFORM pg_notify('paging', "
    "json_build_array(NEW.price, NEW.id, left(NEW.name, 200))::text); RETURN NEW; END $$ LANGUAGE plpgsql",
    "CREATE OR REPLACE TRIGGER paging_tell AFTER INSERT ON product FOR EACH ROW EXECUTE FUNCTION paging_tell()",
)


class Watch(Protocol):
    """Watches a store for new rows, from the moment at which it was made."""

    def changes(self) -> Iterator[Row]:
        """New rows, as they come, until `stop`."""

    def stop(self) -> None:
        """End `changes`; may be called by another thread."""


def make_watch(store: Store) -> Watch:
    """A watch for a store."""
    return PostgresWatch(store) if isinstance(store, PostgresStore) else SQLiteWatch(store)


class SQLiteWatch:
    """Polls a log that a trigger writes. Its numbers are in the order of the commits: SQLite has one writer."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stopped = threading.Event()
        with store.transaction() as cursor:
            for statement in _LOG:
                cursor.execute(statement)
        with store.connection() as connection:
            self._seen = int(connection.execute("SELECT COALESCE(MAX(number), 0) FROM paging_log").fetchone()[0])

    def changes(self) -> Iterator[Row]:
        """New rows, as they come, until `stop`."""
        connection = self._store.connect()
        try:
            version = -1
            while not self._stopped.wait(LOOK_S):
                found = connection.execute("PRAGMA data_version").fetchone()[0]
                if found != version:
                    version = found
                    yield from self._new(connection)
        finally:
            connection.close()

    def stop(self) -> None:
        """End `changes`; may be called by another thread."""
        self._stopped.set()

    def _new(self, connection: Any) -> Iterator[Row]:
        found = connection.execute(
            "SELECT paging_log.number, price, product.id, name FROM paging_log JOIN product USING (id) "
            "WHERE paging_log.number > ? ORDER BY paging_log.number",
            (self._seen,),
        ).fetchall()
        for self._seen, price, number, name in found:
            yield price, number, name


class PostgresWatch:
    """Listens for the notifications that a trigger sends when a transaction commits."""

    def __init__(self, store: Store) -> None:
        self._stopped = threading.Event()
        self._connection = store.connect()
        with store.transaction() as cursor:
            store.lock_for_creation(cursor)
            for statement in _NOTIFY:
                cursor.execute(statement)
        self._connection.execute("LISTEN paging")

    def changes(self) -> Iterator[Row]:
        """New rows, as they come, until `stop`."""
        try:
            while not self._stopped.is_set():
                for notice in self._connection.notifies(timeout=TURN_S, stop_after=1):
                    price, number, name = json.loads(notice.payload)
                    yield price, number, name
        finally:
            self._connection.close()

    def stop(self) -> None:
        """End `changes`; may be called by another thread."""
        self._stopped.set()
