"""The toolbox of Camargos, Concorrência, "Coordenação": flags, monitors, locks, maps and thread-local variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vez.errors import Misuse
from vez.threads.operations import (
    Condition,
    Lock,
    Map,
    Output,
    ThreadLocal,
    acquire,
    add,
    lookup,
    notify_all,
    put_if_absent,
    read,
    release,
    say,
    sleep,
    store,
    wait,
    write,
)
from vez.threads.program import Body, Program, Steps


def busy_wait(busy: bool = True) -> Program:
    """A thread waits until a flag is set: it asks again and again, or sleeps on a condition."""

    def waiter() -> Steps:
        if busy:
            while not (yield read("condition")):
                pass
        else:
            yield acquire("lock")
            while not (yield read("condition")):
                yield wait("changed")
            yield release("lock")
        yield say("condition reached")

    def setter() -> Steps:
        yield sleep(1.0)
        yield acquire("lock")
        yield write("condition", True)
        yield notify_all("changed")
        yield release("lock")

    return Program(
        {"condition": False, "lock": Lock(), "changed": Condition("lock"), "output": Output()},
        {"waiter": waiter, "setter": setter},
        claim="the waiter sees the condition",
        at_end=lambda memory: memory["output"] == (("waiter", "condition reached"),),
    )


def volatile(volatile: bool = False) -> Program:
    """A loop on a flag. Unless `volatile`, the flag is read once, as a compiler may do, and its copy never changes."""

    def waiter() -> Steps:
        flag = yield read("condition")
        while not flag:
            yield sleep(0)
            if volatile:
                flag = yield read("condition")

    def setter() -> Steps:
        yield write("condition", True)

    return Program({"condition": False}, {"waiter": waiter, "setter": setter})


def torn_long(whole: bool = False) -> Program:
    """A number of two words is written and read. Unless `whole`, one word at a time, so a reader can see half of it."""

    def writer() -> Steps:
        if whole:
            yield write("number", (1, 1))
        else:
            yield write("high", 1)
            yield write("low", 1)

    def reader() -> Steps:
        if whole:
            seen = yield read("number")
        else:
            high = yield read("high")
            low = yield read("low")
            seen = (high, low)
        yield write("seen", seen)

    return Program(
        {"high": 0, "low": 0, "number": (0, 0), "seen": (0, 0)},
        {"writer": writer, "reader": reader},
        claim="the reader sees a number that somebody wrote: (0, 0) or (1, 1)",
        at_end=lambda memory: memory["seen"] in ((0, 0), (1, 1)),
    )


def monitor(objects: int = 2, rounds: int = 1) -> Program:
    """Two threads increment one counter in a synchronized method, on the same object or on an object of their own."""
    if objects < 1:
        raise Misuse(f"objects: at least 1, found {objects}", hint="1: both threads use the same monitor")

    def worker(place: int) -> Body:
        lock = f"monitor{place % objects + 1}"

        def body() -> Steps:
            for _ in range(rounds):
                yield acquire(lock)
                value = yield read("counter")
                yield write("counter", value + 1)
                yield release(lock)

        return body

    return Program(
        {"counter": 0, **{f"monitor{number}": Lock() for number in range(1, objects + 1)}},
        {"T1": worker(0), "T2": worker(1)},
        claim=f"counter is {2 * rounds}",
        at_end=lambda memory: bool(memory["counter"] == 2 * rounds),
    )


def namer(block: bool = True) -> Program:
    """Two threads add a name. With `block`, only the count is synchronized, as in the text; else the whole method."""

    def worker(name: str) -> Body:
        def body() -> Steps:
            if not block:
                yield acquire("this")
            yield write("last_name", name)
            if block:
                yield acquire("this")
            count = yield read("name_count")
            yield write("name_count", count + 1)
            if block:
                yield release("this")
            yield say(name, "names")
            if not block:
                yield release("this")

        return body

    def as_claimed(memory: Mapping[str, Any]) -> bool:
        return bool(memory["name_count"] == 2 and memory["names"][-1][1] == memory["last_name"])

    return Program(
        {"last_name": "", "name_count": 0, "names": Output(), "this": Lock()},
        {"T1": worker("Ana"), "T2": worker("Luís")},
        claim="name_count is 2, and last_name is the last in the list",
        at_end=as_claimed,
    )


def reentrant(reentrant: bool = False) -> Program:
    """A method that holds a lock calls another that acquires it too."""

    def worker() -> Steps:
        yield acquire("lock")
        yield acquire("lock")
        value = yield read("counter")
        yield write("counter", value + 1)
        yield release("lock")
        yield release("lock")

    return Program(
        {"counter": 0, "lock": Lock(reentrant)},
        {"T1": worker, "T2": worker},
        claim="counter is 2",
        at_end=lambda memory: bool(memory["counter"] == 2),
    )


class _Failure(Exception):
    """The failure of a thread that holds the lock."""


def try_finally(final: bool = False) -> Program:
    """The first thread fails while it holds a lock. With `final`, it releases the lock in `finally`."""

    def careless() -> Steps:
        try:
            yield acquire("lock")
            if (yield read("counter")) >= 0:
                raise _Failure
            yield release("lock")
        except _Failure:
            yield say("failed")

    def careful() -> Steps:
        try:
            yield acquire("lock")
            try:
                if (yield read("counter")) >= 0:
                    raise _Failure
            finally:
                yield release("lock")
        except _Failure:
            yield say("failed")

    def other() -> Steps:
        yield acquire("lock")
        yield add("counter")
        yield release("lock")

    return Program(
        {"counter": 0, "lock": Lock(), "output": Output()},
        {"T1": careful if final else careless, "T2": other},
        claim="counter is 1",
        at_end=lambda memory: bool(memory["counter"] == 1),
    )


def put_if_absent_map(atomic: bool = False) -> Program:
    """Two threads want to be the first to store a key: by a lookup and then a put, or by put-if-absent in one step."""

    def worker(name: str) -> Body:
        def body() -> Steps:
            if atomic:
                old = yield put_if_absent("map", "key", name)
            else:
                old = yield lookup("map", "key")
                if old is None:
                    yield store("map", "key", name)
            yield say("first" if old is None else f"after {old}")

        return body

    return Program(
        {"map": Map(), "output": Output()},
        {"T1": worker("T1"), "T2": worker("T2")},
        claim="one thread is the first",
        at_end=lambda memory: sum(line == "first" for _, line in memory["output"]) == 1,
    )


def thread_local(local: bool = False) -> Program:
    """Each thread stores its id in a variable and prints it. With `local`, each thread has its own variable."""

    def worker(number: int) -> Body:
        def body() -> Steps:
            yield write("my_id", number)
            mine = yield read("my_id")
            yield say(f"{number} is {mine}")

        return body

    return Program(
        {"my_id": ThreadLocal(0) if local else 0, "output": Output()},
        {f"T{number}": worker(number) for number in (1, 2)},
        claim="every thread reads its own id",
        at_end=lambda memory: {line for _, line in memory["output"]} == {"1 is 1", "2 is 2"},
    )
