"""Work that only the leader does, in a thread: `Election.lead`. `task_leading.py` has the same names for tasks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Self

from vez.errors import LockTimeout, OwnershipLost, VezError
from vez.locks.engines.owners import here, withdraw
from vez.locks.turns.leading import AGAIN, LOOK, BaseLeading, check_step

if TYPE_CHECKING:
    from vez.locks.turns.client import Election, Leadership

_PUSH = 0.02
"""Seconds between two attempts to end the wait for the election: the first may come just before the wait begins."""


class Leading(BaseLeading["Leadership"]):
    """A candidacy in the background. While this process leads, `work` is called again and again. Stopped by `stop`, or
    at the end of its block."""

    def __init__(self, election: Election, work: Callable[[Leadership], object], every: float) -> None:
        super().__init__(election.name, check_step(work, every, tasks=False), lambda: election._engine.closed)
        self._election, self._work = election, work
        self._stopped = threading.Event()
        self._owner = 0
        self._thread = threading.Thread(target=self._run, name=f"vez leads {election.name}", daemon=True)
        self._thread.start()

    def stop(self, timeout: float | None = None) -> bool:
        """Resign or withdraw, and wait for the end. A step of a task is cancelled; a step of a thread has to end by
        itself. False if it still runs after `timeout` seconds."""
        self._stopped.set()
        end = None if timeout is None else monotonic() + timeout
        while self._thread.is_alive() and self._thread is not threading.current_thread():
            withdraw(self._owner)
            left = _PUSH if end is None else min(_PUSH, end - monotonic())
            if left <= 0:
                return False
            self._thread.join(left)
        self._raise_error()
        return True

    def _run(self) -> None:
        self._owner = here.owner.number
        while not self._stopped.is_set():
            try:
                if not self._reign():
                    self._stopped.wait(AGAIN)
            except (LockTimeout, OwnershipLost):  # withdrawn; or deposed, perhaps before it could begin
                continue
            except VezError as error:
                if not self._goes_on(error):
                    return
                self._stopped.wait(AGAIN)

    def _reign(self) -> bool:
        """Wait for the election and lead once, until stopped or deposed. False if a step has failed."""
        with self._election.acquire(None) as leadership:
            self._elected(leadership)
            try:
                while not self._stopped.is_set() and leadership._held:
                    begin = monotonic()
                    try:
                        self._work(leadership)
                    except BaseException as error:  # SystemExit would end this thread without a word
                        if self._failed(error, leadership):
                            return False
                    self._pause(leadership, begin + self._every)
            finally:
                self._leadership = None
        return True

    def _pause(self, leadership: Leadership, end: float) -> None:
        """Wait for the time of the next step, or less if it no longer leads or is stopped."""
        while (left := end - monotonic()) > 0 and leadership._held and not self._stopped.wait(min(left, LOOK)):
            pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()
