"""Executors of Camargos, Concorrência, "Java": thread pools, futures, invoke-any and invoke-all, fork-join."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NamedTuple

from vez.errors import Misuse
from vez.threads.operations import (
    Condition,
    Lock,
    Map,
    Operation,
    Output,
    Queue,
    acquire,
    add,
    get,
    lookup,
    notify_all,
    poll,
    put,
    read,
    release,
    say,
    sleep,
    store,
    wait,
    write,
)
from vez.threads.program import Body, Program, Steps

STOP = "stop"
Task = tuple[int, int]
Computing = Generator[Operation, Any, int]


def thread_pool(
    workers: int = 2, tasks: int = 2, capacity: int = 1, peek: bool = False, work_s: float = 0.0
) -> Program:
    """Workers take tasks from a blocking queue. With `peek`, a worker first looks if a task is left."""

    def acceptor() -> Steps:
        for task in range(1, tasks + 1):
            yield put("tasks", task)
        for _ in range(0 if peek else workers):
            yield put("tasks", STOP)

    def worker() -> Steps:
        while True:
            if peek and not (yield read("left")):
                return
            task = yield get("tasks")
            if task == STOP:
                return
            yield add("left", -1)
            if work_s:
                yield sleep(work_s)
            yield add("done")

    return Program(
        {"tasks": Queue(capacity), "left": tasks, "done": 0},
        {"acceptor": acceptor, **{f"worker{number}": worker for number in range(1, workers + 1)}},
        claim=f"{tasks} tasks are done",
        at_end=lambda memory: bool(memory["done"] == tasks),
    )


def future(waits: bool = True) -> Program:
    """A worker computes a result that another thread gets later. Unless `waits`, the thread does not wait for it."""

    def worker() -> Steps:
        yield sleep(1.0)
        yield acquire("lock")
        yield write("result", 3)
        yield notify_all("done")
        yield release("lock")

    def main() -> Steps:
        yield say("other work")
        yield acquire("lock")
        result = yield read("result")
        while waits and result is None:
            yield wait("done")
            result = yield read("result")
        yield release("lock")
        yield say(f"the result is {result}")

    return Program(
        {"result": None, "lock": Lock(), "done": Condition("lock"), "output": Output()},
        {"main": main, "worker": worker},
        claim="main gets 3",
        at_end=lambda memory: ("main", "the result is 3") in memory["output"],
    )


def invoke(tasks: int = 2, all: bool = False) -> Program:
    """Main invokes tasks and takes the first result (any), or waits for every result (all)."""

    def task(number: int) -> Body:
        def body() -> Steps:
            yield sleep(number / 10)
            yield put("results", number)

        return body

    def main() -> Steps:
        found: tuple[int, ...] = ()
        for _ in range(tasks if all else 1):
            found += ((yield get("results")),)
        yield say(f"{'all' if all else 'any'}: {', '.join(map(str, sorted(found)))}")

    expected = f"all: {', '.join(map(str, range(1, tasks + 1)))}" if all else "any: 1"
    return Program(
        {"results": Queue(), "output": Output()},
        {"main": main, **{f"task{number}": task(number) for number in range(1, tasks + 1)}},
        claim=f"main prints {expected!r}",
        at_end=lambda memory: memory["output"] == (("main", expected),),
    )


def fork_join(
    workers: int = 1, numbers: int = 2, threshold: int = 1, helping: bool = False, work_s: float = 0.0
) -> Program:
    """The sum of 1 to `numbers`: a task above the threshold forks one half, computes the other, and joins.

    Unless `helping`, a worker that joins blocks; with it, the worker runs other tasks of the queue meanwhile.
    """
    if threshold < 1:
        raise Misuse(f"threshold: at least 1, found {threshold}")
    pool = _ForkJoin(workers, numbers, threshold, helping, work_s)
    total = numbers * (numbers + 1) // 2
    return Program(
        {"tasks": Queue(), "results": Map(), "lock": Lock(), "done": Condition("lock"), "output": Output()},
        {"main": pool.main, **{f"worker{number}": pool.worker for number in range(1, workers + 1)}},
        claim=f"the sum is {total}",
        at_end=lambda memory: bool(memory["results"].get((0, numbers)) == total),
    )


class _ForkJoin(NamedTuple):
    workers: int
    numbers: int
    threshold: int
    helping: bool
    work_s: float

    def main(self) -> Steps:
        yield put("tasks", (0, self.numbers))

    def worker(self) -> Steps:
        while (task := (yield get("tasks"))) != STOP:
            yield from self.run(task)

    def run(self, task: Task) -> Steps:
        """Compute a task and publish its result."""
        result = yield from self.compute(*task)
        yield acquire("lock")
        yield store("results", task, result)
        yield notify_all("done")
        yield release("lock")
        if task == (0, self.numbers):
            for _ in range(self.workers):
                yield put("tasks", STOP)

    def compute(self, low: int, high: int) -> Computing:
        """The sum of the numbers above `low` up to `high`."""
        if high - low <= self.threshold:
            if self.work_s:
                yield sleep(self.work_s * (high - low))
            yield say(f"{low + 1} to {high}, directly")
            return sum(range(low + 1, high + 1))
        middle = (low + high) // 2
        yield put("tasks", (middle, high))
        left = yield from self.compute(low, middle)
        right = yield from (self.help_until if self.helping else self.block_until)((middle, high))
        return left + right

    def block_until(self, task: Task) -> Computing:
        """Join by waiting."""
        yield acquire("lock")
        result = yield lookup("results", task)
        while result is None:
            yield wait("done")
            result = yield lookup("results", task)
        yield release("lock")
        return int(result)

    def help_until(self, task: Task) -> Computing:
        """Join by running other tasks of the queue: the joined task may still be among them."""
        result = yield lookup("results", task)
        while result is None:
            other = yield poll("tasks")
            if other is not None:
                yield from self.run(other)
            result = yield lookup("results", task)
        return int(result)
