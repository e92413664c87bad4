"""Shop: a database with products, accounts with random passwords, and servers in front of it."""

from __future__ import annotations

import contextlib
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vez.errors import MissingPart
from vez.servers.paging.accounts import COST, account, basic
from vez.servers.paging.process import Client, ServerProcess, running
from vez.servers.paging.service import Setup
from vez.servers.paging.signing import new_key
from vez.servers.paging.store import Row, Store, open_store

USER = "ana"
LOWEST, PRICES = 1000, 97
"""The lowest price, and the number of different prices: many products have the same price."""


def products(count: int) -> list[Row]:
    """This many products, whose order by price is not that of their numbers."""
    return [(LOWEST + number * 31 % PRICES, number, f"product {number:07}") for number in range(1, count + 1)]


class Shop:
    """One database, one account, one key."""

    def __init__(self, database: str, folder: Path, rows: int, model: str, *, cost: int = COST) -> None:
        self.rows, self.model, self._folder = rows, model, folder
        self.key = new_key()
        self._password = secrets.token_urlsafe(16)
        accounts = [account(USER, self._password, cost=cost)]
        self._setup = Setup(database=database, key=self.key, accounts=accounts, model=model)
        self.store: Store = open_store(database)
        self.store.create(products(rows))

    def restock(self) -> None:
        """Restore the products to their initial state."""
        with self.store.transaction() as cursor:
            cursor.execute("DELETE FROM product")
        self.store.insert(products(self.rows))
        self.store.settle()

    @contextlib.contextmanager
    def server(self, **changes: Any) -> Iterator[ServerProcess]:
        """A server in front of this shop."""
        fields = {name: getattr(self._setup, name) for name in Setup.__struct_fields__}
        with running(Setup(**fields | changes), self.log) as server:
            yield server

    @property
    def log(self) -> Path:
        """The file to which the servers write their log."""
        return self._folder / "server.log"

    @property
    def authorization(self) -> str:
        """The header with the name and the password."""
        return basic(USER, self._password)

    @contextlib.contextmanager
    def client(self, server: ServerProcess, kind: str = "token") -> Iterator[Client]:
        """A client of a server; kind is password, token or session."""
        client = Client(server.port, self.authorization)
        try:
            if kind != "password":
                client.log_in(kind)
            yield client
        finally:
            client.close()


@contextlib.contextmanager
def shop(database: str, rows: int, model: str = "pool") -> Iterator[Shop]:
    """A shop in a database of its own, in a folder that is removed afterwards: `sqlite` or `postgresql`.

    PostgreSQL is a server that is started for this; it has to be installed.
    """
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vez-paging-")))
        where = str(folder / "shop.db") if database == "sqlite" else stack.enter_context(_postgres())
        made = Shop(where, folder, rows, model)
        stack.callback(made.store.close)
        yield made


@contextlib.contextmanager
def _postgres() -> Iterator[str]:
    from vez.testing.servers import Missing, postgres_server

    with contextlib.ExitStack() as stack:
        try:
            url = stack.enter_context(postgres_server())
        except Missing as error:
            raise MissingPart(str(error), hint="or leave --database out: SQLite is part of Python") from None
        yield url
