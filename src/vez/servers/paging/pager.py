"""Four ways to give a client the next page of the same query.

    recompute   the client says how many rows it has; the server computes the whole answer, skips them, and forgets
                everything: Camargos, Concorrência, "Estado", steps 1 to 5
    offset      the client says how many rows it has; the database skips them, and stops after the page
    keyset      the client says which row it saw last; the index leads to the row after it
    view        the server keeps the answer and the place of the client in it

The first three are stateless: the client carries a signed cursor, and any server with the same key and the same
database can continue from it.
"""

from __future__ import annotations

from typing import Annotated, Literal, get_args

import msgspec

from vez.servers.paging.refusal import Refused
from vez.servers.paging.signing import Signer
from vez.servers.paging.store import BEFORE_ALL, Answer, Row, Store
from vez.servers.paging.views import Views

Stateless = Literal["recompute", "offset", "keyset"]
WAYS: tuple[str, ...] = (*get_args(Stateless), "view")
LONGEST_PAGE = 1000
"""Largest number of rows of a page: more would let one request occupy a server for long."""
Number = Annotated[int, msgspec.Meta(ge=-1, le=2**53)]


class Cursor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The state that a client carries between two pages: its user, the way, and how far it has read."""

    user: Annotated[str, msgspec.Meta(max_length=64)]
    way: Stateless
    read: Number = 0
    """Number of rows that the client has."""
    last: tuple[Number, Number] = BEFORE_ALL
    """Place of the last row that it saw."""


class Page(msgspec.Struct, frozen=True):
    """One page: its rows, the cursor or view of the next one (None at the end), and the number of rows visited."""

    rows: list[Row]
    next: str | None
    visited: int = 0


class Pager:
    """Serves pages. The only state about clients is in `views`."""

    def __init__(self, store: Store, key: bytes, views: Views) -> None:
        self._store, self._views = store, views
        self._signer = Signer(key, "cursor")

    def first(self, user: str, way: str, count: int) -> Page:
        """The first page of a client."""
        if way == "view":
            opened = self._views.open(user)
            return self._from_view(user, opened.name, count, None, opened.visited)
        try:
            return self._from_cursor(msgspec.convert({"user": user, "way": way}, Cursor), count)
        except msgspec.ValidationError:
            raise Refused(400, f"the way of paging is one of {', '.join(WAYS)}") from None

    def following(self, user: str, cursor: str, count: int) -> Page:
        """The page after a cursor."""
        found = self._signer.read(cursor, Cursor)
        if found.user != user:
            raise Refused(403, "this cursor was made for somebody else")
        return self._from_cursor(found, count)

    def read_view(self, user: str, name: str, count: int, step: int | None = None) -> Page:
        """The next page of a view, or the page of a step."""
        return self._from_view(user, name, count, step, 0)

    def _from_view(self, user: str, name: str, count: int, step: int | None, visited: int) -> Page:
        rows, more = self._views.read(user, name, check_count(count), step)
        return Page(rows, name if more else None, visited)

    def _from_cursor(self, cursor: Cursor, count: int) -> Page:
        answer = self._answer(cursor, check_count(count))
        if len(answer.rows) < count:
            return Page(answer.rows, None, answer.visited)
        price, number, _ = answer.rows[-1]
        place = Cursor(cursor.user, cursor.way, cursor.read + count, (price, number))
        return Page(answer.rows, self._signer.sign(place), answer.visited)

    def _answer(self, cursor: Cursor, count: int) -> Answer:
        if cursor.way == "keyset":
            return self._store.after(cursor.last, count)
        if cursor.way == "offset":
            return self._store.skip(cursor.read, count)
        everything = self._store.everything()  # steps 2 to 5: compute all, skip, return n, forget
        return Answer(everything.rows[cursor.read : cursor.read + count], everything.visited)


def check_count(count: int) -> int:
    """The checked number of rows of a page. Raises `Refused` if it is out of bounds."""
    if not 1 <= count <= LONGEST_PAGE:
        raise Refused(400, f"a page has 1 to {LONGEST_PAGE} rows, asked for {count}")
    return count
