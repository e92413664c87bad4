"""A limit of time for each phase of a test: setup, call, teardown.

A test that hangs is named, the child processes that it started are killed, and the run goes on:

1. After the limit, SIGALRM raises `Hung` wherever the main thread is, and pytest reports a failure with its stack.
2. If a `finally` hangs too, the same happens again, every `AGAIN_S` seconds.
3. What does not come back to Python, such as a call into C, ends the whole process after `LAST_S` more, with the
   stacks of all threads. Under pytest-xdist that is a crashed worker: the test is named, and a new worker goes on.

pytest-timeout does only the first, or only the third, and leaves children running: a server or a cluster of one test
would then load the machine during the others.

A test that may take longer says so: `@pytest.mark.limit(seconds)`.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import time
from collections.abc import Iterator
from types import FrameType

import pytest

from tests.processes import descendants, started_at

LIMIT_S = 120.0
LONG_S = 900.0
"""For tests that are marked `long`."""
AGAIN_S = 10.0
LAST_S = 60.0


class Hung(BaseException):
    """A phase of a test took longer than its limit.

    Not an `Exception`, so that no `except` of a test swallows it, and not pytest's own failure, for which Hypothesis
    would run the hanging example again to make it smaller.
    """


def limit_of(item: pytest.Item) -> float:
    """Seconds that each phase of a test may take."""
    mark = item.get_closest_marker("limit")
    if mark is not None:
        return float(mark.args[0])
    return LONG_S if item.get_closest_marker("long") else LIMIT_S


class TimeLimit:
    """The plugin."""

    def __init__(self) -> None:
        self.hung = False
        self.stderr = os.dup(2)  # while a test runs, pytest captures file descriptor 2

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        """Limit the fixtures. The time of a shared fixture is charged to the first test that needs it."""
        with self._limited(item, "setup"):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Limit the test."""
        with self._limited(item, "call"):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Iterator[None]:
        """Limit the ends of the fixtures."""
        with self._limited(item, "teardown"):
            return (yield)

    def pytest_unconfigure(self) -> None:
        """Do not let a thread of a hung test keep the process from ending."""
        if self.hung:
            faulthandler.dump_traceback_later(LAST_S, exit=True, file=self.stderr)

    @contextlib.contextmanager
    def _limited(self, item: pytest.Item, phase: str) -> Iterator[None]:
        seconds, begun = limit_of(item), time.clock_gettime(time.CLOCK_BOOTTIME)

        def end(number: int, frame: FrameType | None) -> None:
            self.hung = True
            for process in descendants(os.getpid()):
                if started_at(process) > begun - 0.1:  # the kernel counts in ticks
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(process, signal.SIGKILL)
            raise Hung(f"{item.nodeid} ({phase}) took longer than {seconds:g} s; what it had started was killed")

        signal.signal(signal.SIGALRM, end)
        faulthandler.dump_traceback_later(seconds + LAST_S, exit=True, file=self.stderr)
        signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_S)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            faulthandler.cancel_dump_traceback_later()
