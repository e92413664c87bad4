"""The map of views: for each client the answer to its query at one moment, and how far the client has read.

A view costs memory until its client has read it to the end, closes it, or has not used it for a while. So there are
limits on all views, on the views of one user and on the rows of a view, and a time after which an unused view is
dropped.

A page is read in two ways. Without a step, a request means *the next page*, as in a server that remembers where its
client stands: asking twice gives two pages, and a reply that is lost takes a page with it. With a step, the number of
pages that the client has, a repeated request gets the same page again.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Literal, NamedTuple, Protocol

import msgspec

from vez.servers.paging.refusal import Refused
from vez.servers.paging.store import BEFORE_ALL, Row, Store

GONE = "there is no such view: it was read to the end, closed, dropped, or made by another server; begin again"


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of the state that a server keeps of its clients."""

    views: int = 1000
    """Largest number of views in total."""
    per_user: int = 10
    """Largest number of views of one user, so that one user cannot take the memory of all."""
    rows: int = 100_000
    """Largest number of rows of a view; a longer answer is refused."""
    idle_s: float = 60.0
    """Seconds after which an unused view is dropped."""
    when_full: Literal["refuse", "evict"] = "refuse"
    """The reaction of a full map to a new client: refuse it, or drop the view that was not used for longest."""


class Opened(NamedTuple):
    """A new view: its name, which cannot be guessed, and the rows that were computed for it."""

    name: str
    visited: int


class Census(NamedTuple):
    """The number of views and rows that are kept now."""

    views: int
    rows: int


class Views(Protocol):
    """A store of views."""

    def open(self, user: str) -> Opened:
        """Compute the answer and keep it for a user."""

    def read(self, user: str, name: str, count: int, step: int | None) -> tuple[list[Row], bool]:
        """The next rows of a view, and True if there are more."""

    def close(self, user: str, name: str) -> None:
        """Forget a view. No effect if there is none."""

    def census(self) -> Census:
        """The number of views and rows that are kept."""


class Place(NamedTuple):
    """The place of a client in its view: the begin of its last page, the begin of the next one, and the number of
    pages."""

    last: int = 0
    next: int = 0
    step: int = 0

    def advance(self, count: int, step: int | None) -> Place:
        """The place after one more page of `count` rows, or the same place for a page that is asked for again."""
        if step is None or step == self.step:
            return Place(self.next, self.next + count, self.step + 1)
        if step == self.step - 1:
            return self._replace(next=self.last + count)
        raise Refused(409, f"this view has given {self.step} pages, so that step {step} cannot be read")


class _View:
    __slots__ = ("place", "rows", "used", "user")

    def __init__(self, user: str, rows: list[Row], used: float) -> None:
        self.user, self.rows, self.used = user, rows, used
        self.place = Place()


class MemoryViews:
    """Views in the memory of this process. They end with the process, and no other server knows them."""

    def __init__(self, store: Store, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._limits, self._clock = store, limits, clock
        self._views: OrderedDict[str, _View] = OrderedDict()
        """Views by name, in the order of their last use, so that the first ones are the first to expire."""
        self._users: Counter[str] = Counter()
        self._lock = threading.Lock()

    def open(self, user: str) -> Opened:
        """Compute the answer and keep it for a user."""
        with self._lock:  # before the work: a client that will be refused costs nothing
            self._expire()
            self._make_room(user)
        answer = self._store.after(BEFORE_ALL, self._limits.rows + 1)
        check_length(len(answer.rows), self._limits)
        name = new_name()
        with self._lock:
            self._make_room(user)
            self._views[name] = _View(user, answer.rows, self._clock())
            self._users[user] += 1
        return Opened(name, answer.visited)

    def read(self, user: str, name: str, count: int, step: int | None) -> tuple[list[Row], bool]:
        """The next rows of a view, and True if there are more."""
        with self._lock:
            self._expire()
            view = self._views.get(name)
            if view is None or view.user != user:
                raise Refused(410, GONE)
            view.place = view.place.advance(count, step)
            view.used = self._clock()
            self._views.move_to_end(name)
            begin, end, _ = view.place
            more = end < len(view.rows)
            if not more and step is None:
                self._drop(name)  # read to the end; with steps the last page may be asked for again
            return view.rows[begin:end], more

    def close(self, user: str, name: str) -> None:
        """Forget a view. No effect if there is none."""
        with self._lock:
            if (view := self._views.get(name)) is not None and view.user == user:
                self._drop(name)

    def census(self) -> Census:
        """The number of views and rows that are kept."""
        with self._lock:
            self._expire()
            return Census(len(self._views), sum(len(view.rows) for view in self._views.values()))

    def _expire(self) -> None:
        oldest = self._clock() - self._limits.idle_s
        while self._views and (name := next(iter(self._views))) and self._views[name].used <= oldest:
            self._drop(name)

    def _make_room(self, user: str) -> None:
        check_user(self._users[user], self._limits)
        if len(self._views) >= self._limits.views:
            if self._limits.when_full == "refuse":
                raise full(self._limits)
            self._drop(next(iter(self._views)))

    def _drop(self, name: str) -> None:
        user = self._views.pop(name).user
        self._users[user] -= 1
        if not self._users[user]:
            del self._users[user]


def new_name() -> str:
    """A random name that cannot be guessed."""
    return secrets.token_urlsafe(16)


def check_length(rows: int, limits: Limits) -> None:
    """Refuse a view that is too long."""
    if rows > limits.rows:
        raise Refused(507, f"the answer has more than {limits.rows} rows, too many for a view; use a cursor")


def check_user(views: int, limits: Limits) -> None:
    """Refuse a user who has too many views."""
    if views >= limits.per_user:
        raise Refused(429, f"you have {views} views open, and {limits.per_user} are allowed; close one")


def full(limits: Limits) -> Refused:
    """The refusal of a full map."""
    return Refused(503, f"all {limits.views} views are in use; try again later")
