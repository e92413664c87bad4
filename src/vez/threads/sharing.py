"""Sharing: measures false sharing and affinity with two processes that increment words of shared memory.

A Python loop would spend most of its time in the interpreter, so NumPy's `add.at` increments one word a hundred
thousand times in a C loop. Processor time is measured, not elapsed time. On a busy machine the two processes run less
often at the same time, and the effect is smaller; so the share of time in which they ran is reported too.
"""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from vez.errors import MissingPart, WorkerDied, how_to_install

BATCH = 100_000
"""Increments in one call."""
LINE = 128
"""Distance in bytes of two words that share no cache line, even if the processor fetches lines in pairs."""
SIZE = 4096


class Case(NamedTuple):
    """One measurement: the places of the two words, and the processors of the two processes."""

    name: str
    words: tuple[int, int]
    processors: tuple[int, int]


CASES = (
    Case("two words, two cache lines, two processors", (0, LINE), (0, 1)),
    Case("two words, one cache line, two processors", (0, 8), (0, 1)),
    Case("one word, two processors", (0, 0), (0, 1)),
    Case("one word, one processor", (0, 0), (0, 0)),
)
"""Nothing shared, false sharing, real sharing, and real sharing with affinity."""


class Measured(msgspec.Struct, frozen=True):
    """The result of one case."""

    case: str
    increments: int
    found: int
    cpu_ns: float
    """Processor time of an increment."""
    share: float
    """The fraction of the elapsed time in which the processes ran."""

    @property
    def lost(self) -> int:
        """The number of increments that were overwritten by another."""
        return self.increments - self.found


def measure(batches: int = 2000, watch: Callable[[str], None] | None = None) -> list[Measured]:
    """Run all cases. Each process makes `batches` times BATCH increments."""
    processors = two_processors()
    found = []
    for case in CASES:
        if watch is not None:
            watch(case.name)
        found.append(_run(case, processors, batches))
    return found


def two_processors() -> tuple[int, int]:
    """Two processors that this process may use."""
    if not hasattr(os, "sched_getaffinity"):
        raise MissingPart("this system cannot bind a process to a processor", hint="Linux can")
    mine = sorted(os.sched_getaffinity(0))
    if len(mine) < 2:
        raise MissingPart("false sharing needs two processors, and this process may use one", hint="see taskset -p $$")
    return mine[0], mine[1]


def share_a_core(one: int, other: int) -> bool:
    """True if two processors are threads of one core. They share its cache, so no line moves between caches."""
    try:
        path = Path(f"/sys/devices/system/cpu/cpu{one}/topology/thread_siblings_list")
        siblings = path.read_text(encoding="ascii")
    except OSError:
        return False
    return str(other) in siblings.replace("-", ",").strip().split(",")


def _run(case: Case, processors: tuple[int, int], batches: int) -> Measured:
    with tempfile.NamedTemporaryFile() as file:
        file.truncate(SIZE)
        command = [sys.executable, "-m", "vez.threads.sharing", file.name, str(batches)]
        children = [
            subprocess.Popen(  # noqa: S603 - this interpreter, this module
                [*command, str(word), str(processors[place])], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            for word, place in zip(case.words, case.processors, strict=True)
        ]
        try:
            for child in children:
                _line(child)  # ready
            for child in children:
                assert child.stdin is not None
                child.stdin.write("go\n")
                child.stdin.flush()
            times = [tuple(map(float, _line(child).split())) for child in children]
        finally:
            for child in children:
                child.kill()
                child.communicate()
        memory = file.read(SIZE)
    found = sum(int.from_bytes(memory[word : word + 8], sys.byteorder) for word in set(case.words))
    total = 2 * batches * BATCH
    cpu, passed = (sum(part) for part in zip(*times, strict=True))
    return Measured(case.name, total, found, cpu / total * 1e9, cpu / passed)


def _line(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    line = child.stdout.readline()
    if not line:
        raise WorkerDied("a process that adds to shared memory died", hint=f"exit code {child.wait()}")
    return line


def add_up(name: str, batches: int, word: int, processor: int) -> None:
    """The work of one process: bind to the processor, report ready, wait for the start, add, and report the time."""
    numpy = load_numpy()
    os.sched_setaffinity(0, {processor})
    with open(name, "r+b") as file:
        memory = mmap.mmap(file.fileno(), SIZE)
    cell = numpy.frombuffer(memory, dtype=numpy.int64, count=1, offset=word)
    same = numpy.zeros(BATCH, dtype=numpy.intp)
    print("ready", flush=True)
    sys.stdin.readline()
    before, began = time.process_time(), time.perf_counter()
    for _ in range(batches):
        numpy.add.at(cell, same, 1)
    print(time.process_time() - before, time.perf_counter() - began, flush=True)
    sys.stdin.readline()  # wait until the other process has ended too


def load_numpy() -> Any:
    """The NumPy module. If it is missing, the error says how to install it."""
    try:
        import numpy
    except ModuleNotFoundError as error:
        raise MissingPart("false-sharing needs NumPy, which is not installed", hint=how_to_install("check")) from error
    return numpy


if __name__ == "__main__":
    add_up(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
