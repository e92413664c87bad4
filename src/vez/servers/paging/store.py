"""The table of products behind the paged query, in SQLite or PostgreSQL, with a count of the rows that are visited.

The query is always the same: all products, the cheapest first. Products of one price are ordered by their number, so
that the order is total; without a total order a cursor could not identify a place.

The database itself counts the visits. In SQLite the condition calls a function of ours for each row that is visited. In
PostgreSQL the executed plan contains the count (`EXPLAIN ANALYZE`). Both cost time, so a store counts only if asked to.
"""

from __future__ import annotations

import json
import queue
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from vez.errors import EngineUnavailable, MissingPart, how_to_install
from vez.servers.paging.refusal import Refused

Row = tuple[int, int, str]
"""Price, number and name of a product; the first two are its place in the order."""
Key = tuple[int, int]
BEFORE_ALL: Key = (-1, -1)
"""The place before every product: prices and numbers are not negative."""
CONNECTIONS = 64
"""Connections that a store keeps; a request that finds all of them in use waits for one."""
WAIT_FOR_LOCK_S = 10.0

_PRODUCTS = "CREATE TABLE IF NOT EXISTS product (price BIGINT NOT NULL, id BIGINT PRIMARY KEY, name TEXT NOT NULL)"
_INDEX = "CREATE UNIQUE INDEX IF NOT EXISTS product_order ON product (price, id)"


class Answer(NamedTuple):
    """Rows of a query, and how many rows the database visited for them (0 if the store does not count)."""

    rows: list[Row]
    visited: int


class Store:
    """Products in a database. Threads may share it: each call takes a connection for itself."""

    mark = "?"
    """Placeholder of the driver."""

    def __init__(self, *, counting: bool = False) -> None:
        self.counting = counting
        self._idle: queue.LifoQueue[Any] = queue.LifoQueue()
        self._room = threading.BoundedSemaphore(CONNECTIONS)

    def create(self, rows: Sequence[Row]) -> None:
        """Make the table with these products in it."""
        with self.connection() as connection:
            connection.execute(_PRODUCTS)
            connection.execute(_INDEX)
        self.insert(rows)
        self.settle()

    def settle(self) -> None:
        """Let the database analyse its tables, so that it plans well."""
        with self.connection() as connection:
            connection.execute("ANALYZE product")

    def insert(self, rows: Sequence[Row]) -> None:
        """Add products, all or none."""
        with self.transaction() as cursor:
            cursor.executemany(self.sql("INSERT INTO product (price, id, name) VALUES (?, ?, ?)"), rows)

    def remove(self, numbers: Sequence[int]) -> None:
        """Remove products by their numbers, all or none."""
        with self.transaction() as cursor:
            cursor.executemany(self.sql("DELETE FROM product WHERE id = ?"), [(number,) for number in numbers])

    def everything(self) -> Answer:
        """All rows of the query, computed again."""
        return self.ask("", (), "")

    def skip(self, offset: int, count: int) -> Answer:
        """The rows after the first `offset` rows, which the database also computes and discards."""
        return self.ask("", (), "LIMIT ? OFFSET ?", (count, offset))

    def after(self, key: Key, count: int) -> Answer:
        """The rows after a place in the order, found through the index."""
        return self.ask("(price, id) > (?, ?)", key, "LIMIT ?", (count,))

    def sql(self, statement: str) -> str:
        """A statement with the placeholder of the driver."""
        return statement.replace("?", self.mark)

    def ask(self, condition: str, given: Sequence[int], end: str, limits: Sequence[int] = ()) -> Answer:
        """Run the query, with a condition and an end."""
        raise NotImplementedError

    @contextmanager
    def connection(self) -> Iterator[Any]:
        """A connection for one thread. Each statement is a transaction of its own."""
        with self._room:
            try:
                connection = self._idle.get_nowait()
            except queue.Empty:
                connection = self.connect()
            try:
                yield connection
            except Refused:  # raised by us: the connection is unchanged
                self._idle.put(connection)
                raise
            except BaseException:
                connection.close()  # its state is unknown
                raise
            self._idle.put(connection)

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """A cursor whose statements are executed together or not at all."""
        with self.connection() as connection:
            cursor = connection.cursor()
            cursor.execute(self.begin)
            try:
                yield cursor
            except BaseException:
                cursor.execute("ROLLBACK")
                raise
            cursor.execute("COMMIT")

    begin = "BEGIN"

    def connect(self) -> Any:
        """A new connection."""
        raise NotImplementedError

    def lock_table(self, cursor: Any, table: str) -> None:
        """Prevent other transactions from writing into a table until this one ends."""

    def lock_for_creation(self, cursor: Any) -> None:
        """Let no other transaction create tables until this one ends."""

    def close(self) -> None:
        """Close the idle connections."""
        while not self._idle.empty():
            self._idle.get_nowait().close()


class SQLiteStore(Store):
    """Products in a file of SQLite."""

    begin = "BEGIN IMMEDIATE"  # the lock for writing is waited for here, where waiting is allowed

    def __init__(self, path: Path, *, counting: bool = False) -> None:
        super().__init__(counting=counting)
        self._path = path

    def connect(self) -> Any:
        """A new connection. Readers do not wait for writers (WAL), and a commit is on the disk (FULL)."""
        connection = sqlite3.connect(
            self._path, timeout=WAIT_FOR_LOCK_S, isolation_level=None, check_same_thread=False
        )  # fmt: skip
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        return connection

    def ask(self, condition: str, given: Sequence[int], end: str, limits: Sequence[int] = ()) -> Answer:
        """Run the query; a condition that is always true counts the rows."""
        seen = 0

        def visit(number: int) -> int:
            nonlocal seen
            seen += 1
            return 1

        with self.connection() as connection:
            if self.counting:
                connection.create_function("visit", 1, visit)
            statement = _query(condition, end, "visit(id)" if self.counting else "")
            rows = connection.execute(statement, (*given, *limits)).fetchall()
        return Answer(rows, seen)


class PostgresStore(Store):
    """Products in a PostgreSQL database. Needs the package psycopg."""

    mark = "%s"

    def __init__(self, url: str, *, counting: bool = False) -> None:
        super().__init__(counting=counting)
        try:
            import psycopg
        except ImportError as error:
            raise MissingPart("PostgreSQL needs the package psycopg", hint=how_to_install("postgresql")) from error
        self._psycopg = psycopg
        self._url = url

    def connect(self) -> Any:
        """A new connection."""
        try:
            return self._psycopg.connect(self._url, autocommit=True, connect_timeout=10)
        except self._psycopg.OperationalError as error:
            raise EngineUnavailable(f"PostgreSQL cannot be reached: {str(error).splitlines()[0]}") from None

    def lock_table(self, cursor: Any, table: str) -> None:
        """Let no other transaction write into a table until this one ends."""
        cursor.execute(f"LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE")

    def lock_for_creation(self, cursor: Any) -> None:
        """Prevent other transactions from creating tables. CREATE TABLE IF NOT EXISTS fails in PostgreSQL if two
        servers execute it at the same moment."""
        cursor.execute("SELECT pg_advisory_xact_lock(8244567)")

    def ask(self, condition: str, given: Sequence[int], end: str, limits: Sequence[int] = ()) -> Answer:
        """Run the query; if visits are counted, run it once more and read its plan."""
        statement = self.sql(_query(condition, end, ""))
        parameters = (*given, *limits)
        with self.connection() as connection:
            rows = [(row[0], row[1], row[2]) for row in connection.execute(statement, parameters).fetchall()]
            if not self.counting:
                return Answer(rows, 0)
            explained = f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {statement}"
            plan = connection.execute(explained, parameters).fetchone()[0]
        return Answer(rows, round(_visited((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"])))


def _query(condition: str, end: str, counted: str) -> str:
    where = " AND ".join(part for part in (condition, counted) if part)
    return " ".join(
        part for part in ("SELECT price, id, name FROM product", where and f"WHERE {where}", "ORDER BY price, id", end)
        if part
    )  # fmt: skip


def _visited(plan: dict[str, Any]) -> float:
    """Rows that the scans of a plan looked at."""
    inner = plan.get("Plans", ())
    if inner:
        return sum(map(_visited, inner))
    return float(plan["Actual Loops"] * (plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)))


def open_store(where: str, *, counting: bool = False) -> Store:
    """The store of a path (SQLite) or of a connection string of PostgreSQL."""
    if where.startswith(("postgresql://", "host=")):
        return PostgresStore(where, counting=counting)
    return SQLiteStore(Path(where), counting=counting)
