"""LoopEar: the descriptors that an event loop watches for all its waiters and holders: one bell, and the ends of
processes.

A thread has an ear of its own and blocks on it (`bell.py`); all tasks of a loop share one ear, which the loop watches
for them. So the two have no common source."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from weakref import ref

from vez.locks.engines import handles
from vez.locks.engines.file.bell import HOLDER_NET, QUEUE_LENGTH, Bell, Watch


class LoopEar:
    """Watches a bell and processes for one event loop and one engine."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.generation = handles.generation
        self.bell = Bell()
        self.watch = Watch()
        # Two names may have issued the same ticket: a ring wakes both, and a false ring is harmless.
        self._sleepers: dict[int, list[asyncio.Future[None]]] = {}
        self._called: dict[int, dict[object, Callable[[], None]]] = {}
        self._watching: dict[int, tuple[int, set[int]]] = {}  # process -> its descriptor, tickets that watch it
        self._timer: asyncio.TimerHandle | None = None  # set while there are holdings to watch
        self._closed = False
        loop.add_reader(self.bell.fileno(), _ring, ref(self))  # weak: a client that was dropped is collected

    def open(self) -> Bell:
        """The bell of this loop, opened at the first use."""
        return self.bell

    async def listen(self, ticket: int, processes: Iterable[int], seconds: float) -> frozenset[int]:
        """Sleep until the ticket is rung, one of the processes ends, or the time is over. Returns the processes that
        ended or cannot be watched."""
        sleeper = self.loop.create_future()
        self._sleepers.setdefault(ticket, []).append(sleeper)
        processes = list(processes)
        watched = [process for process in processes if self._watch(process, ticket)]
        if len(watched) < len(processes):
            _finish(sleeper)
        timer = self.loop.call_later(seconds, _finish, sleeper)
        try:
            await sleeper
        finally:
            timer.cancel()
            self._sleepers[ticket].remove(sleeper)
            if not self._sleepers[ticket]:
                del self._sleepers[ticket]
            ended = frozenset(process for process in processes if process not in self._watching)
            for process in watched:
                self._unwatch(process, ticket)
        return ended

    def on_ring(self, ticket: int, holder: object, call: Callable[[], None]) -> None:
        """Call `call` when the ticket is rung: its holding may be lost."""
        self._called.setdefault(ticket, {})[holder] = call
        if self._timer is None:
            self._timer = self.loop.call_later(HOLDER_NET, self._look)

    def _look(self) -> None:
        """Poll for losses: nobody rings when a file is removed or truncated."""
        self._timer = self.loop.call_later(HOLDER_NET, self._look) if self._called else None
        for calls in list(self._called.values()):
            for call in list(calls.values()):
                call()

    def forget(self, ticket: int, holder: object) -> None:
        """Undo `on_ring`."""
        if ticket in self._called:
            self._called[ticket].pop(holder, None)
            if not self._called[ticket]:
                del self._called[ticket]

    def __del__(self) -> None:
        """Close the bell of a client that was dropped, in the loop: a finaliser may run in any thread."""
        if getattr(self, "_closed", True) or self.generation != handles.generation:
            return
        with contextlib.suppress(RuntimeError):  # the loop was closed, and the bell closes itself
            self.loop.call_soon_threadsafe(_stop_listening, self.loop, self.bell)

    def close(self) -> None:
        """Stop listening."""
        if self.generation != handles.generation:
            return
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        if not self.loop.is_closed():
            self.loop.remove_reader(self.bell.fileno())
            for descriptor, _ in self._watching.values():
                self.loop.remove_reader(descriptor)
        self._watching.clear()
        for ticket in list(self._sleepers):
            self._wake(ticket)
        self.bell.close()
        self.watch.close()

    def _rung(self) -> None:
        tickets = self.bell.heard()
        if len(tickets) >= QUEUE_LENGTH:  # some were lost: wake everybody who listens here
            tickets = sorted({*self._called, *self._sleepers})
        for ticket in tickets:
            for call in list(self._called.get(ticket, {}).values()):
                call()
            self._wake(ticket)

    def _wake(self, ticket: int) -> None:
        for sleeper in self._sleepers.get(ticket, ()):
            _finish(sleeper)

    def _watch(self, process: int, ticket: int) -> bool:
        if process in self._watching:
            self._watching[process][1].add(ticket)
            return True
        descriptor = self.watch.of(process)
        if descriptor is None:
            return False
        self._watching[process] = (descriptor, {ticket})
        self.loop.add_reader(descriptor, self._process_ended, process)
        return True

    def _unwatch(self, process: int, ticket: int) -> None:
        if process in self._watching:
            descriptor, tickets = self._watching[process]
            tickets.discard(ticket)
            if not tickets:
                self.loop.remove_reader(descriptor)
                self.watch.forget(process)
                del self._watching[process]

    def _process_ended(self, process: int) -> None:
        descriptor, tickets = self._watching.pop(process)
        self.loop.remove_reader(descriptor)
        self.watch.forget(process)
        for ticket in sorted(tickets):
            self._wake(ticket)


def _ring(heard: ref[LoopEar]) -> None:
    ear = heard()
    if ear is not None:
        ear._rung()


def _stop_listening(loop: asyncio.AbstractEventLoop, bell: Bell) -> None:
    loop.remove_reader(bell.fileno())
    bell.close()


def _finish(sleeper: asyncio.Future[None]) -> None:
    if not sleeper.done():
        sleeper.set_result(None)
