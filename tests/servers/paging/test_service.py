"""The paged query behind real servers: every model, hostile requests, notifications."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.servers.paging.conftest import opened
from tests.servers.paging.test_accounts import CHEAP, PASSWORD
from tests.servers.paging.test_ways import ROWS, Clock, products, refused
from vez.servers.paging.accounts import account, basic
from vez.servers.paging.measure.notices import Subscriber
from vez.servers.paging.news import KEPT, LAST_S, MOST, PER_USER, Notifier
from vez.servers.paging.pager import WAYS
from vez.servers.paging.process import Client
from vez.servers.paging.service import Paging, Setup
from vez.servers.paging.signing import new_key
from vez.servers.paging.store import Row
from vez.servers.paging.views import Limits
from vez.servers.paging.watch import make_watch
from vez.servers.serving import MODELS, Request, make_server
from vez.testing import eventually

ACCOUNTS = [account(name, PASSWORD, cost=CHEAP) for name in ("ana", "bia")]


def setup(database: str, **more: Any) -> Setup:
    return Setup(database=database, key=new_key(), accounts=ACCOUNTS, **more)


@contextmanager
def served(given: Setup, model: str = "pool") -> Iterator[int]:
    """The port of a server in this process."""
    with opened(given.database) as store:
        store.create(products())
    with make_server(model, Paging(given)) as server:
        yield server.address[1]


@contextmanager
def client(port: int, user: str = "ana", kind: str = "session") -> Iterator[Client]:
    found = Client(port, basic(user, PASSWORD))
    try:
        if kind != "password":
            found.log_in(kind)
        yield found
    finally:
        found.close()


@pytest.mark.parametrize("model", MODELS)
def test_every_model_serves_every_way_to_clients_at_once(model: str, tmp_path: Path) -> None:
    got: dict[str, list[Row]] = {way: [] for way in WAYS}

    def read(port: int, way: str) -> None:
        with client(port, kind="token") as one:
            for rows in one.pages(way, 33):
                got[way] += rows

    with served(setup(str(tmp_path / "shop.db")), model) as port:
        threads = [threading.Thread(target=read, args=(port, way)) for way in WAYS]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert got == dict.fromkeys(WAYS, sorted(products()))


def test_every_way_on_every_database(database: str) -> None:
    for stable in (False, True):
        with served(setup(database, stable=stable)) as port, client(port) as one:
            for way in WAYS:
                assert [row for page in one.pages(way, 50) for row in page] == sorted(products())
            assert one.ask("GET", "/status")["views"] == 0
            with opened(database) as store:
                store.remove([number for _, number, _ in products()])


@pytest.mark.parametrize(
    ("status", "method", "target"),
    [
        (404, "GET", "/"), (404, "PUT", "/rows"), (404, "GET", "/rows/"), (404, "GET", "/../etc/passwd"),
        (400, "GET", "/rows?count=0"), (400, "GET", "/rows?count=-1"), (400, "GET", "/rows?count=1001"),
        (400, "GET", "/rows?count=9999999999999"), (400, "GET", "/rows?count=%D9%A3"), (400, "GET", "/rows?way=best"),
        (400, "GET", "/rows?cursor=abc"), (400, "GET", "/rows?cursor=" + "A" * 3000),
        (400, "GET", "/rows?cursor=%00%ff"), (410, "GET", "/rows?view=unknown"), (410, "GET", "/rows?view=a&step=1"),
        (400, "POST", "/login?as=king"), (400, "POST", "/subscribe?port=80"), (400, "POST", "/subscribe?port=70000"),
        (404, "GET", "//[/rows"),
        (403, "POST", "/subscribe"), (400, "GET", "/news?after=x"), (401, "POST", "/login"),
    ],
)  # fmt: skip
def test_requests_that_are_refused(hostile: int, status: int, method: str, target: str) -> None:
    kind = "password" if "as=" in target else "session" if "subscribe" in target else "token"
    with client(hostile, kind=kind) as one:
        refused(status, lambda: one.ask(method, target))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with served(setup(str(tmp_path_factory.mktemp("hostile") / "shop.db"))) as port:
        yield port


def test_nobody_reads_the_cursor_or_the_view_of_another(hostile: int) -> None:
    with client(hostile, "ana") as ana, client(hostile, "bia") as bia:
        cursor, view = ana.first("keyset", 5)["next"], ana.first("view", 5)["next"]
        refused(403, lambda: bia.following("keyset", cursor, 5))
        refused(410, lambda: bia.following("view", view, 5))
        bia.ask("DELETE", "/rows", {"view": view})
        assert len(ana.following("view", view, 5)["rows"]) == 5
        ana.ask("DELETE", "/rows", {"view": view})
        refused(410, lambda: ana.following("view", view, 5))


def test_without_a_name_nothing_is_served_and_the_browser_is_told_to_ask(hostile: int) -> None:
    for authorization in ("", "Bearer nonsense", basic("ana", "wrong")):
        one = Client(hostile, authorization)
        refused(401, partial(one.ask, "GET", "/status"))
        one.close()


def test_a_page_of_another_site_cannot_use_the_session(service: Paging) -> None:
    header = basic("ana", PASSWORD).encode()
    for origin, status in ((None, 200), (b"http://evil.example", 404)):
        more = () if origin is None else ((b"origin", origin),)
        question = service.decode(Request("GET", "/rows", ((b"authorization", header), *more)))
        assert service.answer(service.decide(question)).status == status


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Paging]:
    given = setup(str(tmp_path_factory.mktemp("service") / "shop.db"), limits=Limits(views=3))
    with opened(given.database) as store:
        store.create(products(10))
    found = Paging(given)
    yield found
    found.close()


@given(
    st.sampled_from(["GET", "POST", "DELETE", "BREW"]),
    st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=60).map(lambda text: "/" + text)
    | st.builds(lambda path, fields: f"/{path}?{fields}", st.sampled_from(["rows", "login", "news", "subscribe"]),
                st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=60)),
    st.none() | st.just(basic("ana", PASSWORD).encode()) | st.binary(max_size=30),
    st.binary(max_size=40),
)  # fmt: skip
def test_whatever_is_asked_there_is_an_answer(
    service: Paging, method: str, target: str, who: bytes | None, body: bytes
) -> None:
    headers = () if who is None else ((b"authorization", who),)
    answer = service.answer(service.decide(service.decode(Request(method, target, headers, body))))
    assert answer.status in (200, 400, 401, 403, 404, 409, 410, 429, 503)
    assert isinstance(msgspec.json.decode(answer.body), dict)


def test_a_session_is_told_of_new_rows_in_their_order_and_once(database: str) -> None:
    with served(setup(database)) as port, client(port) as one, opened(database) as store:
        subscriber = Subscriber(one)
        before = one.requests
        new = list(range(9001, 9008))
        for number in new:
            store.insert([(1, number, "new")])
        assert [subscriber.next() for _ in new] == new
        assert one.requests == before
        assert subscriber.missed(subscriber.number - 2) == new[-2:]
        assert one.ask("GET", "/status")["told"] == len(new)
        subscriber.close()


def test_a_transaction_that_is_rolled_back_is_no_news(database: str) -> None:
    with served(setup(database)) as port, client(port) as one, opened(database) as store:
        subscriber = Subscriber(one)
        with pytest.raises(Exception, match=r"(?i)unique"):
            store.insert([(1, 9001, "never"), (1, 1, "there is one with this number")])
        store.insert([(1, 9002, "really")])
        assert subscriber.next() == 9002
        subscriber.close()


class Script:
    """A watch whose rows the test gives."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        self.told = threading.Event()
        self.stopped = threading.Event()

    def changes(self) -> Iterator[Row]:
        yield from self.rows
        self.told.set()
        self.stopped.wait(10)

    def stop(self) -> None:
        self.stopped.set()


def test_subscriptions_are_limited_expire_and_keep_the_latest_news() -> None:
    clock, watch = Clock(), Script([(1, number, "x" * 3000) for number in range(KEPT + 50)])
    notifier = Notifier(lambda: watch, clock)
    for number in range(MOST):
        notifier.subscribe(f"user-{number}", f"session-{number}", 40_000)
    refused(503, lambda: notifier.subscribe("one more", "one more", 40_000))
    notifier.subscribe("user-1", "session-1", 40_001)  # again, instead of before
    refused(403, lambda: notifier.confirm("session-1", "a guess"))
    refused(403, lambda: notifier.confirm("nobody", ""))
    notifier.confirm("session-1", notifier._subscribers["session-1"].word)
    assert watch.told.wait(10)
    assert notifier.subscribers == 1
    assert [news.row[1] for news in notifier.missed(KEPT)] == list(range(KEPT, KEPT + 50))
    assert len(notifier.missed(0)) == KEPT
    clock.now += LAST_S + 1
    for number in range(PER_USER):
        notifier.subscribe("ana", f"late-{number}", 40_000)
    assert list(notifier._subscribers) == [f"late-{number}" for number in range(PER_USER)]
    refused(429, lambda: notifier.subscribe("ana", "late", 40_000))
    notifier.close()


def test_a_contract_that_cannot_be_kept_is_not_renewed() -> None:
    """The watch ends, as it does if the database goes away."""
    watch = Script([(1, 1, "new")])
    notifier = Notifier(lambda: watch)
    notifier.subscribe("ana", "session", 40_000)
    word = notifier._subscribers["session"].word
    notifier.confirm("session", word)
    thread = notifier._thread
    watch.stop()
    assert thread is not None
    thread.join(10)
    assert len(notifier.missed(0)) == 1
    refused(403, lambda: notifier.confirm("session", word))
    notifier.close()


def test_only_a_session_is_told_and_log_out_ends_it(hostile: int) -> None:
    with client(hostile, kind="token") as one:
        refused(403, lambda: one.ask("POST", "/subscribe", {"port": 40_000}))
    with client(hostile) as one, client(hostile) as other:
        subscriber = Subscriber(one)
        before = other.ask("GET", "/status")["subscribers"]
        assert one.ask("POST", "/logout") == {"ended": True}
        assert other.ask("GET", "/status")["subscribers"] == before - 1
        refused(401, subscriber.renew)
        subscriber.close()


def test_a_watch_ends_when_it_is_told_to(database: str) -> None:
    with opened(database) as store:
        store.create(products(3))
        watch = make_watch(store)
        seen: list[Row] = []
        thread = threading.Thread(target=lambda: seen.extend(watch.changes()))
        thread.start()
        store.insert([(1, 9001, "new")])
        eventually(lambda: bool(seen), "the change is seen")
        watch.stop()
        thread.join(10)
        assert not thread.is_alive()
        assert seen == [(1, 9001, "new")]


def test_products_of_the_tests_are_ordered_by_more_than_their_price() -> None:
    assert len({price for price, _, _ in products()}) < ROWS
