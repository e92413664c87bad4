"""Servers that send wrong replies: every field of every real reply is removed, replaced or nested, one at a time.

Each wrong reply is either read as etcd would mean it, or refused in our own words: what was expected, what was found.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from typing import Any

import pytest

import vez
from tests.expectations import expect_no_error
from vez import aio
from vez.errors import EngineUnavailable, VezError
from vez.locks.engines.etcd import examination, task_connection, thread_connection
from vez.locks.engines.etcd.address import parse
from vez.locks.engines.etcd.error_replies import TokenExpired
from vez.locks.engines.etcd.http import Exchange
from vez.locks.engines.etcd.replies import LONGEST
from vez.locks.engines.etcd.router import Router
from vez.locks.engines.etcd.watching import Watching
from vez.locks.engines.network.transport import WatchEnded
from vez.locks.recipes import Unknown
from vez.locks.recipes.etcd.operations import (
    Compare,
    Delete,
    Get,
    KeepAlive,
    LeaseGrant,
    Put,
    Request,
    Revoke,
    Txn,
    Watch,
)

HEADER = {"cluster_id": "14841639068965178418", "member_id": "10276657743932975437", "revision": "5", "raft_term": "2"}
KV = {"key": "bi9h", "create_revision": "4", "mod_revision": "5", "version": "1", "value": "dg==", "lease": "7"}
TXN = Txn((Compare("a", "create", 0),), (Put("a", "v", 7), Get("a"), Delete("b")), (Get("a"), Get("b")))
REPLIES: list[tuple[Request, Any]] = [
    (Txn((), (Get("a"),)), {"header": HEADER, "kvs": [KV], "count": "1"}),
    (
        TXN,
        {
            "header": HEADER,
            "succeeded": True,
            "responses": [
                {"response_put": {"header": {"revision": "5"}}},
                {"response_range": {"header": {"revision": "5"}, "kvs": [KV, KV], "count": "2"}},
                {"response_delete_range": {"header": {"revision": "5"}, "deleted": "1"}},
            ],
        },
    ),
    (TXN, {"header": HEADER, "responses": [{"response_range": {"kvs": [KV]}}, {"response_range": {}}]}),
    (LeaseGrant(7, 10), {"header": HEADER, "ID": "7", "TTL": "10"}),
    (KeepAlive(7), {"result": {"header": HEADER, "ID": "7", "TTL": "10"}}),
    (Revoke(7), {"header": HEADER}),
]
"""Requests with replies as etcd 3.4 and 3.5 send them."""
WATCHED = [
    {"result": {"header": HEADER, "created": True}},
    {
        "result": {
            "header": HEADER,
            "events": [{"kv": KV}, {"type": "DELETE", "kv": {"key": "bi9h", "mod_revision": "6"}}],
        }
    },
    {"result": {"header": {"member_id": "7"}, "canceled": True, "compact_revision": "4", "cancel_reason": "compacted"}},
    {"error": {"grpc_code": 14, "http_code": 503, "message": "no leader", "http_status": "Service Unavailable"}},
    {"error": "no leader", "code": 14},
]
OTHERS: list[Any] = [
    None,
    True,
    1,
    -1,
    1.5,
    "",
    "text",
    [],
    {},
    [[]],
    [None],
    {"": {}},
    {"key": None},
    2**70,
    str(2**70),
    "1e400",
]
RAW = [b"", b"null", b"[]", b"1e999", b'"', b"\xff", b'{"header":{"revision":"\xff"}}', b"{" * 9999, b'{"a":' * 99999]
PYTHON = re.compile(
    r"NoneType|not subscriptable|has no attribute|unexpected keyword|positional argument|not iterable|unhashable|"
    r"zip\(\)|must be str,|not supported between|KeyError|TypeError|ssize_t|invalid literal|unpack|codec can't"
)
"""Signs of the text of an exception of Python."""


def changed(value: Any) -> Iterator[Any]:
    """The value with each of its parts replaced by another kind of value, removed or nested in one more layer."""
    yield from OTHERS
    yield [value]
    yield {"result": value}
    if isinstance(value, dict):
        for key, part in value.items():
            yield {name: other for name, other in value.items() if name != key}
            for new in changed(part):
                yield value | {key: new}
    elif isinstance(value, list):
        yield value + value
        for index, part in enumerate(value):
            yield value[:index] + value[index + 1 :]
            for new in changed(part):
                yield [*value[:index], new, *value[index + 1 :]]


def texts(value: Any) -> Iterator[bytes]:
    """The JSON texts of all changes, and texts that are no JSON."""
    yield from RAW
    for new in changed(value):
        yield json.dumps(new).encode()


def check_words(text: str) -> None:
    assert text
    assert not PYTHON.search(text), text
    assert len(text) < LONGEST + 200
    assert text.isprintable()


def router() -> Router[Any]:
    return Router(parse("etcd://127.0.0.1:2379/n"))


@pytest.mark.parametrize(("request_", "reply"), REPLIES)
def test_a_reply_of_another_shape_is_refused_in_our_words(request_: Request, reply: Any) -> None:
    address = parse("etcd://127.0.0.1:2379/n")
    refused = 0
    assert not isinstance(router().judge(request_, 200, json.dumps(reply).encode(), address.endpoints[0]), Unknown)
    for text in texts(reply):
        for status in (200, 400, 503):
            try:
                found = router().judge(request_, status, text, address.endpoints[0])
            except EngineUnavailable as error:
                refused += 1
                check_words(error.message)
            else:
                check_words(getattr(found, "why", "fine"))
    assert refused > len(RAW)


@pytest.mark.parametrize("message", WATCHED)
def test_a_message_of_a_watch_of_another_shape_ends_it_in_our_words(message: Any) -> None:
    for text in texts(message):
        arrived = Exchange()
        arrived.feed(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s\n" % (len(text) + 1, text))
        watching = Watching(router(), arrived, Watch("a", 5))
        try:
            watching.read(0.0)
        except WatchEnded as error:
            check_words(str(error))


@pytest.mark.parametrize("error", [{"error": "etcdserver: denied", "code": 7, "message": "x"}, WATCHED[3]])
def test_an_error_of_another_shape_is_told_in_our_words(error: Any) -> None:
    address = parse("etcd://u:p@127.0.0.1:2379/n")
    for text in texts(error):
        for status in (200, 401):
            for judged in (
                lambda found, status=status: router().judge(Revoke(7), status, found, address.endpoints[0]),
                lambda found, status=status: router().logged_in(status, found, address.endpoints[0]),
            ):
                try:
                    judged(text)
                except VezError as refused:
                    check_words(refused.message)
                except TokenExpired as expired:
                    check_words(str(expired))


def test_a_text_of_the_server_cannot_steer_a_terminal() -> None:
    address = parse("etcd://127.0.0.1:2379")
    text = json.dumps({"error": "\x1b[2J" + "x" * 10_000, "code": 7}).encode()
    with pytest.raises(EngineUnavailable) as caught:
        router().judge(Revoke(7), 403, text, address.endpoints[0])
    check_words(caught.value.message)


class Spoiler:
    """Changes one of the texts that arrive from a real server, and leaves the others alone."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, chance: Random) -> None:
        self.chance, self.left, self.spoilt = chance, 0, b""
        spoiler = self

        class Spoilt(Exchange):
            def body(self) -> bytes:
                return spoiler.spoil(super().body())

            def lines(self) -> list[bytes]:
                return [spoiler.spoil(line) for line in super().lines()]

        for module in (thread_connection, task_connection):
            monkeypatch.setattr(module, "Exchange", Spoilt)

    def spoil(self, text: bytes) -> bytes:
        self.left -= 1
        if self.left != -1:
            return text
        try:
            found = json.loads(text)
        except ValueError:
            return text
        self.spoilt = self.chance.choice(list(texts(found)))
        return self.spoilt

    def next(self, after: int) -> None:
        """Spoil the text that arrives after this many others."""
        self.left, self.spoilt = after, b""


def everything(client: vez.Client) -> Iterator[Callable[[], object]]:
    """Uses of a client, each by itself."""

    def stays(lock: Any) -> Callable[[], object]:
        return lambda: lock.acquire(2).release()

    yield stays(client.lock("x"))
    yield stays(client.lock("x", shared=True))
    yield stays(client.semaphore("s", 2))
    yield stays(client.election("e", label="one"))
    yield lambda: client.lock("x").acquire(0).release()
    yield lambda: client.inspect("x")
    yield lambda: client.locks("")
    yield lambda: client.break_lock("x", "a test")
    yield lambda: next(iter(client.election("e").observe(0.1)))
    yield client.prune
    yield lambda: client.engine.memo("x")
    yield lambda: client.engine.write_memo("x", "text", 1)
    yield lambda: examination.examine_cluster(parse(client.engine.url))


def spoil_in_threads(spoiler: Spoiler, url: str, times: int) -> None:
    for _ in range(times):
        with suppress(VezError), vez.connect(url) as client:
            uses = list(everything(client))
            spoiler.next(spoiler.chance.randrange(12))
            for use in spoiler.chance.sample(uses, 4):
                try:
                    use()
                except VezError as error:
                    check_words(error.message)


async def spoil_in_tasks(spoiler: Spoiler, url: str, times: int) -> None:
    for _ in range(times):
        async with aio.connect(url) as client:
            holder = client.lock("x", timeout=2)
            spoiler.next(spoiler.chance.randrange(12))
            with suppress(vez.OwnershipLost):
                try:
                    async with holder, client.election("e", timeout=2):
                        await client.inspect("x")
                except VezError as error:
                    check_words(error.message)


@pytest.mark.parametrize("times", [12, pytest.param(600, marks=[pytest.mark.long, pytest.mark.limit(1200)])])
def test_a_client_bears_any_wrong_reply(url: str, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One reply of a real server is wrong, of any kind. Each use ends, or fails in our words, and a lock is free
    afterwards: nothing else escapes, also from threads and tasks in the background."""
    seed = Random().randrange(1 << 30)
    print(f"seed {seed}")
    spoiler = Spoiler(monkeypatch, Random(seed))
    spoil_in_threads(spoiler, url, times)
    asyncio.run(spoil_in_tasks(spoiler, url, times))
    spoiler.left = -1
    with expect_no_error("the lock is not free"), vez.connect(url) as client:
        client.lock("x").acquire(30).release()
