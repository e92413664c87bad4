"""Stores of the paged query: SQLite in a file, and a real PostgreSQL that all tests of a worker share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import need
from vez.servers.paging.store import Store, open_store
from vez.testing.servers import Missing, postgres_server

_TABLES = ("product", "paging_view", "paging_view_row", "paging_session")


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The connection string of a PostgreSQL that was started for these tests."""
    if find_spec("psycopg") is None:
        need("psycopg", "pip install 'vez[postgresql]'")
    with ExitStack() as stack:
        try:
            url = stack.enter_context(postgres_server())
        except Missing as error:
            need("PostgreSQL", str(error))
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The path or connection string of an empty database, once for each kind."""
    if request.param == "sqlite":
        yield str(tmp_path / "shop.db")
        return
    url: str = request.getfixturevalue("postgres")
    yield url
    with opened(url) as store, store.connection() as connection:
        for table in _TABLES:
            connection.execute(f"DROP TABLE IF EXISTS {table}")


@contextmanager
def opened(where: str, *, counting: bool = False) -> Iterator[Store]:
    store = open_store(where, counting=counting)
    try:
        yield store
    finally:
        store.close()
