"""One run of a recipe, step by step, without I/O and without waiting. The pumps execute its steps."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from vez.errors import EngineUnavailable
from vez.locks.engines.network.transport import CALL_SECONDS, Unreachable
from vez.locks.recipes import Answer, Call, Failed, Lost, Proved, Recipe, Refused, Unknown, Wait, Withdrawn

T = TypeVar("T")
Clock = Callable[[], float]

CLEAN_UP_SECONDS = 0.25
"""Longest wait of a caller after its timeout, in seconds: for the clean-up of its request, and for the name of the
holder, which its error names. It is enough for a few round trips to a healthy server. After it, the clean-up continues
in the background: a timeout is a promise, and a silent server must not lengthen it."""
REFUSED_HINT = "what was asked for is undone in the background; `vez doctor URL` looks at the server"
AFTER_LOST_WATCH = 0.05
"""Seconds to wait after a watch has ended, before the recipe looks again. A server that refuses watches must not be
asked continuously."""


def _boot_time() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


now: Clock = _boot_time if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic
"""The boot clock: it continues while the machine is suspended, as the server's clock does, and cannot be set. Leases
are proved on it."""


class Over(Exception):
    """The deadline of a request has passed, or its client is closing."""


class Guard:
    """Deadline and stop flag of a run, and the state in which the run ended. The guards of the pumps can also be
    woken."""

    def __init__(
        self,
        deadline: float | None = None,
        *,
        patience: float = 0.0,
        call_seconds: float = CALL_SECONDS,
        on_wait: Callable[[], object] | None = None,
        slice_seconds: float | None = None,
    ) -> None:
        self.deadline = deadline
        self.patience = patience
        """Seconds for which a call is repeated if a server that has answered before stops answering."""
        self.call_seconds = call_seconds
        self.on_wait = on_wait
        """Called before each wait; it must not wait. If it raises, the run is withdrawn."""
        self.ask_on_wait: Callable[[], Any] | None = None
        """Called after `on_wait`, and awaited by tasks; it may take some time. If it raises, the run is withdrawn."""
        self.slice_seconds = slice_seconds
        """Longest single wait in seconds, so that `on_wait` is called again; None without limit."""
        self.stopped = ""
        """Reason why the run was stopped; empty if it was not."""
        self.clean = False
        """True if the run has left nothing to clean up after an exception."""
        self.refused: EngineUnavailable | None = None
        """Reason why the server refused the clean-up; None if it did not."""
        self.trouble = ""
        """Failure of the last call; empty if the server answered it."""

    def check(self, at: float) -> None:
        """Raise `Over` if the run must be withdrawn."""
        if self.stopped:
            raise Over(self.stopped)
        if self.deadline is not None and at >= self.deadline:
            raise Over("the time is over")

    def left(self, at: float, seconds: float | None) -> float | None:
        """Seconds that a step may wait, if it wants to wait for `seconds`; None without limit."""
        left = None if self.deadline is None else max(0.0, self.deadline - at)
        return min((one for one in (left, seconds) if one is not None), default=None)


class RecipeRun(Generic[T]):
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
        """The first step that needs I/O; None if there is none."""
        return self._next(None)

    def allowed(self) -> float:
        """The present time. Raises if the run must be withdrawn. Call it before each step."""
        at = self._clock()
        if self._failure is None:
            self._guard.check(at)
        elif at >= self._until:
            raise Over("the clean-up takes too long")
        return at

    def calling(self, at: float) -> float:
        """Note that a call is sent at `at`. Returns the seconds to wait for its reply."""
        self._sent_at = at
        guard = self._guard
        if self._failure is None:
            return max(0.001, guard.left(at, guard.call_seconds) or 0.0)
        return max(0.001, min(guard.call_seconds, self._until - at))

    def waiting(self, at: float, seconds: float | None) -> float | None:
        """Seconds that a wait may take which begins at `at` and wants to take `seconds`; None without limit."""
        if self._failure is None:
            slices = (one for one in (self._guard.slice_seconds, seconds) if one is not None)
            return self._guard.left(at, min(slices, default=None))
        return min(self._until - at, seconds or 0.0)

    def answered(self, reply: Answer | Refused | Unknown) -> Call | Wait | None:
        """Pass the reply of the last call to the recipe. Returns the next step."""
        self._sent = True
        if isinstance(reply, Unknown):
            self._doubt(reply.why, EngineUnavailable(f"the server does not answer: {reply.why}", definite=False))
        else:
            self._failing_since, self._guard.trouble = None, ""
        return self._next(reply)

    def unreachable(self, error: Unreachable, *, contacted: bool) -> Call | Wait | None:
        """Note that the last call could not be sent. Returns the next step, or raises `error` if trying again is
        useless."""
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
        """Pass the end of the last wait to the recipe. Returns the next step."""
        return self._next(reply)

    def fail(self, error: BaseException) -> Call | Wait | None:
        """Begin the clean-up after an exception. Returns its first step, or None if there is none. If an exception ends
        the clean-up too, the first exception is raised, or the second if that is an interrupt or a cancellation."""
        if self._failure is not None:
            if isinstance(error, EngineUnavailable):
                self._guard.refused = error
            raise self._failure if isinstance(error, Exception) else error
        if not self._alive():
            raise error
        if isinstance(error, Unreachable) and not self._sent:
            self._recipe.close()
            self._guard.clean = True
            raise error
        self._failure, self._until = error, self._clock() + CLEAN_UP_SECONDS
        self._guard.on_wait = self._guard.ask_on_wait = None
        return self._advance(self._recipe.throw, Withdrawn())

    def end(self) -> T:
        """The result of the recipe. Raises the exception that ended the run."""
        if self._failure is not None:
            self._guard.clean = self._guard.refused is None
            raise self._failure
        self._guard.clean = self.result is None  # otherwise the caller may be interrupted before it has the result
        return self.result

    def _alive(self) -> bool:
        """False if an interrupt has ended the recipe itself, so that it cannot clean up."""
        return getattr(self._recipe, "gi_frame", None) is not None

    def _next(self, reply: Any) -> Call | Wait | None:
        return self._advance(self._recipe.send, reply)

    def _advance(self, resume: Callable[[Any], Any], value: Any) -> Call | Wait | None:
        try:
            return self._skip(resume(value))
        except StopIteration as end:
            self.result = end.value
            return None
        except Withdrawn:
            return None
        except Failed as error:  # the recipe has ended without a clean-up, so `clean` stays false
            refused = EngineUnavailable(f"the server refuses it: {error}", hint=REFUSED_HINT)
            if self._failure is None:
                raise refused from None
            self._guard.refused = refused
            return None
        except Exception:
            if self._failure is None:
                self._guard.clean = True
                raise
            return None  # the clean-up found the session gone, and everything with it

    def _skip(self, step: Any) -> Call | Wait | None:
        """Execute the steps that need no I/O. Returns the next step that does."""
        while isinstance(step, Proved | Lost):
            if isinstance(step, Proved):
                if self._proved is not None:
                    self._proved(self._sent_at + step.seconds)
            elif self._lost is not None:
                self._lost(step.key, step.why, step.token)
            step = self._recipe.send(None)
        return step if step is None or isinstance(step, Call | Wait) else None
