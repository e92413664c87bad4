"""What users of other libraries type first, and the errors that name the word of vez for it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import vez
import vez.aio
from vez.errors import AlreadyHeld, Misuse
from vez.locks.turns import other_words
from vez.locks.turns.client_base import Options

LIBRARY: Any = vez
Try = Callable[[Any], object]


@pytest.fixture
def client() -> Iterator[vez.Client]:
    with vez.connect("memory:other-words") as made:
        yield made


FIRST: tuple[tuple[Try, type[Exception], str], ...] = (
    # filelock
    (lambda client: LIBRARY.FileLock, AttributeError, "'FileLock': vez.lock(name)"),
    (lambda client: LIBRARY.Lock("report"), Misuse, "write vez.lock('nightly')"),
    (lambda client: LIBRARY.Client("file:"), Misuse, "write connect('file:')"),
    (lambda client: LIBRARY.aio.Lock("report"), Misuse, "write vez.aio.lock('nightly')"),
    (lambda client: client.lock("/var/report.lock"), Misuse, "a name is not a path"),
    (lambda client: client.lock("report", timeout=-1), Misuse, "None waits without limit"),
    (lambda client: client.lock("report").acquire(timeout=-1), Misuse, "try_acquire() does not wait"),
    (lambda client: client.lock("report", blocking=False), TypeError, "lock.try_acquire() does not wait"),
    (lambda client: client.lock("report").is_locked, AttributeError, "lock.locked(): by anybody"),
    (lambda client: client.lock("report", is_singleton=True), TypeError, "vez.lock(name, reentrant=True)"),
    (lambda client: LIBRARY.Timeout, AttributeError, "vez.LockTimeout"),
    (lambda client: LIBRARY.ReadWriteLock, AttributeError, "client.read_lock(name)"),
    # fasteners
    (lambda client: LIBRARY.InterProcessLock, AttributeError, "vez.lock(name)"),
    (lambda client: client.lock("report").trylock(), AttributeError, "lock.try_acquire()"),
    (lambda client: client.lock("report").acquired, AttributeError, "lock.owned"),
    (lambda client: LIBRARY.interprocess_locked, AttributeError, "@vez.lock(name)"),
    # portalocker, threading
    (lambda client: LIBRARY.RLock, AttributeError, "reentrant=True"),
    (lambda client: LIBRARY.BoundedSemaphore, AttributeError, "client.semaphore(name, limit)"),
    (lambda client: client.lock("report", check_interval=1), TypeError, "waiters are woken"),
    (lambda client: client.lock("report", fail_when_locked=True), TypeError, "lock.try_acquire()"),
    (lambda client: client.lock("report").acquire(False), Misuse, "try_acquire() does not wait"),
    (lambda client: client.lock("report").acquire(True), Misuse, "None waits without limit"),
    # redis-py
    (lambda client: client.lock("report", blocking_timeout=5), TypeError, "timeout="),
    (lambda client: client.lock("report", sleep=0.1), TypeError, "waiters are woken"),
    (lambda client: client.lock("report").extend(10), AttributeError, "nothing has to be renewed"),
    (lambda client: vez.connect("localhost:2379"), Misuse, "etcd://localhost:2379"),
    (lambda client: LIBRARY.connect(5), Misuse, "an engine URL is text, found 5"),
    (lambda client: LIBRARY.aio.connect(5), Misuse, "an engine URL is text, found 5"),
    # kazoo
    (lambda client: client.Lock, AttributeError, "client.lock(name)"),
    (lambda client: client.lock("report", identifier="me"), TypeError, "label="),
    (lambda client: client.lock("report").contenders(), AttributeError, "client.inspect(name)"),
    (lambda client: client.Semaphore, AttributeError, "client.semaphore(name, limit)"),
    (lambda client: client.election("report").run(print), AttributeError, "lead(work, every=60)"),
    # tooz
    (lambda client: LIBRARY.get_coordinator, AttributeError, "vez.connect(url)"),
    (lambda client: client.get_lock(b"report"), AttributeError, "client.lock(name)"),
    (lambda client: client.watch_elected_as_leader, AttributeError, "lead(work, every=60)"),
    (lambda client: client.lock("report").heartbeat(), AttributeError, "nothing has to be renewed"),
    # words of vez in another place
    (lambda client: LIBRARY.semaphore, AttributeError, "vez.connect().semaphore"),
    (lambda client: client.every, AttributeError, "client.lock(name).every('1d')"),
    (lambda client: client.lock("report", limit=3), TypeError, "client.semaphore(name, limit)"),
    (lambda client: client.lock("report", lable="me"), TypeError, "did you mean label?"),
    (lambda client: client.lock("report").aquire(), AttributeError, "did you mean acquire?"),
    (lambda client: client.elections, AttributeError, "did you mean election?"),
)


@pytest.mark.parametrize(("first", "kind", "words"), FIRST)
def test_the_first_try_ends_at_the_word_of_vez(
    first: Try, kind: type[Exception], words: str, client: vez.Client
) -> None:
    with pytest.raises(kind) as found:
        first(client)
    assert words in str(found.value)
    assert "\n" not in str(found.value)


def test_a_number_is_a_space_of_memory() -> None:
    with vez.connect("memory:0") as client, client.lock("x") as grant:
        assert grant.token


def test_every_way_exists(client: vez.Client) -> None:
    """A hint that names something else than vez has would end nowhere."""
    places: dict[str, Any] = {
        "vez": vez, "vez.aio": vez.aio, "client": client, "lock": client.lock("x"), "name)": client.election("x"),
    }  # fmt: skip
    options = {*Options.__annotations__, "shared", "weight", "every"}
    found = 0
    for _, hint in other_words._HINTS:
        for place, word in re.findall(r"(vez\.aio|vez|client|lock|name\))\.([A-Za-z_]+)", hint):
            assert word == "aio" or hasattr(places[place], word), hint
            found += 1
        for option in re.findall(r"([a-z_]+)=", hint):
            assert option in options, hint
            found += 1
    assert found > 30
    methods = {name for name, value in inspect.getmembers(vez.Client, callable) if not name.startswith("_")}
    assert set(other_words._OF_CLIENTS) | {"lock", "close", "locks", "measure"} == methods


def test_an_unknown_name_without_a_way_is_told_as_python_does(client: vez.Client) -> None:
    with pytest.raises(AttributeError, match=r"^'Client' object has no attribute 'zzz'$"):
        _ = client.zzz  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"^'Lock' object has no attribute '_lock'$"):
        _ = client.lock("x")._lock  # type: ignore[attr-defined]
    assert not hasattr(vez, "zzz")
    assert not hasattr(vez, "__wrapped__")


def test_who_holds_it_is_told_how_to_enter_again(client: vez.Client) -> None:
    """The hint is followed: what it says works, in each case."""
    with client.lock("x"), pytest.raises(AlreadyHeld, match="reentrant=True"):
        client.lock("x").acquire()
    with client.lock("x", reentrant=True), pytest.raises(AlreadyHeld, match="the object that holds it"):
        client.lock("x", reentrant=True).acquire()
    again = client.lock("x", reentrant=True)
    with again, again:
        assert again.owned
    leads = client.election("x", reentrant=True)
    with leads, leads:
        assert leads.owned
    with client.read_lock("x"), pytest.raises(AlreadyHeld, match="exclude each other: release it first"):
        client.write_lock("x").acquire()
    two = client.semaphore("x", 2)
    with two, two, pytest.raises(AlreadyHeld, match="the caller has all: release one first"):
        two.acquire()
