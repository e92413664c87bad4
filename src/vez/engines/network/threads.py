"""The pump for threads: does what the steps of a recipe say, and blocks its thread while it waits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from vez.engines.network.course import AFTER_LOST_WATCH, Clock, Course, Guard, now
from vez.engines.network.transport import Stream, Transport, Unreachable, WatchEnded
from vez.recipes import Call, Changed, Elapsed, Recipe, Unwatched, Wait

T = TypeVar("T")


class ThreadGuard(Guard):
    """A guard that other threads can stop and wake."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._woken = threading.Event()
        self._stream: Stream | None = None

    def stop(self, why: str) -> None:
        """Withdraw the course, from any thread."""
        self.stopped = why
        self.wake()

    def wake(self) -> None:
        """End the present wait, from any thread; the recipe looks again."""
        self._woken.set()
        if (stream := self._stream) is not None:
            stream.interrupt()

    def sleep(self, seconds: float | None) -> None:
        """Sleep; a wake-up ends it."""
        self._woken.wait(seconds)
        self._woken.clear()

    def next(self, stream: Stream, seconds: float | None) -> tuple[Any, ...] | None:
        """The next events of a watch. `WatchEnded` after a wake-up."""
        self._stream = stream  # first: whoever sets the event after we have looked at it finds the stream
        try:
            if self._woken.is_set():
                self._woken.clear()
                raise WatchEnded("woken")
            return stream.next(seconds)
        finally:
            self._stream = None


class ThreadPump:
    """Runs recipes in the calling thread."""

    def __init__(self, transport: Transport, clock: Clock = now) -> None:
        self.transport, self.clock = transport, clock

    def run(
        self,
        recipe: Recipe[T],
        guard: ThreadGuard | None = None,
        proved: Callable[[float], object] | None = None,
        lost: Callable[[str, str, int | None], object] | None = None,
    ) -> T:
        """The result of a recipe. Whatever ends it, it cleans up first; `guard.clean` says whether that succeeded."""
        guard = guard or ThreadGuard()
        guard.clean = False
        course: Course[T] = Course(recipe, guard, self.clock, proved, lost)
        run = _Run(self.transport, course, guard)
        try:
            step = course.begin()
            while step is not None:
                try:
                    step = run.do(step)
                except BaseException as error:
                    if guard.clean:
                        raise
                    step = course.fail(error)
            return course.end()
        finally:
            run.drop_stream()


class _Run:
    """One run, with the stream of its last watch."""

    def __init__(self, transport: Transport, course: Course[Any], guard: ThreadGuard) -> None:
        self._transport, self._course, self._guard = transport, course, guard
        self._stream: Stream | None = None

    def do(self, step: Call | Wait) -> Call | Wait | None:
        at = self._course.allowed()
        if isinstance(step, Wait):
            return self._course.happened(self._wait(step, at))
        seconds = self._course.calling(at)
        try:
            reply = self._transport.call(step.request, seconds)
        except Unreachable as error:
            return self._course.unreachable(error, contacted=self._transport.contacted)
        return self._course.answered(reply)  # type: ignore[arg-type]  # a call has no other replies

    def _wait(self, step: Wait, at: float) -> Changed | Elapsed | Unwatched:
        if self._guard.on_wait is not None:
            self._guard.on_wait()
            at = self._course.allowed()  # it may have taken a while
        seconds = self._course.waiting(at, step.seconds)
        if step.watch is None:
            self._guard.sleep(seconds)
            return Elapsed()
        try:
            events = self._guard.next(self._watching(step.watch, seconds), seconds)
        except WatchEnded as error:
            self.drop_stream()
            if not self._guard.stopped:
                self._guard.sleep(min(AFTER_LOST_WATCH, AFTER_LOST_WATCH if seconds is None else seconds))
            return Unwatched(str(error))
        return Elapsed() if events is None else Changed(events)

    def _watching(self, watch: Any, seconds: float | None) -> Stream:
        if self._stream is None or not self._stream.serves(watch):
            self.drop_stream()
            patience = self._guard.call_seconds if seconds is None else min(seconds, self._guard.call_seconds)
            self._stream = self._transport.watch(watch, patience)
        return self._stream

    def drop_stream(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()
