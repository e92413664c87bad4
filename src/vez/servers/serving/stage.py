"""Stage: a bounded blocking queue and the threads that take from it. `pool` has one stage, `staged` has three.

The number of threads is kept between two bounds. One more is started when a task is put and no thread is free; one ends
when it was idle for a while. With equal bounds the number is fixed.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")


class Size(msgspec.Struct, frozen=True):
    """Bounds of a stage."""

    least: int = 4
    """Smallest number of threads."""
    most: int = 4
    """Largest number of threads."""
    queue: int = 64
    """Largest number of tasks in the queue."""
    idle_s: float = 1.0
    """Seconds without a task after which a thread above `least` ends."""


class Stage(Generic[T]):
    """A queue and its threads. Tasks are taken in the order in which they were put."""

    def __init__(self, name: str, size: Size, work: Callable[[T], None]) -> None:
        self.name = name
        self._size = size
        self._work = work
        self._tasks: deque[T] = deque()  # guarded by the lock, as all below
        self._lock = threading.Lock()
        self._task_came = threading.Condition(self._lock)
        self._room_came = threading.Condition(self._lock)
        self._free = 0
        self._closed = False
        self._threads: set[threading.Thread] = set()
        self._started = 0
        self.longest_queue = 0
        self.most_threads = 0

    @property
    def threads_started(self) -> int:
        """Number of threads started since the beginning."""
        return self._started

    def start(self) -> None:
        """Start the first `least` threads."""
        with self._lock:
            for _ in range(self._size.least):
                self._start_thread()

    def put(self, task: T) -> bool:
        """Add a task; blocks while the queue is full. False if the stage was closed."""
        with self._lock:
            while len(self._tasks) >= self._size.queue and not self._closed:
                self._room_came.wait()
            return self._add(task)

    def offer(self, task: T) -> bool:
        """Add a task if there is room; False if there is none."""
        with self._lock:
            return len(self._tasks) < self._size.queue and self._add(task)

    def close(self) -> None:
        """Take no more tasks. Threads end when the queue is empty."""
        with self._lock:
            self._closed = True
            self._task_came.notify_all()
            self._room_came.notify_all()

    def join(self, deadline: float) -> bool:
        """Wait until all threads have ended; False if some have not by the deadline."""
        for thread in list(self._threads):
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in list(self._threads))

    @property
    def threads(self) -> int:
        """Current number of threads."""
        return len(self._threads)

    @property
    def waiting(self) -> int:
        """Number of tasks in the queue."""
        return len(self._tasks)

    def _add(self, task: T) -> bool:
        if self._closed:
            return False
        self._tasks.append(task)
        self.longest_queue = max(self.longest_queue, len(self._tasks))
        if self._free:
            self._task_came.notify()
        if self._free < len(self._tasks) and len(self._threads) < self._size.most:
            self._start_thread()
        return True

    def _start_thread(self) -> None:
        self._started += 1
        thread = threading.Thread(target=self._run, name=f"{self.name} {self._started}", daemon=True)
        self._threads.add(thread)
        self.most_threads = max(self.most_threads, len(self._threads))
        thread.start()

    def _run(self) -> None:
        while (task := self._take()) is not None:
            self._work(task)
            del task  # frees its answer, which may be large: the next task may come late

    def _take(self) -> T | None:
        """The next task; None if this thread must end."""
        with self._lock:
            while not self._tasks:
                spare = len(self._threads) > self._size.least
                self._free += 1
                came = not self._closed and self._task_came.wait(self._size.idle_s if spare else None)
                self._free -= 1
                if not self._tasks and (self._closed or (not came and len(self._threads) > self._size.least)):
                    self._threads.discard(threading.current_thread())
                    return None
            task = self._tasks.popleft()
            self._room_came.notify()
            return task
