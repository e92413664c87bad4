"""Availability: which processes are up, paused or crashed.

It knows only identifiers, and records nothing. `Faults` changes it; all other parts only read it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

NEVER = sys.maxsize
Action = Callable[[], None]


def nothing() -> None:
    """Do nothing: the default reaction to a dropped action."""


class Availability:
    """The state of each process, and the actions that wait for the end of a pause."""

    def __init__(self) -> None:
        self._dead: set[int] = set()
        self._backlogs: dict[int, list[tuple[Action, Action]]] = {}  # by paused process: (action, if it is dropped)
        self._paused_until: dict[int, int] = {}
        self._back_at: dict[int, int] = {}  # when crashed processes recover
        self._lives: dict[int, int] = {}  # number of crashes so far

    def is_dead(self, process: int) -> bool:
        """True if the process has crashed and not recovered."""
        return process in self._dead

    def will_run(self, process: int) -> bool:
        """True if the process is up or will recover."""
        return process not in self._dead or self._back_at[process] < NEVER

    def life(self, process: int) -> int:
        """The number of crashes so far. Plans of an earlier life must be dropped."""
        return self._lives.get(process, 0)

    def is_paused(self, process: int) -> bool:
        """True if the process is paused."""
        return process in self._backlogs

    def when_awake(self, process: int, action: Action, dropped: Action = nothing, *, urgent: bool = False) -> None:
        """Call the action now, or at the end of the pause.

        The action is dropped if the process is dead or crashes before; then `dropped` is called. An urgent action comes
        before all others that wait for the end of the pause.
        """
        if process in self._backlogs:
            backlog = self._backlogs[process]
            backlog.insert(0 if urgent else len(backlog), (action, dropped))
        elif process in self._dead:
            dropped()
        else:
            action()

    def crash(self, process: int, back_at: int) -> bool:
        """Crash a process. False if it was dead already. Of overlapping crashes, the longest counts."""
        self._back_at[process] = max(back_at, self._back_at.get(process, 0))
        if process in self._dead:
            return False
        self._dead.add(process)
        self._paused_until.pop(process, None)
        self._lives[process] = self.life(process) + 1
        return True

    def drop(self, process: int) -> None:
        """After a crash: drop the actions that waited for the end of the pause."""
        for _, dropped in self._backlogs.pop(process, ()):
            dropped()

    def can_recover(self, process: int, now: int) -> bool:
        """True if the process is dead and no other crash lasts longer."""
        return process in self._dead and self._back_at[process] <= now

    def recover(self, process: int) -> None:
        """Mark the process as up."""
        self._dead.discard(process)

    def pause(self, process: int, until: int) -> bool:
        """Pause a process. False if it was paused already. Of overlapping pauses, the longest counts."""
        self._paused_until[process] = max(until, self._paused_until.get(process, 0))
        if process in self._backlogs:
            return False
        self._backlogs[process] = []
        return True

    def can_resume(self, process: int, now: int) -> bool:
        """True if the process is paused and no other pause lasts longer."""
        return process in self._backlogs and self._paused_until[process] <= now

    def resume(self, process: int) -> None:
        """End the pause: call the waiting actions in order, for as long as the process lives."""
        for action, dropped in self._backlogs.pop(process):
            self.when_awake(process, action, dropped)
