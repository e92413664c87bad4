"""The pump for tasks: does what the steps of a recipe say, and awaits what it waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from vez.engines.network.course import AFTER_LOST_WATCH, Clock, Course, Guard, now
from vez.engines.network.transport import AsyncStream, AsyncTransport, Unreachable, WatchEnded
from vez.recipes import Call, Changed, Elapsed, Recipe, Unwatched, Wait

T = TypeVar("T")


class TaskGuard(Guard):
    """A guard that other tasks can stop and wake."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._woken = asyncio.Event()
        self._stream: AsyncStream | None = None

    def stop(self, why: str) -> None:
        """Withdraw the course; to be called in the thread of the loop."""
        self.stopped = why
        self.wake()

    def wake(self) -> None:
        """End the present wait; the recipe looks again."""
        self._woken.set()
        if self._stream is not None:
            self._stream.interrupt()

    async def sleep(self, seconds: float | None) -> None:
        """Sleep; a wake-up ends it."""
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            pass
        self._woken.clear()

    async def next(self, stream: AsyncStream, seconds: float | None) -> tuple[Any, ...] | None:
        """The next events of a watch. `WatchEnded` after a wake-up."""
        if self._woken.is_set():
            self._woken.clear()
            raise WatchEnded("woken")
        self._stream = stream
        try:
            return await stream.next(seconds)
        finally:
            self._stream = None


class TaskPump:
    """Runs recipes in the calling task."""

    def __init__(self, transport: AsyncTransport, clock: Clock = now) -> None:
        self.transport, self.clock = transport, clock

    async def run(
        self,
        recipe: Recipe[T],
        guard: TaskGuard | None = None,
        proved: Callable[[float], object] | None = None,
        lost: Callable[[str, str, int | None], object] | None = None,
    ) -> T:
        """The result of a recipe. Whatever ends it, it cleans up first; `guard.clean` says whether that succeeded."""
        guard = guard or TaskGuard()
        guard.clean = False
        course: Course[T] = Course(recipe, guard, self.clock, proved, lost)
        run = _Run(self.transport, course, guard)
        try:
            step = course.begin()
            while step is not None:
                try:
                    step = await run.do(step)
                except BaseException as error:
                    if guard.clean:
                        raise
                    step = course.fail(error)
            return course.end()
        finally:
            await run.drop_stream()


class _Run:
    """One run, with the stream of its last watch."""

    def __init__(self, transport: AsyncTransport, course: Course[Any], guard: TaskGuard) -> None:
        self._transport, self._course, self._guard = transport, course, guard
        self._stream: AsyncStream | None = None

    async def do(self, step: Call | Wait) -> Call | Wait | None:
        at = self._course.allowed()
        if isinstance(step, Wait):
            return self._course.happened(await self._wait(step, at))
        seconds = self._course.calling(at)
        try:
            reply = await self._transport.call(step.request, seconds)
        except Unreachable as error:
            return self._course.unreachable(error, contacted=self._transport.contacted)
        return self._course.answered(reply)  # type: ignore[arg-type]  # a call has no other replies

    async def _wait(self, step: Wait, at: float) -> Changed | Elapsed | Unwatched:
        if self._guard.on_wait is not None and (asked := self._guard.on_wait()) is not None:
            await asked
            at = self._course.allowed()  # it may have taken a while
        seconds = self._course.waiting(at, step.seconds)
        if step.watch is None:
            await self._guard.sleep(seconds)
            return Elapsed()
        try:
            events = await self._guard.next(await self._watching(step.watch, seconds), seconds)
        except WatchEnded as error:
            await self.drop_stream()
            if not self._guard.stopped:
                await self._guard.sleep(min(AFTER_LOST_WATCH, AFTER_LOST_WATCH if seconds is None else seconds))
            return Unwatched(str(error))
        return Elapsed() if events is None else Changed(events)

    async def _watching(self, watch: Any, seconds: float | None) -> AsyncStream:
        if self._stream is None or not self._stream.serves(watch):
            await self.drop_stream()
            patience = self._guard.call_seconds if seconds is None else min(seconds, self._guard.call_seconds)
            self._stream = await self._transport.watch(watch, patience)
        return self._stream

    async def drop_stream(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            await stream.close()
