"""A client that goes away while it reads must not end the server: etcd 3.5.1 panics if such a read is a transaction."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator

import pytest

from tests.locks.etcd.conftest import started
from vez.locks.engines.etcd.codec import Codec
from vez.locks.engines.etcd.http import Exchange
from vez.locks.recipes import Call, Recipe, Unwatched, Wait
from vez.locks.recipes.etcd.lock import Seat, look, look_all
from vez.locks.recipes.etcd.operations import Compare, Get, Put, Txn
from vez.locks.recipes.etcd.session import Session, keep
from vez.testing.servers import EtcdServer

TIMES = 300
"""With a transaction it took fewer than twenty."""


@pytest.fixture(params=["system", "distro"])
def server(request: pytest.FixtureRequest) -> Iterator[EtcdServer]:
    yield from started(request.param)


def first_call(recipe: Recipe[object]) -> Txn:
    step = next(recipe)
    assert isinstance(step, Call)
    return step.request  # type: ignore[no-any-return]


def after_a_lost_watch() -> Txn:
    recipe = keep(Session(7, 1), 3)
    step = next(recipe)
    while not isinstance(step, Wait):
        step = recipe.send(None)
    step = recipe.send(Unwatched())
    assert isinstance(step, Call)
    return step.request  # type: ignore[no-any-return]


READS: dict[str, Callable[[], Txn]] = {
    "a waiter": lambda: first_call(look(Seat("x/7", 100), "x")),
    "an observer": lambda: first_call(look_all("x")),
    "an inspection": lambda: first_call(look_all("x", Get("vez/breaks/", "vez/breaks0"))),
    "a renewal": after_a_lost_watch,
    "whoever asks on a condition": lambda: Txn((Compare("x/1", "create", 0),), (Get("x/", "x0"),), (Get("x/1"),)),
}


@pytest.mark.parametrize("who", READS)
def test_who_leaves_while_it_reads_does_not_end_the_server(server: EtcdServer, who: str) -> None:
    codec = Codec()

    def sent(txn: Txn) -> socket.socket:
        path, body = codec.encode(txn)
        link = socket.create_connection(("127.0.0.1", server.port), 5)
        link.sendall(Exchange().request(server.endpoint, path, body))
        return link

    for number in range(100):
        with sent(Txn((), (Put(f"x/{number}", "v" * 50),))) as link:
            link.recv(4096)
    asked = READS[who]()
    for number in range(TIMES):
        link = sent(asked)
        time.sleep(number % 20 * 0.00005)  # so that the server is at another point each time
        link.close()
    with sent(asked) as link:
        assert b"200 OK" in link.recv(4096)
    assert server.process is not None
    assert server.process.poll() is None
