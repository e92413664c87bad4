"""MemoryTicket: one request of the memory engine; first a waiter, once granted the holding."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from vez.engines import handles
from vez.engines.base import Contestant, Place, Request
from vez.engines.machine import host_name
from vez.engines.memory.queue import Bell, Space
from vez.engines.owners import NOBODY, Owner
from vez.errors import Misuse

if TYPE_CHECKING:
    from vez.engines.owners import Entry

_NEWEST_STAY = 0.2
"""Weight of the newest stay in the moving mean of stays."""


class MemoryTicket:
    """A request; once granted, the holding."""

    def __init__(self, space: Space, request: Request, owner: Owner, loop: asyncio.AbstractEventLoop | None) -> None:
        self.space, self.request, self.owner = space, request, owner
        self.queue = space.queue(request.kind, request.name)
        self.ticket = self.token = self.queue.draw()
        self.since = time.time()
        self.inside = self.gone = False
        self.lost: str | None = None
        self.void = False  # lost, and its grace is over: it blocks nobody
        self.generation = handles.generation
        self.loop = loop
        self.bell = Bell()
        self.async_bell = asyncio.Event()
        self._tell: Callable[[str], None] | None = None
        self.entry: Entry | None = None

    def granted(self) -> bool:
        """True if it is granted by now. Never blocks."""
        with self.space.lock:
            if self.inside:
                return True
            if self.request.kind == "election":
                self.queue.elect_if_vacant()
            elif not self.queue.blocked(self):
                self.inside, self.since = True, time.time()
                if self.request.shared or self.request.limit > 1:
                    self.queue.wake()
            return self.inside

    def wake(self) -> None:
        """End a `listen`, from any thread."""
        if self.loop is None:
            self.bell.ring()
        else:
            with contextlib.suppress(RuntimeError):  # the loop was closed, and its waiters with it
                self.loop.call_soon_threadsafe(self.async_bell.set)

    def poll(self) -> bool:
        """False: there is no shorter way than `listen`."""
        return False

    def listen(self, seconds: float) -> None:
        """Block until woken, at most for so long."""
        self.bell.wait(seconds)

    async def listen_async(self, seconds: float) -> None:
        """Async version of `listen`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.async_bell.wait()
        self.async_bell.clear()

    def place(self) -> Place:
        """Our position in the queue."""
        with self.space.lock:
            before = [m for m in self.queue.members if m.ticket < self.ticket and m.lost is None]
            mean = self.queue.mean
            inside = time.time() - before[0].since if before else 0.0
            estimate = 0.0 if mean is None else len(before) * mean / self.request.limit - inside
            return Place(len(before), estimate if estimate > 0 else None, before[0].contestant() if before else None)

    def explain(self) -> str:
        """Who holds what we wait for, in words."""
        holder = self.place().holder
        return f"{holder.label} has been inside for {time.time() - holder.since:.1f} s" if holder else ""

    def why_lost(self) -> str | None:
        """Reason of the loss, or None while held. Never blocks."""
        if self.generation != handles.generation:
            return "this process was forked from the one that holds it"
        if self.gone:
            return "it was released"
        return self.lost

    def lose(self, why: str) -> None:
        """Mark it as lost, and tell the holder why."""
        self.lost = why
        tell = self._tell
        if self.loop is not None and tell is not None:
            with contextlib.suppress(RuntimeError):
                self.loop.call_soon_threadsafe(tell, why)

    def end(self) -> None:
        """End the grace: from now on it blocks nobody."""
        self.void = True
        if self.queue.leading == self.ticket:
            self.queue.leading = 0

    def on_loss(self, tell: Callable[[str], None]) -> None:
        """Call `tell` with the reason, from the event loop, when it is lost."""
        self._tell = tell

    def release(self) -> None:
        """Leave the queue, or release what is held. What an interrupt cuts short is completed by the next call, the
        finaliser's at the latest; so `gone` is set last."""
        if self.gone or self.generation != handles.generation:
            return
        with self.space.lock:
            queue = self.queue
            if queue.seats.pop(self.ticket, None) is not None and self.inside and self.lost is None:
                stay = time.time() - self.since
                queue.mean = stay if queue.mean is None else queue.mean + _NEWEST_STAY * (stay - queue.mean)
            if self.request.kind == "election":
                queue.elect_if_vacant()
            queue.wake()
            with contextlib.suppress(ValueError):
                self.owner.entries.remove(self.entry)  # type: ignore[arg-type]  # None is not among them
            self.owner = NOBODY
            self.gone, self.inside = True, False

    def __del__(self) -> None:
        try:  # noqa: SIM105  at exit `contextlib` may be gone
            self.release()
        except Exception:  # noqa: S110
            pass

    async def release_async(self) -> None:
        """Async version of `release`, which never blocks."""
        self.release()

    def lifeline(self) -> None:
        """None: what is in memory ends with the process."""

    def transfer(self, to: str) -> int:
        """Make the candidate with this label leader; its term."""
        with self.space.lock:
            if self.request.kind != "election":
                hint = "release it; the next in line gets it"
                raise Misuse(f"a {self.request.kind} cannot be transferred to {to!r}", hint=hint)
            found = [m for m in self.queue.members if m.request.label == to and not m.inside and m.lost is None]
            if not found or self.queue.leader is not self:
                raise Misuse(f"there is no candidate {to!r} in {self.request.name!r}", hint="see `vez status`")
            self.queue.inaugurate(found[0])
            self.lost = "it was transferred"
            self.queue.wake()
            return found[0].token

    def contestant(self) -> Contestant:
        """As `inspect` shows it."""
        return Contestant(
            self.token, os.getpid(), host_name(), self.since, self.request.shared, self.request.label,
            self.request.weight, self.lost is not None,
        )  # fmt: skip
