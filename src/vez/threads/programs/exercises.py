"""The exercises of Camargos, Concorrência, as the text gives them (docs/sources.md).

The default settings are small, for the checker; `vez threads` uses the settings of the text (`Lesson.real`).
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

from vez.errors import Misuse, UnknownName
from vez.threads.operations import (
    Lock,
    Output,
    Queue,
    acquire,
    alive,
    get,
    join,
    put,
    read,
    release,
    say,
    sleep,
    start,
    write,
)
from vez.threads.program import Body, Program, Steps

MAIN = "main"


def hello(threads: int = 2, ordered: bool = False) -> Program:
    """Every thread prints a greeting. With `ordered`, main joins each thread before it starts the next."""
    names = [f"thread-{number}" for number in range(threads)]

    def greet(number: int) -> Body:
        def body() -> Steps:
            yield say(f"Hello from thread {number} of {threads}")

        return body

    def main() -> Steps:
        for name in names:
            yield start(name)
            if ordered:
                yield join(name)
        yield say("Hello from the main thread")
        if not ordered:
            for name in names:
                yield join(name)

    def in_order(memory: Mapping[str, Any]) -> bool:
        return [thread for thread, _ in memory["output"] if thread != MAIN] == names

    return Program(
        {"output": Output()},
        {MAIN: main, **{name: greet(number) for number, name in enumerate(names)}},
        claim="the threads print in the order in which they were started",
        at_end=in_order,
        later=frozenset(names),
    )


JOINS = ("forever", "timed", "none")


def joining(rounds: int = 2, wait: str = "forever", daemon: bool = False, seed: int = 0) -> Program:
    """Main starts a thread that prints once a second and waits for its end: for ever, for a time, or not at all."""
    if wait not in JOINS:
        raise UnknownName("wait", wait, JOINS)
    chance = Random(seed)
    naps = tuple((901 + chance.randrange(200)) / 1000 for _ in range(rounds))

    def hello_thread() -> Steps:
        for instant in range(rounds):
            yield say(f"Hello at instant {instant}")
            yield sleep(naps[instant])

    def main() -> Steps:
        yield start("hello")
        if wait != "none":
            yield join("hello", float(rounds) if wait == "timed" else None)
        living = yield alive("hello")
        yield say("Got tired of waiting" if living else "Wait is over")

    def over(memory: Mapping[str, Any]) -> bool:
        return (MAIN, "Wait is over") in memory["output"] and len(memory["output"]) == rounds + 1

    return Program(
        {"output": Output()},
        {MAIN: main, "hello": hello_thread},
        claim=f"all {rounds} greetings are printed, and main sees the end of the thread",
        at_end=over,
        later=frozenset({"hello"}),
        daemons=frozenset({"hello"} if daemon else ()),
    )


def printed_counter(threads: int = 2, rounds: int = 1, lock: bool = False, inside: bool = False) -> Program:
    """Every thread adds one to a counter and prints its name and the result. With `lock`, `increment` holds a lock.

    With `inside`, `increment` prints too, while it holds the lock.
    """
    total = threads * rounds

    def worker() -> Steps:
        for _ in range(rounds):
            if lock:
                yield acquire("counter_lock")
            value = yield read("counter")
            value += 1
            yield write("counter", value)
            if inside:
                yield say(f"inside: {value}")
            if lock:
                yield release("counter_lock")
            yield say(value)

    def numbers(memory: Mapping[str, Any], prefix: str) -> list[int]:
        return [int(line[len(prefix) :]) for _, line in memory["output"] if line.startswith(prefix) == bool(prefix)]

    def as_claimed(memory: Mapping[str, Any]) -> bool:
        if inside:
            return numbers(memory, "inside: ") == list(range(1, total + 1))
        plain = [int(line) for _, line in memory["output"]]
        return plain == list(range(1, total + 1))

    where = "inside" if inside else "outside"
    return Program(
        {"counter": 0, "counter_lock": Lock(), "output": Output()},
        {f"T{number}": worker for number in range(1, threads + 1)},
        claim=f"the numbers printed {where} are 1 to {total}, in order",
        at_end=as_claimed,
    )


MSLUNCH = ("two", "one", "none")


def mslunch(rounds: int = 1, locks: str = "two") -> Program:
    """Two threads raise two counters in opposite orders and print both; a lock per counter, one for both, or none."""
    if locks not in MSLUNCH:
        raise UnknownName("locks", locks, MSLUNCH)

    def increment(name: str) -> Steps:
        lock = {"two": f"lock_{name}", "one": "lock", "none": ""}[locks]
        if lock:
            yield acquire(lock)
        value = yield read(name)
        yield write(name, value + 1)
        if lock:
            yield release(lock)

    def worker(first: str, second: str) -> Body:
        def body() -> Steps:
            for _ in range(rounds):
                yield from increment(first)
                yield from increment(second)
                c1 = yield read("c1")
                c2 = yield read("c2")
                yield say(f"c1 = {c1}, c2 = {c2}")

        return body

    return Program(
        {"c1": 0, "c2": 0, "lock_c1": Lock(), "lock_c2": Lock(), "lock": Lock(), "output": Output()},
        {"T1": worker("c1", "c2"), "T2": worker("c2", "c1")},
        claim=f"c1 and c2 are {2 * rounds}",
        at_end=lambda memory: bool(memory["c1"] == memory["c2"] == 2 * rounds),
    )


def two_locks(ordered: bool = False, rounds: int = 1) -> Program:
    """Each thread needs both locks, `rounds` times. With `ordered`, both acquire them in the same order.

    In the graph of Camargos, Concorrência, "Locks", T1 holds lock2 and waits for lock1.
    """

    def worker(first: str, second: str) -> Body:
        def body() -> Steps:
            for _ in range(rounds):
                yield acquire(first)
                yield acquire(second)
                yield release(second)
                yield release(first)

        return body

    first = ("lock1", "lock2") if ordered else ("lock2", "lock1")
    return Program({"lock1": Lock(), "lock2": Lock()}, {"T1": worker(*first), "T2": worker("lock1", "lock2")})


def ring(threads: int = 3, letters: int = 3, seed: int = 0) -> Program:
    """A message goes round a ring of threads; each prints it and raises its first lower-case letter.

    A thread that receives the message in upper case passes it on, prints it as the result, and ends.
    """
    if threads < 1 or letters < 1:
        raise Misuse(f"a ring needs threads and letters, found {threads} and {letters}")
    chance = Random(seed)
    message = "".join(chance.choice(string.ascii_letters) for _ in range(letters))
    inboxes = [f"inbox{number}" for number in range(1, threads + 1)]

    def member(place: int) -> Body:
        def body() -> Steps:
            while True:
                text = yield get(inboxes[place])
                yield say(text)
                small = _first_small(text)
                if small is not None:
                    text = text[:small] + text[small].upper() + text[small + 1 :]
                yield sleep(1.0)
                yield put(inboxes[(place + 1) % threads], text)
                if small is None:
                    yield say(f"result: {text}")
                    return

        return body

    def main() -> Steps:
        yield put(inboxes[0], message)

    def everybody_ended(memory: Mapping[str, Any]) -> bool:
        results = [thread for thread, line in memory["output"] if line == f"result: {message.upper()}"]
        return sorted(results) == sorted(f"T{number}" for number in range(1, threads + 1))

    return Program(
        {**{inbox: Queue() for inbox in inboxes}, "output": Output()},
        {MAIN: main, **{f"T{number}": member(number - 1) for number in range(1, threads + 1)}},
        claim=f"every thread prints {message.upper() if letters <= 20 else 'the message in upper case'} and ends",
        at_end=everybody_ended,
    )


def _first_small(text: Iterable[str]) -> int | None:
    return next((place for place, letter in enumerate(text) if letter.islower()), None)
