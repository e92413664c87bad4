"""Programs: the classics of shared memory, each a function that returns a `Program`.

counter           read, add one, write back: the lost update; with a lock per step or per loop; atomic
two-locks         two locks acquired in opposite order: deadlock
mslunch           two counters with one lock each: independent updates need not exclude each other
wait-notify       a consumer that tests and then waits: a notification in between is lost
blocking-queue    producers and consumers around a bounded queue, made of a lock and two conditions
readers-writers   readers share, a writer is alone
pipeline          a producer and a consumer around a ready-made queue

`counter` follows the GBC074 slides, "Exemplos com threads"; `two-locks`, `mslunch` and `wait-notify` take up examples
of Camargos, Concorrência, "Coordenação" (docs/sources.md).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from vez.errors import UnknownName
from vez.threads.operations import (
    Body,
    Condition,
    Lock,
    Operation,
    Program,
    Queue,
    acquire,
    add,
    get,
    notify,
    notify_all,
    put,
    read,
    release,
    wait,
    write,
)

Steps = Generator[Operation, Any, None]
LOCKS = ("none", "step", "loop", "atomic")


def counter(threads: int = 2, rounds: int = 1, lock: str = "none") -> Program:
    """Every thread adds one to a shared counter, `rounds` times."""
    if lock not in LOCKS:
        raise UnknownName("lock", lock, LOCKS)

    def worker() -> Steps:
        if lock == "loop":
            yield acquire("lock")
        for _ in range(rounds):
            if lock == "atomic":
                yield add("counter")
                continue
            if lock == "step":
                yield acquire("lock")
            value = yield read("counter")
            yield write("counter", value + 1)
            if lock == "step":
                yield release("lock")
        if lock == "loop":
            yield release("lock")

    return Program(
        {"counter": 0, "lock": Lock()},
        {f"T{number}": worker for number in range(1, threads + 1)},
        claim=f"counter is {threads * rounds}",
        at_end=lambda memory: bool(memory["counter"] == threads * rounds),
    )


def two_locks(ordered: bool = False) -> Program:
    """Each thread needs both locks. With `ordered`, both threads acquire them in the same order."""

    def worker(first: str, second: str) -> Body:
        def body() -> Steps:
            yield acquire(first)
            yield acquire(second)
            yield release(second)
            yield release(first)

        return body

    other = ("lock1", "lock2") if ordered else ("lock2", "lock1")
    return Program({"lock1": Lock(), "lock2": Lock()}, {"T1": worker("lock1", "lock2"), "T2": worker(*other)})


def mslunch(rounds: int = 1) -> Program:
    """Two independent counters with one lock each."""

    def worker(name: str) -> Body:
        def body() -> Steps:
            for _ in range(rounds):
                yield acquire(f"lock_{name}")
                value = yield read(name)
                yield write(name, value + 1)
                yield release(f"lock_{name}")

        return body

    threads = {"T1": worker("c1"), "T2": worker("c2"), "T3": worker("c1"), "T4": worker("c2")}
    return Program(
        {"c1": 0, "c2": 0, "lock_c1": Lock(), "lock_c2": Lock()},
        threads,
        claim=f"c1 and c2 are {2 * rounds}",
        at_end=lambda memory: bool(memory["c1"] == memory["c2"] == 2 * rounds),
    )


def wait_notify(careful: bool = False) -> Program:
    """A consumer waits until a flag is set. Unless `careful`, it tests the flag before it acquires the lock."""

    def consumer() -> Steps:
        if careful:
            yield acquire("lock")
            while not (yield read("ready")):
                yield wait("changed")
            yield release("lock")
            return
        if not (yield read("ready")):
            yield acquire("lock")
            yield wait("changed")
            yield release("lock")

    def producer() -> Steps:
        yield acquire("lock")
        yield write("ready", True)
        yield notify("changed")
        yield release("lock")

    return Program(
        {"ready": False, "lock": Lock(), "changed": Condition("lock")}, {"consumer": consumer, "producer": producer}
    )


def blocking_queue(
    producers: int = 1, consumers: int = 2, items: int = 2, capacity: int = 1, one_condition: bool = False
) -> Program:
    """A bounded queue of a lock and two conditions. With `one_condition`, a notification can wake the wrong thread."""
    full, empty = ("changed", "changed") if one_condition else ("not_full", "not_empty")

    def producer() -> Steps:
        for _ in range(items):
            yield acquire("lock")
            while (yield read("size")) == capacity:
                yield wait(full)
            size = yield read("size")
            yield write("size", size + 1)
            yield notify(empty)
            yield release("lock")

    def consumer() -> Steps:
        for _ in range(producers * items // consumers):
            yield acquire("lock")
            while (yield read("size")) == 0:
                yield wait(empty)
            size = yield read("size")
            yield write("size", size - 1)
            yield notify(full)
            yield release("lock")

    shared: dict[str, Any] = {"size": 0, "lock": Lock(), full: Condition("lock"), empty: Condition("lock")}
    threads: dict[str, Body] = {f"producer{n}": producer for n in range(1, producers + 1)}
    threads |= {f"consumer{n}": consumer for n in range(1, consumers + 1)}
    return Program(
        shared,
        threads,
        claim="the queue is empty again",
        at_end=lambda memory: bool(memory["size"] == 0),
        invariant=f"never more than {capacity} in the queue, never fewer than 0",
        always=lambda memory: bool(0 <= memory["size"] <= capacity),
    )


def readers_writers(readers: int = 2, writers: int = 2) -> Program:
    """Readers share, a writer is alone: a reader count under a lock, and one condition."""

    def reader() -> Steps:
        yield acquire("lock")
        while (yield read("writing")):
            yield wait("free")
        count = yield read("reading")
        yield write("reading", count + 1)
        yield release("lock")
        yield acquire("lock")
        count = yield read("reading")
        yield write("reading", count - 1)
        yield notify_all("free")
        yield release("lock")

    def writer() -> Steps:
        yield acquire("lock")
        while (yield read("writing")) or (yield read("reading")):
            yield wait("free")
        yield write("writing", 1)
        yield release("lock")
        yield acquire("lock")
        yield write("writing", 0)
        yield notify_all("free")
        yield release("lock")

    threads: dict[str, Body] = {f"reader{n}": reader for n in range(1, readers + 1)}
    threads |= {f"writer{n}": writer for n in range(1, writers + 1)}
    return Program(
        {"reading": 0, "writing": 0, "lock": Lock(), "free": Condition("lock")},
        threads,
        invariant="nobody reads while one writes",
        always=lambda memory: not (memory["writing"] and memory["reading"]),
    )


def pipeline(items: int = 2, capacity: int = 1) -> Program:
    """A producer and a consumer around a ready-made queue."""

    def producer() -> Steps:
        for item in range(1, items + 1):
            yield put("queue", item)

    def consumer() -> Steps:
        total = 0
        for _ in range(items):
            total += yield get("queue")
        yield write("total", total)

    return Program(
        {"queue": Queue(capacity), "total": 0},
        {"producer": producer, "consumer": consumer},
        claim=f"total is {items * (items + 1) // 2}",
        at_end=lambda memory: bool(memory["total"] == items * (items + 1) // 2),
    )


PROGRAMS: dict[str, Callable[..., Program]] = {
    "counter": counter,
    "two-locks": two_locks,
    "mslunch": mslunch,
    "wait-notify": wait_notify,
    "blocking-queue": blocking_queue,
    "readers-writers": readers_writers,
    "pipeline": pipeline,
}
