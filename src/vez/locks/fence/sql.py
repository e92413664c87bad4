"""A guard in an SQL database: one statement in the transaction of the write that it protects.

The same statement works on SQLite (3.24 and later) and PostgreSQL. The row that it writes is locked until the
transaction ends, so two holders are serialised. If the token is stale, the caller's transaction must be rolled back;
the error does that when it leaves a `with connection:` block.

Where the protected row can have a column for the token, no guard is needed:

    UPDATE job SET state = %s, fence = %s WHERE id = %s AND fence <= %s      -- no row updated: stale
"""

from __future__ import annotations

import re
from typing import Any, Protocol

from vez.errors import Misuse
from vez.locks.fence.memory import check_token, stale


class Cursor(Protocol):
    """The methods of a DB-API cursor that are used."""

    @property
    def rowcount(self) -> int:
        """Number of rows that the last statement touched."""

    def execute(self, statement: Any, parameters: Any = ..., /) -> Any:
        """Run a statement."""

    def fetchone(self) -> Any:
        """The next row."""


class SqlGuard:
    """Keeps the highest token of each resource in a table. `mark` is the driver's placeholder: ? or %s."""

    def __init__(self, *, mark: str = "%s", table: str = "vez_fence") -> None:
        if mark not in ("?", "%s"):
            raise Misuse(f"the placeholder of the driver is ? or %s, found {mark!r}")
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.]*", table):
            raise Misuse(f"{table!r} is not the name of a table")
        self.create = f"CREATE TABLE IF NOT EXISTS {table} (resource TEXT PRIMARY KEY, token BIGINT NOT NULL)"
        """Run this once."""
        self._admit = (
            f"INSERT INTO {table} AS fence (resource, token) VALUES ({mark}, {mark}) "  # noqa: S608
            "ON CONFLICT (resource) DO UPDATE SET token = excluded.token WHERE fence.token <= excluded.token"
        )
        self._newest = f"SELECT token FROM {table} WHERE resource = {mark}"  # noqa: S608

    def admit(self, cursor: Cursor, resource: str, token: int | None) -> None:
        """Accept this token, or raise `StaleToken`. Call it within the transaction of the write."""
        number = check_token(token)
        cursor.execute(self._admit, (resource, number))
        if cursor.rowcount == 0:
            raise stale(resource, number, self.newest(cursor, resource))

    def newest(self, cursor: Cursor, resource: str) -> int:
        """The highest token seen; 0 before the first."""
        cursor.execute(self._newest, (resource,))
        row = cursor.fetchone()
        return 0 if row is None else int(row[0])
