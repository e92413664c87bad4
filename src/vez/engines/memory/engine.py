"""The memory engine: all names of one URL within this process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Iterator
from weakref import ref

from vez.engines.base import Break, Inspection, Kind, Leader, Request
from vez.engines.local import LocalEngine, Waiting, give_grace
from vez.engines.machine import host_name
from vez.engines.memory.queue import Bell, Queue, Space, spaces
from vez.engines.memory.ticket import MemoryTicket
from vez.engines.owners import Owner
from vez.engines.stuck import Stuck, combined
from vez.errors import Deadlock, Misuse


class MemoryEngine(LocalEngine):
    """All names of one URL, within this process."""

    @property
    def space(self) -> Space:
        """The names of this URL; a forked child starts with none."""
        return spaces.setdefault(self.url, Space())

    def enlist(self, request: Request, owner: Owner, patience: float | None, *, wait: bool) -> Waiting | None:
        return self._enlist(request, owner, None, wait=wait)

    def enlist_async(self, request: Request, owner: Owner, *, wait: bool) -> Waiting | None:
        return self._enlist(request, owner, asyncio.get_running_loop(), wait=wait)

    def _enlist(
        self, request: Request, owner: Owner, loop: asyncio.AbstractEventLoop | None, *, wait: bool
    ) -> Waiting | None:
        self.refuse_if_closed()
        space = self.space
        contender: MemoryTicket | None = None
        try:
            with space.lock:
                contender = MemoryTicket(space, request, owner, loop)
                queue = contender.queue
                if request.kind == "semaphore":
                    if queue.members and queue.limit != request.limit:
                        raise Misuse(
                            f"semaphore {request.name!r} is in use with a limit of {queue.limit}, asked for "
                            f"{request.limit}", hint="all users of a semaphore must name the same limit",
                        )  # fmt: skip
                    queue.limit = request.limit
                queue.seats[contender.ticket] = ref(contender)
                if contender.granted() or wait:
                    return contender
                contender.release()
                return None
        except BaseException:
            if contender is not None:
                contender.release()
            raise

    def before_waiting(self, waiting: Waiting, owner: Owner) -> bool:
        held = [h for _, h in owner.holdings() if isinstance(h, MemoryTicket) and h.space is self.space]
        if held and isinstance(waiting, MemoryTicket):
            with self.space.lock:
                stuck = _stuck(waiting, owner, frozenset())
                if stuck is not None and stuck.closes:
                    names = " and ".join(repr(h.request.name) for h in held)
                    mine = f"the caller holds {names} and waits for {waiting.request.name!r}"
                    raise Deadlock(
                        f"waiting for {waiting.request.name!r} would close a cycle, which ends only if one of its "
                        f"waits does: {'; '.join((mine, *stuck.links))}",
                        cycle=(mine, *stuck.links),
                        hint="take several locks in one order everywhere, or all at once with lock_all",
                    )
        return True

    def inspect(self, name: str, kind: Kind = "lock") -> Inspection:
        with self.space.lock:
            queue = self.space.queues.get((kind, name)) or Queue()
            inside = tuple(m.contestant() for m in queue.members if m.inside)
            waiting = tuple(m.contestant() for m in queue.members if not m.inside)
            return Inspection(
                name, kind, queue.limit, inside, waiting, queue.last, queue.mean, None, tuple(queue.breaks)
            )

    def names(self, prefix: str = "", kind: Kind = "lock") -> list[str]:
        with self.space.lock:
            return sorted(name for of, name in self.space.queues if of == kind and name.startswith(prefix))

    def break_lock(self, name: str, reason: str, kind: Kind = "lock") -> Break | None:
        with self.space.lock:
            queue = self.space.queue(kind, name)
            inside = [member for member in queue.members if member.inside and member.lost is None]
            if not inside:
                return None
            record = Break(name, tuple(m.token for m in inside), reason, time.time(), os.getpid(), host_name(), kind)
            queue.breaks.append(record)
            for member in inside:
                member.lose("it was broken by force")
        give_grace(max(m.request.grace_ms for m in inside), lambda: all(m.gone for m in inside))
        with self.space.lock:
            for member in inside:
                member.end()
            if kind == "election":
                queue.elect_if_vacant()
            queue.wake()
            return record

    def observe(self, name: str, seconds: float | None = None) -> Iterator[Leader | None]:
        queue, changed = self.space.queue("election", name), Bell()
        queue.observers.append(changed.ring)
        try:
            last = _leader(queue)
            yield last
            while changed.wait(seconds):
                if (leader := _leader(queue)) != last:
                    last = leader
                    yield leader
        finally:
            queue.observers.remove(changed.ring)

    async def observe_async(self, name: str) -> AsyncIterator[Leader | None]:
        queue, changed, loop = self.space.queue("election", name), asyncio.Event(), asyncio.get_running_loop()

        def tell() -> None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(changed.set)

        queue.observers.append(tell)
        try:
            last = _leader(queue)
            yield last
            while True:
                await changed.wait()
                changed.clear()
                if (leader := _leader(queue)) != last:
                    last = leader
                    yield leader
        finally:
            queue.observers.remove(tell)

    def close(self) -> None:
        self.leave_all()


def _leader(queue: Queue) -> Leader | None:
    leader = queue.leader
    if leader is None:
        return None
    return Leader(leader.token, os.getpid(), host_name(), leader.request.label, leader.since)


def _stuck(waiting: MemoryTicket, owner: Owner, seen: frozenset[tuple[str, str]]) -> Stuck | None:
    """Why this cannot be granted as long as the owner waits; None if some holder can go on."""
    request = waiting.request
    if (request.kind, request.name) in seen:
        return Stuck()
    found: list[Stuck | None] = []
    for holder in [member for member in waiting.queue.members if member.inside and not member.void]:
        if holder.owner is owner:
            found.append(Stuck(closes=True))
            continue
        others = (m for queue in waiting.space.queues.values() for m in queue.members)
        next_wait = next((m for m in others if m.owner is holder.owner and not m.inside), None)
        further = next_wait and _stuck(next_wait, owner, seen | {(request.kind, request.name)})
        link = f"{holder.request.label} holds {request.name!r} and waits for "
        found.append(further.after(link + repr(next_wait.request.name)) if next_wait and further else None)
    return combined(found, waiting.queue.limit if request.kind == "semaphore" else None)
