"""Work that only the leader does: the parts of `lead` that threads and tasks share.

`thread_leading.py` and `task_leading.py` are written by hand, because they end in different ways: a task is cancelled
wherever it waits, and a thread is woken where it waits for its election and asks everywhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from vez.errors import EngineUnavailable, Misuse, OwnershipLost, VezError
from vez.locks.engines.base import Token
from vez.locks.turns.decorate import refuse_wrong_kind
from vez.locks.turns.terms import log

AGAIN = 1.0
"""Seconds before this process stands for election again, after a step has failed or the engine could not be reached."""
LOOK = 0.05
"""Seconds between two looks whether it still leads, in a pause between two steps."""
_MOST = 86400.0 * 366


L = TypeVar("L", bound="Termed")


class Termed(Protocol):
    """A leadership, of a thread or of a task."""

    @property
    def lost(self) -> bool:
        """True if it ended before it was released."""

    @property
    def _held(self) -> bool:
        """True while it leads; closing the client and resigning end that too."""

    @property
    def term(self) -> Token:
        """The term."""


class BaseLeading(Generic[L]):
    """A candidacy in the background: the parts that do not wait."""

    def __init__(self, name: str, every: float, is_closed: Callable[[], bool]) -> None:
        self._name, self._every, self._is_closed = name, every, is_closed
        self._leadership: L | None = None
        self._error: VezError | None = None
        """The error that ended the candidacy, until `stop` has raised it."""
        self._trouble = ""
        """The last error of the engine; empty since it worked."""

    @property
    def term(self) -> Token:
        """The term while this process leads, otherwise None."""
        leadership = self._leadership
        return leadership.term if leadership is not None and leadership._held else None

    def _elected(self, leadership: L) -> None:
        self._leadership, self._trouble = leadership, ""

    def _goes_on(self, error: VezError) -> bool:
        """Log an error of the engine; the same error is logged once, not every second. False if to stand again cannot
        help: the engine has no elections, or the client was closed, which is no error."""
        if self._is_closed():
            return False
        if not isinstance(error, EngineUnavailable):
            self._error = error
            return False
        if str(error) != self._trouble:
            self._trouble = str(error)
            log().warning("election %r: %s; trying again", self._name, error)
        return True

    def _failed(self, error: BaseException, leadership: L) -> bool:
        """Log the exception of a step. False if it only says that the leadership was lost."""
        if isinstance(error, OwnershipLost) and leadership.lost:
            return False
        log().error("election %r: a step of the leader failed; it resigns", self._name, exc_info=error)
        return True

    def _raise_error(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error


def check_step(work: Callable[..., object], every: float, *, tasks: bool) -> float:
    """The pause. Raises `Misuse` for a step that cannot be called, or a pause that is not a number of seconds."""
    refuse_wrong_kind(
        work, tasks=tasks, user="lead calls", of="connect", hint="lead(work, every=60)", inside="loop inside the step"
    )
    if isinstance(every, bool) or not isinstance(every, int | float) or not 0 <= every <= _MOST:
        raise Misuse(f"every is a number of seconds from 0 on, found {every!r}", hint="lead(work, every=60)")
    return float(every)
