"""The paged query as a service of `vez.servers.serving`: requests of HTTP in, JSON out.

    POST   /login?as=session|token      who I am from now on; needs the password
    POST   /logout                      end my session
    GET    /rows?way=W&count=N          the first page
    GET    /rows?cursor=C&count=N       the page after a cursor
    GET    /rows?view=V&count=N&step=S  the next page of a view; with a step, a page can be asked for again
    DELETE /rows?view=V                 I need the view no more
    POST   /subscribe?port=P            send me a word there
    POST   /subscribe                   the word (body): tell me of new rows
    GET    /news?after=N                notifications that I missed
    GET    /status                      what the server remembers, and what it has checked

Every request says who is asking, in the header Authorization. Refusals are JSON too: {"error": "…"}.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from vez.servers.paging.accounts import Account, Gate
from vez.servers.paging.news import Notifier
from vez.servers.paging.pager import Pager
from vez.servers.paging.refusal import Refused
from vez.servers.paging.sessions import MemorySessions, SessionLimits, StableSessions
from vez.servers.paging.stable_views import StableViews
from vez.servers.paging.store import open_store
from vez.servers.paging.views import Limits, MemoryViews
from vez.servers.paging.watch import make_watch
from vez.servers.serving import Answer, Request, Service

MOST_FIELDS = 8
PLENTY = 4096
"""Largest number of characters of a query, and of bytes of a body."""


class Setup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The setup of a server. It comes on standard input, because the key and the database are secret."""

    database: str
    """Path of a SQLite file, or a connection string of PostgreSQL."""
    key: bytes
    """The key that signs cursors and tokens. Servers with the same key accept each other's."""
    accounts: Sequence[Account]
    stable: bool = False
    """True if views and sessions are kept in the database instead of in memory."""
    counting: bool = False
    """True if the rows that the database visits are counted."""
    limits: Limits = Limits()
    session_limits: SessionLimits = SessionLimits()
    model: str = "pool"
    port: int = 0


class Question(msgspec.Struct, frozen=True):
    """A request, decoded."""

    asked: str
    """Method and path."""
    fields: dict[str, str]
    authorization: str | None
    body: str


class Paging(Service[Question, dict[str, Any]]):
    """Serves pages to authenticated users."""

    name = "paging"

    def __init__(self, setup: Setup) -> None:
        self._store = store = open_store(setup.database, counting=setup.counting)
        limits, sessions = setup.limits, setup.session_limits
        self._views = StableViews(store, limits) if setup.stable else MemoryViews(store, limits)
        known = StableSessions(store, sessions) if setup.stable else MemorySessions(sessions)
        self._gate = Gate({account.name: account for account in setup.accounts}, setup.key, known)
        self._pager = Pager(store, setup.key, self._views)
        self._news = Notifier(lambda: make_watch(store))
        self._calls: dict[str, Callable[[str, Question], Any]] = {
            "GET /rows": self._rows, "DELETE /rows": self._close, "POST /subscribe": self._subscribe,
            "GET /news": self._missed, "GET /status": self._status,
        }  # fmt: skip

    def decode(self, request: Request) -> Question:
        """Method, path, fields and authorization of a request. `decide` refuses a request that cannot be read."""
        path, _, query = request.target.partition("?")
        fields = dict(parse_qsl(query[:PLENTY])[:MOST_FIELDS])
        authorization = (request.header(b"authorization") or b"").decode("latin-1")
        # A page in a browser could otherwise make requests in the name of the user who looks at it.
        asked = "a page" if request.header(b"origin") is not None else f"{request.method} {path}"
        return Question(asked, fields, authorization or None, request.body[:PLENTY].decode("utf-8", "replace"))

    def decide(self, question: Question) -> dict[str, Any]:
        """Authenticate the user, and execute the request."""
        try:
            if question.asked == "POST /login":
                kind = question.fields.get("as", "session")
                if kind not in ("session", "token"):
                    raise Refused(400, "log in as=session or as=token")
                return {"secret": self._gate.log_in(question.authorization, remember=kind == "session")}
            if question.asked == "POST /logout":
                return {"ended": self._log_out(question.authorization)}
            user = self._gate.who(question.authorization)
            if (call := self._calls.get(question.asked)) is None:
                raise Refused(404, "there is no such page")
            found: dict[str, Any] = call(user, question)
            return found
        except Refused as refused:
            return {"error": str(refused), "status": refused.status}

    def answer(self, result: dict[str, Any]) -> Answer:
        """The result as JSON."""
        status = result.get("status", 200)
        more = (("WWW-Authenticate", "Basic"),) if status == 401 else ()
        return Answer(status, msgspec.json.encode(result), "application/json", (("Cache-Control", "no-store"), *more))

    def close(self) -> None:
        """End the notifier and the connections to the database."""
        self._news.close()
        self._store.close()

    def _rows(self, user: str, question: Question) -> dict[str, Any]:
        fields = question.fields
        count = _number(fields, "count", 20)
        if "cursor" in fields:
            page = self._pager.following(user, fields["cursor"], count)
        elif "view" in fields:
            step = _number(fields, "step", 0) if "step" in fields else None
            page = self._pager.read_view(user, fields["view"], count, step)
        else:
            page = self._pager.first(user, fields.get("way", "keyset"), count)
        return {"rows": page.rows, "next": page.next, "visited": page.visited}

    def _close(self, user: str, question: Question) -> dict[str, Any]:
        self._views.close(user, question.fields.get("view", ""))
        return {}

    def _log_out(self, authorization: str | None) -> bool:
        ended = self._gate.log_out(authorization)
        if ended:
            self._news.end(self._gate.session(authorization))
        return ended

    def _subscribe(self, user: str, question: Question) -> dict[str, Any]:
        session = self._gate.session(question.authorization)
        if "port" in question.fields:
            self._news.subscribe(user, session, _number(question.fields, "port", 0))
        else:
            self._news.confirm(session, question.body)
        return {}

    def _missed(self, user: str, question: Question) -> dict[str, Any]:
        return {"news": self._news.missed(_number(question.fields, "after", 0))}

    def _status(self, user: str, question: Question) -> dict[str, Any]:
        census, checks = self._views.census(), msgspec.to_builtins(self._gate.checks)
        told = {"subscribers": self._news.subscribers, "told": self._news.told}
        return {"views": census.views, "kept_rows": census.rows, **checks, **told}


def _number(fields: dict[str, str], name: str, default: int) -> int:
    text = fields.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise Refused(400, f"{name} is a whole number")
    return int(text)
