"""Run work in forked children, a few at a time, each with a changed module and a time limit.

The parent has imported the checker, and no recipe: so a child needs a fraction of a second to import the recipes, one
of which is changed. The changed module exists only in that child.
"""

from __future__ import annotations

import importlib.machinery
import json
import linecache
import os
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from importlib.abc import InspectLoader
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from tools.mutate.scratch import OWNER, end_processes

MEMORY = 3 << 30
"""Largest amount of memory of a child, in bytes."""
Work = Callable[[], Any]


class Changed(InspectLoader):
    """Finds one module, with another text than that of its file. `places` of the checker reads the same text."""

    def __init__(self, module: str, path: str, text: str) -> None:
        self.module, self.path, self.text = module, path, text

    def install(self) -> None:
        """Import the changed module from now on."""
        if self.module in sys.modules:
            raise SystemExit(f"{self.module} is imported already, so its change would have no effect")
        linecache.cache[self.path] = (len(self.text), None, self.text.splitlines(keepends=True), self.path)
        sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: object = None, target: ModuleType | None = None) -> Any:
        if name != self.module:
            return None
        spec = importlib.machinery.ModuleSpec(name, self, origin=self.path)
        spec.has_location = True
        return spec

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.text, self.path, "exec")

    def get_source(self, fullname: str) -> str:
        return self.text


class Child(NamedTuple):
    """A child that runs."""

    name: str
    process: int
    out: int
    ends: float
    """When it is stopped, on the monotonic clock."""


class Ended(NamedTuple):
    """What became of a child: its result, or None if it was stopped at its limit or died."""

    name: str
    result: Any
    late: bool


def _start(name: str, work: Work, limit: float) -> Child:
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return Child(name, process, reading, time.monotonic() + limit)
    code = 1
    try:
        os.setsid()
        os.environ[OWNER] = str(os.getpid())
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        result = json.dumps(work()).encode()
        with os.fdopen(writing, "wb") as out:
            out.write(result)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _end(child: Child) -> None:
    for kill in (os.kill, os.killpg):
        try:
            kill(child.process, signal.SIGKILL)
        except ProcessLookupError:
            continue
    os.waitpid(child.process, 0)
    os.close(child.out)
    end_processes(str(child.process))


def run(works: Iterable[tuple[str, Work]], limit: float, jobs: int) -> Iterator[Ended]:
    """Run every work in a child of its own, at most `jobs` at once; yields what became of each, as they end."""
    waiting, children = iter(works), dict[int, Child]()
    read: dict[int, bytes] = {}
    try:
        while True:
            while len(children) < jobs and (following := next(waiting, None)) is not None:
                child = _start(*following, limit)
                children[child.out], read[child.out] = child, b""
            if not children:
                return
            soonest = min(child.ends for child in children.values())
            ready, _, _ = select.select(list(children), [], [], max(0.0, soonest - time.monotonic()))
            over = [out for out in ready if not (part := os.read(out, 1 << 16)) or read.update({out: read[out] + part})]
            late = [out for out, child in children.items() if child.ends <= time.monotonic() and out not in over]
            for out in (*over, *late):
                child = children.pop(out)
                _end(child)
                text = read.pop(out)
                yield Ended(child.name, json.loads(text) if text and out in over else None, out in late)
    finally:
        for child in children.values():
            _end(child)
