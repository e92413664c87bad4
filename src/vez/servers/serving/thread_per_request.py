"""A new thread for each request, up to a limit. At the limit the acceptor waits for a thread to end, or refuses.

Source: Camargos, Concorrência, "Thread per request".
"""

from __future__ import annotations

import threading
import time
from itertools import count
from typing import Any

from vez.servers.serving.connection import Connection
from vez.servers.serving.recording import Phase
from vez.servers.serving.threaded import ThreadedServer


class ThreadPerRequest(ThreadedServer):
    """The acceptor starts a thread for each request, also for later requests of a connection."""

    model = "thread-per-request"

    def __init__(self, *arguments: Any, most: int = 64, refuse_when_full: bool = False, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._refuse_when_full = refuse_when_full
        self._room = threading.Semaphore(most)
        self._serial = count(1)
        self._lock = threading.Lock()
        self._running: set[threading.Thread] = set()
        self.threads_started = 0
        self.most_threads = 0
        """Largest number of threads that ran at once, without the acceptor."""

    @property
    def threads(self) -> int:
        return int(self._acceptor.is_alive()) + len(self._running)

    def take(self, connection: Connection) -> None:
        if not self._room.acquire(blocking=False):
            if self._refuse_when_full:
                self.refuse(connection)
                return
            begin = time.monotonic()
            self._room.acquire()
            self.note(Phase.BLOCKED, 0, begin)
        thread = threading.Thread(
            target=self._run, args=(connection,), name=f"thread {next(self._serial)}", daemon=True
        )
        with self._lock:
            self._running.add(thread)
            self.threads_started += 1
            self.most_threads = max(self.most_threads, len(self._running))
        try:
            thread.start()
        except RuntimeError as error:  # the system cannot start more threads
            self.log.line(f"cannot start a thread: {error}")
            self._leave(thread)
            self.refuse(connection)

    def _run(self, connection: Connection) -> None:
        try:
            self.serve(connection)
        finally:
            self._leave(threading.current_thread())

    def _leave(self, thread: threading.Thread) -> None:
        with self._lock:
            self._running.discard(thread)
        self._room.release()

    def _end_workers(self, deadline: float) -> bool:
        with self._lock:
            left = list(self._running)
        for thread in left:
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in left)
