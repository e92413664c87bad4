"""Views in the database: stable memory, which survives the server and is shared by all servers of that database.

The database itself copies the rows of a view. The place of a client is committed before its page is sent, so that a
killed server has forgotten nothing that its client may have seen. This costs a commit per page. Times are those of the
system's clock, because they must mean the same after a restart and on every server.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from typing import Any

from vez.servers.paging.refusal import Refused
from vez.servers.paging.store import Row, Store
from vez.servers.paging.views import GONE, Census, Limits, Opened, Place, check_length, check_user, full, new_name

_TABLES = (
    "CREATE TABLE IF NOT EXISTS paging_view (name TEXT PRIMARY KEY, owner TEXT NOT NULL, expires DOUBLE PRECISION "
    "NOT NULL, size BIGINT NOT NULL, last BIGINT NOT NULL, next BIGINT NOT NULL, step BIGINT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS paging_view_row (view TEXT NOT NULL, place BIGINT NOT NULL, price BIGINT NOT NULL, "
    "id BIGINT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (view, place))",
)
_COPY = (
    "INSERT INTO paging_view_row (view, place, price, id, name) "
    "SELECT ?, ROW_NUMBER() OVER (ORDER BY price, id) - 1, price, id, name "
    "FROM (SELECT price, id, name FROM product ORDER BY price, id LIMIT ?) AS answer"
)


class StableViews:
    """Views in tables beside the products."""

    def __init__(self, store: Store, limits: Limits, clock: Callable[[], float] = time.time) -> None:
        self._store, self._limits, self._clock = store, limits, clock
        with store.transaction() as cursor:
            store.lock_for_creation(cursor)
            for table in _TABLES:
                cursor.execute(table)

    def open(self, user: str) -> Opened:
        """Copy the answer into the table of views."""
        name = new_name()
        key, sql, now = _key(name), self._store.sql, self._clock()
        with self._store.transaction() as cursor:
            self._store.lock_table(cursor, "paging_view")
            self._expire(cursor)
            self._make_room(cursor, user)
            cursor.execute(sql(_COPY), (key, self._limits.rows + 1))
            size: int = cursor.rowcount
            check_length(size, self._limits)
            cursor.execute(
                sql("INSERT INTO paging_view (name, owner, expires, size, last, next, step) VALUES (?,?,?,?,0,0,0)"),
                (key, user, now + self._limits.idle_s, size),
            )
        return Opened(name, size)

    def read(self, user: str, name: str, count: int, step: int | None) -> tuple[list[Row], bool]:
        """The next rows of a view, and True if there are more."""
        key, sql, now = _key(name), self._store.sql, self._clock()
        with self._store.transaction() as cursor:
            cursor.execute(  # also the lock: two requests for one view come after each other
                sql("UPDATE paging_view SET expires = ? WHERE name = ? AND owner = ? AND expires > ? "
                    "RETURNING last, next, step, size"),
                (now + self._limits.idle_s, key, user, now),
            )  # fmt: skip
            found = cursor.fetchone()
            if found is None:
                raise Refused(410, GONE)
            last, following, done, size = found
            place = Place(last, following, done).advance(count, step)
            cursor.execute(
                sql("SELECT price, id, name FROM paging_view_row WHERE view = ? AND place >= ? ORDER BY place LIMIT ?"),
                (key, place.last, count),
            )
            rows = [(row[0], row[1], row[2]) for row in cursor.fetchall()]
            more = place.next < size
            if not more and step is None:
                self._drop(cursor, key)
            else:
                cursor.execute(sql("UPDATE paging_view SET last = ?, next = ?, step = ? WHERE name = ?"), (*place, key))
        return rows, more

    def close(self, user: str, name: str) -> None:
        """Forget a view. No effect if there is none."""
        key = _key(name)
        with self._store.transaction() as cursor:
            cursor.execute(self._store.sql("DELETE FROM paging_view WHERE name = ? AND owner = ?"), (key, user))
            if cursor.rowcount:
                cursor.execute(self._store.sql("DELETE FROM paging_view_row WHERE view = ?"), (key,))

    def census(self) -> Census:
        """The number of views and rows that are kept."""
        with self._store.transaction() as cursor:
            self._expire(cursor)
            cursor.execute("SELECT COUNT(*), COALESCE(SUM(size), 0) FROM paging_view")
            views, rows = cursor.fetchone()
        return Census(int(views), int(rows))

    def _expire(self, cursor: Any) -> None:
        cursor.execute(self._store.sql("SELECT name FROM paging_view WHERE expires <= ?"), (self._clock(),))
        for (key,) in cursor.fetchall():
            self._drop(cursor, key)

    def _make_room(self, cursor: Any, user: str) -> None:
        cursor.execute(
            self._store.sql("SELECT COUNT(*), COUNT(CASE WHEN owner = ? THEN 1 END) FROM paging_view"), (user,)
        )
        views, own = cursor.fetchone()
        check_user(own, self._limits)
        if views >= self._limits.views:
            if self._limits.when_full == "refuse":
                raise full(self._limits)
            cursor.execute("SELECT name FROM paging_view ORDER BY expires, name LIMIT 1")
            self._drop(cursor, cursor.fetchone()[0])

    def _drop(self, cursor: Any, key: str) -> None:
        cursor.execute(self._store.sql("DELETE FROM paging_view WHERE name = ?"), (key,))
        cursor.execute(self._store.sql("DELETE FROM paging_view_row WHERE view = ?"), (key,))


def _key(name: str) -> str:
    """The hash of a view's name. A view can be read with its name, so the table contains only the hash: reading the
    table does not open the views."""
    return hashlib.sha256(name.encode()).hexdigest()
