"""The pump for tasks: executes the steps of a recipe, and waits in the calling task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from vez.locks.engines.network.recipe_run import AFTER_LOST_WATCH, Clock, Guard, RecipeRun, now
from vez.locks.engines.network.task_transport import AsyncStream, AsyncTransport
from vez.locks.engines.network.transport import Unreachable, WatchEnded
from vez.locks.engines.task_primitives import Event, wait_for
from vez.locks.recipes import Call, Changed, Elapsed, Recipe, Unwatched, Wait

T = TypeVar("T")


class TaskGuard(Guard):
    """A guard that other tasks can stop and wake."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._woken = Event()
        self._stream: AsyncStream | None = None

    def stop(self, why: str) -> None:
        """Withdraw the run. `why` is the reason."""
        self.stopped = why
        self.wake()

    def wake(self) -> None:
        """End the present wait; the recipe then looks again."""
        self._woken.set()
        if (stream := self._stream) is not None:
            stream.interrupt()

    async def sleep(self, seconds: float | None) -> None:
        """Sleep for `seconds`, or until a wake-up."""
        await wait_for(self._woken, seconds)
        self._woken.clear()

    async def next(self, stream: AsyncStream, seconds: float | None) -> tuple[Any, ...] | None:
        """The next events of a watch. Raises `WatchEnded` after a wake-up."""
        self._stream = stream  # before the event is checked, so that a later wake-up finds the stream
        try:
            if self._woken.is_set():
                self._woken.clear()
                raise WatchEnded("woken")
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
        """Run a recipe, and return its result. However it ends, the recipe cleans up first. `guard.clean` is True if
        the clean-up succeeded."""
        guard = guard or TaskGuard()
        guard.clean = False
        run: RecipeRun[T] = RecipeRun(recipe, guard, self.clock, proved, lost)
        steps = _Steps(self.transport, run, guard)
        try:
            step = run.begin()
            while step is not None:
                try:
                    step = await steps.do(step)
                except BaseException as error:
                    if guard.clean:
                        raise
                    step = run.fail(error)
            return run.end()
        finally:
            await steps.drop_stream()


class _Steps:
    """Executes the steps of one run, and keeps the stream of its last watch."""

    def __init__(self, transport: AsyncTransport, run: RecipeRun[Any], guard: TaskGuard) -> None:
        self._transport, self._run, self._guard = transport, run, guard
        self._stream: AsyncStream | None = None

    async def do(self, step: Call | Wait) -> Call | Wait | None:
        at = self._run.allowed()
        if isinstance(step, Wait):
            return self._run.happened(await self._wait(step, at))
        seconds = self._run.calling(at)
        try:
            reply = await self._transport.call(step.request, seconds)
        except Unreachable as error:
            return self._run.unreachable(error, contacted=self._transport.contacted)
        return self._run.answered(reply)  # type: ignore[arg-type]  # a call has no other replies

    async def _wait(self, step: Wait, at: float) -> Changed | Elapsed | Unwatched:
        guard = self._guard
        if guard.on_wait is not None:
            guard.on_wait()
        if guard.ask_on_wait is not None:
            await guard.ask_on_wait()
            at = self._run.allowed()  # `ask_on_wait` may have taken some time
        seconds = self._run.waiting(at, step.seconds)
        if step.watch is None:
            await guard.sleep(seconds)
            return Elapsed()
        try:
            stream = await self._watching(step.watch, seconds)
            seconds = self._run.waiting(self._run.allowed(), step.seconds)  # it took some time to open
            events = await guard.next(stream, seconds)
        except WatchEnded as error:
            await self.drop_stream()
            if not guard.stopped:
                await guard.sleep(min(AFTER_LOST_WATCH, AFTER_LOST_WATCH if seconds is None else seconds))
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
