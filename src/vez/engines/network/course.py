"""A course: one run of a recipe, step by step, without I/O and without waiting. The pumps do what its steps say."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from vez.engines.network.transport import CALL_SECONDS, Unreachable
from vez.errors import EngineUnavailable
from vez.recipes import Answer, Call, Lost, Proved, Recipe, Refused, Unknown, Wait, Withdrawn

T = TypeVar("T")
Clock = Callable[[], float]

CLEAN_UP_SECONDS = 1.0
"""How long a caller waits for the clean-up of its request; then it goes on in the background."""
AFTER_LOST_WATCH = 0.05
"""Seconds before a recipe is told that its watch ended: it looks again then, and a server that refuses watches must not
be asked all the time."""


def _boot_time() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


now: Clock = _boot_time if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic
"""The clock of proofs: it goes on while the machine is suspended, as the server's does, and nobody can set it."""


class Over(Exception):
    """The time of a request is over, or its client is closing."""


class Guard:
    """When a course must be withdrawn, and how far it came. The pumps' own guards can also be woken."""

    def __init__(
        self,
        deadline: float | None = None,
        *,
        patience: float = 0.0,
        call_seconds: float = CALL_SECONDS,
        on_wait: Callable[[], Any] | None = None,
        slice_seconds: float | None = None,
    ) -> None:
        self.deadline = deadline
        self.patience = patience
        """Seconds for which a server that does not answer is asked again, after it has answered once."""
        self.call_seconds = call_seconds
        self.on_wait = on_wait
        """Called before each wait (by tasks awaited, if it returns something); what it raises withdraws the course."""
        self.slice_seconds = slice_seconds
        """Longest wait, so that `on_wait` is called again."""
        self.stopped = ""
        """Why it was stopped; empty if it was not."""
        self.clean = False
        """True if nothing is left to be cleaned up after an exception."""
        self.trouble = ""
        """What the server did instead of answering the last call; empty if it has answered."""

    def check(self, at: float) -> None:
        """Raise `Over` if the course must be withdrawn."""
        if self.stopped:
            raise Over(self.stopped)
        if self.deadline is not None and at >= self.deadline:
            raise Over("the time is over")

    def left(self, at: float, seconds: float | None) -> float | None:
        """For how long a step may wait that would wait for `seconds`; None without limit."""
        left = None if self.deadline is None else max(0.0, self.deadline - at)
        return min((one for one in (left, seconds) if one is not None), default=None)


class Course(Generic[T]):
    """One run of a recipe."""

    result: T

    def __init__(
        self,
        recipe: Recipe[T],
        guard: Guard,
        clock: Clock,
        proved: Callable[[float], object] | None = None,
        lost: Callable[[str, str, int | None], object] | None = None,
    ) -> None:
        self._recipe, self._guard, self._clock = recipe, guard, clock
        self._proved, self._lost = proved, lost
        self._sent_at = 0.0
        self._sent = False
        self._failing_since: float | None = None
        self._failure: BaseException | None = None
        self._until = 0.0

    def begin(self) -> Call | Wait | None:
        """The first step; None if there is none."""
        return self._next(None)

    def allowed(self) -> float:
        """Raise what withdraws the course; else the present time. To be called before each step."""
        at = self._clock()
        if self._failure is None:
            self._guard.check(at)
        elif at >= self._until:
            raise Over("the clean-up takes too long")
        return at

    def calling(self, at: float) -> float:
        """A call is being sent now; how many seconds to wait for its reply."""
        self._sent_at = at
        guard = self._guard
        if self._failure is None:
            return max(0.001, guard.left(at, guard.call_seconds) or 0.0)
        return max(0.001, min(guard.call_seconds, self._until - at))

    def waiting(self, at: float, seconds: float | None) -> float | None:
        """A wait begins now that would take so many seconds; how many it may take."""
        if self._failure is None:
            slices = (one for one in (self._guard.slice_seconds, seconds) if one is not None)
            return self._guard.left(at, min(slices, default=None))
        return min(self._until - at, seconds or 0.0)

    def answered(self, reply: Answer | Refused | Unknown) -> Call | Wait | None:
        """The reply to the last call; the next step."""
        self._sent = True
        if isinstance(reply, Unknown):
            self._doubt(reply.why, EngineUnavailable(f"the server does not answer: {reply.why}", definite=False))
        else:
            self._failing_since, self._guard.trouble = None, ""
        return self._next(reply)

    def unreachable(self, error: Unreachable, *, contacted: bool) -> Call | Wait | None:
        """The last call could not be sent; the next step. Raises it if it is not worth trying again."""
        if not self._sent and not contacted:
            raise error
        self._doubt(error.message, error)
        return self._next(Unknown(error.message))

    def _doubt(self, why: str, error: EngineUnavailable) -> None:
        self._guard.trouble = why or "no reply"
        if self._failing_since is None:
            self._failing_since = self._sent_at
        if self._failure is None and self._clock() - self._failing_since > self._guard.patience:
            raise error

    def happened(self, reply: Any) -> Call | Wait | None:
        """What ended the last wait; the next step."""
        return self._next(reply)

    def fail(self, error: BaseException) -> Call | Wait | None:
        """A step was ended by an exception: the first step of the clean-up, or None if there is none. A second one ends
        the clean-up too, and is raised."""
        if self._failure is not None:
            raise self._failure if isinstance(error, Exception) else error
        if not self._alive():
            raise error
        if isinstance(error, Unreachable) and not self._sent:
            self._recipe.close()
            self._guard.clean = True
            raise error
        self._failure, self._until = error, self._clock() + CLEAN_UP_SECONDS
        self._guard.on_wait = None
        try:
            return self._skip(self._recipe.throw(Withdrawn()))
        except Exception:  # Withdrawn; or the recipe's own: its session is gone, and everything with it
            return None

    def end(self) -> T:
        """The result, or the exception that ended it."""
        if self._failure is not None:
            self._guard.clean = True
            raise self._failure
        self._guard.clean = self.result is None  # else the caller may be interrupted before it has the result
        return self.result

    def _alive(self) -> bool:
        """False if the recipe itself was ended by an interrupt, so that it cannot clean up."""
        return getattr(self._recipe, "gi_frame", None) is not None

    def _next(self, reply: Any) -> Call | Wait | None:
        try:
            return self._skip(self._recipe.send(reply))
        except StopIteration as end:
            self.result = end.value
            return None
        except Withdrawn:
            return None
        except Exception:
            if self._failure is None:
                self._guard.clean = True
                raise
            return None  # the clean-up found the session gone, and everything with it

    def _skip(self, step: Any) -> Call | Wait | None:
        """Do what needs no I/O; the next step that does."""
        while isinstance(step, Proved | Lost):
            if isinstance(step, Proved):
                if self._proved is not None:
                    self._proved(self._sent_at + step.seconds)
            elif self._lost is not None:
                self._lost(step.key, step.why, step.token)
            step = self._recipe.send(None)
        return step if step is None or isinstance(step, Call | Wait) else None
