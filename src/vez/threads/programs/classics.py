"""The classics of shared memory: lost updates, lost notifications, queues, readers and writers.

`counter` follows the GBC074 slides, "Exemplos com threads"; `wait-notify` is the code of Camargos,
Concorrência, "Sinalização" (docs/sources.md).
"""

from __future__ import annotations

from typing import Any

from vez.errors import UnknownName
from vez.threads.operations import (
    Condition,
    Lock,
    Output,
    Queue,
    acquire,
    add,
    compare_and_set,
    get,
    notify,
    notify_all,
    put,
    read,
    release,
    say,
    wait,
    write,
)
from vez.threads.program import Body, Program, Steps

LOCKS = ("none", "step", "loop", "atomic", "cas")


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
            if lock == "cas":
                value = yield read("counter")
                while not (yield compare_and_set("counter", value, value + 1)):
                    value = yield read("counter")
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


def wait_notify(careful: bool = False) -> Program:
    """`espereCondicao` and `satisfacaCondicao` of the text. With `careful`, the condition is tested under the lock."""

    def waits() -> Steps:
        if careful:
            yield acquire("synch")
            while not (yield read("condition")):
                yield wait("changed")
            yield release("synch")
        else:
            while not (yield read("condition")):
                yield acquire("synch")
                yield wait("changed")
                yield release("synch")
        yield say("condition reached")

    def satisfies() -> Steps:
        yield write("condition", True)
        yield acquire("synch")
        yield notify_all("changed")
        yield release("synch")

    return Program(
        {"condition": False, "synch": Lock(), "changed": Condition("synch"), "output": Output()},
        {"waiter": waits, "setter": satisfies},
        claim="the condition is seen",
        at_end=lambda memory: memory["output"] == (("waiter", "condition reached"),),
    )


def blocking_queue(
    producers: int = 1, consumers: int = 2, items: int = 2, capacity: int = 1, one_condition: bool = False
) -> Program:
    """A bounded queue: a lock and two conditions. With `one_condition`, a notification can wake the wrong thread."""
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


def readers_writers(readers: int = 2, writers: int = 2, again: bool = True) -> Program:
    """A read/write lock made of a reader count, a lock and one condition: readers share it, a writer is alone.

    Unless `again`, a writer that wakes up does not test the condition again.
    """

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
            if not again:
                break
        count = yield read("writing")
        yield write("writing", count + 1)
        yield release("lock")
        yield acquire("lock")
        count = yield read("writing")
        yield write("writing", count - 1)
        yield notify_all("free")
        yield release("lock")

    threads: dict[str, Body] = {f"reader{n}": reader for n in range(1, readers + 1)}
    threads |= {f"writer{n}": writer for n in range(1, writers + 1)}
    return Program(
        {"reading": 0, "writing": 0, "lock": Lock(), "free": Condition("lock")},
        threads,
        invariant="one writes at a time, and nobody reads meanwhile",
        always=lambda memory: memory["writing"] <= 1 and not (memory["writing"] and memory["reading"]),
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
