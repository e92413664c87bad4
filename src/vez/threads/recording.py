"""Recorder: records the actions and printed lines of real threads, with times. Lines are also printed at once."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

Kind = Literal["runs", "works", "waits", "holds", "sleeps", "does", "says", "planned"]
INSTANTS: tuple[Kind, ...] = ("does", "says", "planned")
"""Kinds of deeds without a duration. The other kinds last for some time."""
Listener = Callable[[str, str], None]
"""Called with the name of a thread and the line that it prints, one line at a time."""
MOST = 100_000
"""The number of deeds that are kept, the latest ones; a run of a million steps would fill the memory."""


class Deed(msgspec.Struct, frozen=True):
    """An action of a thread, with its start and end in microseconds from the start of the run."""

    thread: str
    kind: Kind
    start_us: int
    end_us: int
    words: str


class Recording(msgspec.Struct, frozen=True):
    """The deeds of the threads of a run, in the order of their ends."""

    threads: tuple[str, ...]
    deeds: tuple[Deed, ...]
    end_us: int
    left_out: int = 0
    """Deeds that were not kept, because there were more than MOST."""

    @property
    def output(self) -> tuple[tuple[str, str], ...]:
        """The lines that were printed, in order: (thread, line)."""
        return tuple((deed.thread, deed.words) for deed in self.deeds if deed.kind == "says")


class Recorder:
    """Collects deeds from any thread."""

    def __init__(self, listen: Listener | None = None, *, deeds: bool = True) -> None:
        self._listen = listen
        self.deeds = deeds
        """True if other deeds than printed lines are recorded too."""
        self._start = time.perf_counter_ns()
        self._found: deque[Deed] = deque(maxlen=MOST)
        self._left_out = 0
        self._end: int | None = None
        self._order = threading.Lock()  # one line at a time, printed in the order in which it is recorded

    def now(self) -> int:
        """Microseconds since the start."""
        return (time.perf_counter_ns() - self._start) // 1000

    def add(self, kind: Kind, start_us: int, words: str, thread: str = "", end_us: int | None = None) -> None:
        """Record a deed of `thread`, by default the current one, from `start_us` to `end_us`, by default now."""
        end = end_us
        if end is None:
            end = start_us if kind in INSTANTS else self.now() if self._end is None else max(start_us, self._end)
        self._left_out += len(self._found) == MOST
        self._found.append(Deed(thread or threading.current_thread().name, kind, start_us, end, words))

    def say(self, line: str, thread: str = "") -> None:
        """Print a line."""
        with self._order:
            self.add("says", self.now(), line, thread)
            if self._listen is not None:
                self._listen(thread or threading.current_thread().name, line)

    @contextmanager
    def during(self, kind: Kind, words: str, thread: str = "") -> Iterator[None]:
        """Record a deed that lasts as long as the `with` block."""
        start = self.now()
        try:
            yield
        finally:
            self.add(kind, start, words, thread)

    def finish(self) -> None:
        """End the run: a deed that lasts longer is recorded as if it ended now."""
        self._end = self.now()

    def recording(self, threads: tuple[str, ...] = ()) -> Recording:
        """The recording, with the threads in this order; others follow in the order in which they appear."""
        found = tuple(self._found)
        names = dict.fromkeys((*threads, *(deed.thread for deed in found)))
        end = self.now() if self._end is None else self._end
        return Recording(tuple(names), found, end, self._left_out)
