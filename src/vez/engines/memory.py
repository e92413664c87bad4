"""The memory engine: turns within one process. The published fake: the whole contract, nothing on disk.

`memory:` and `memory:NAME` are spaces of this process; all clients of one URL share it. Besides being an engine it
can be told to misbehave (`lose`), which is what tests of programs need.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING
from weakref import ref

from vez.engines import handles
from vez.engines.base import Break, Contestant, Inspection, Kind, Leader, Place, Request
from vez.engines.local import LocalEngine, Waiting, give_grace
from vez.engines.machine import at_fork, host_name
from vez.engines.owners import NOBODY, Owner
from vez.engines.stuck import Stuck, combined
from vez.errors import Deadlock, Misuse

if TYPE_CHECKING:
    from vez.engines.owners import Entry

_MEMORY = 0.2


class Bell:
    """Wakes one thread. A bare lock, which is taken while nobody has rung: the interpreter's own `Event` can be left
    locked by an interrupt."""

    def __init__(self) -> None:
        self._silent = threading.Lock()
        self._silent.acquire()

    def ring(self) -> None:
        """Once is enough."""
        with contextlib.suppress(RuntimeError):
            self._silent.release()

    def wait(self, seconds: float | None) -> bool:
        """Sleep until it rings; False when the time is over."""
        return self._silent.acquire(timeout=-1 if seconds is None else seconds)


class Queue:
    """One name: everybody who holds or waits, in the order of arrival."""

    def __init__(self) -> None:
        self.last = 0
        self.seats: dict[int, ref[MemoryContender]] = {}  # by ticket; one that nobody knows any more leaves by itself
        self.mean: float | None = None
        self.limit = 1
        self.breaks: list[Break] = []
        self.leading = 0  # the ticket of the leader
        self.observers: list[Callable[[], None]] = []

    @property
    def members(self) -> list[MemoryContender]:
        """Everybody who holds or waits."""
        return [member for seat in list(self.seats.values()) if (member := seat()) is not None]

    @property
    def leader(self) -> MemoryContender | None:
        """Who leads."""
        seat = self.seats.get(self.leading)
        return None if seat is None else seat()

    def draw(self) -> int:
        """The next number."""
        self.last += 1
        return self.last

    def blocked(self, member: MemoryContender) -> bool:
        """Whether those who came before stand in the way."""
        before = [other for other in self.members if other.ticket < member.ticket and not other.void]
        if member.request.shared:
            return any(not other.request.shared for other in before)
        return len(before) >= member.request.limit

    def settle(self) -> None:
        """Elect, if there is no leader: the heaviest candidate, among equals the first. Everybody is woken if there was
        an election, and only then: a candidate that looks would wake itself for ever."""
        if self.leader is None:
            candidates = [member for member in self.members if member.lost is None]
            if candidates:
                self.inaugurate(min(candidates, key=lambda member: (-member.request.weight, member.ticket)))
                self.wake()

    def inaugurate(self, winner: MemoryContender) -> None:
        """Make it leader, with a new term. All at once: an interrupt strikes at calls only."""
        term, now = self.draw(), time.time()
        winner.token, winner.inside, winner.since, self.leading = term, True, now, winner.ticket

    def wake(self) -> None:
        """Let everybody look again."""
        for member in self.members:
            member.wake()
        for tell in list(self.observers):
            tell()


class Space:
    """All names of one URL."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.queues: dict[tuple[str, str], Queue] = {}

    def queue(self, kind: str, name: str) -> Queue:
        """The queue of a name, made when first asked for."""
        return self.queues.setdefault((kind, name), Queue())


_spaces: dict[str, Space] = {}
at_fork(after_in_child=_spaces.clear)


class MemoryContender:
    """One request, and later the holding."""

    def __init__(self, space: Space, request: Request, owner: Owner, loop: asyncio.AbstractEventLoop | None) -> None:
        self.space, self.request, self.owner = space, request, owner
        self.queue = space.queue(request.kind, request.name)
        self.ticket = self.token = self.queue.draw()
        self.since = time.time()
        self.inside = self.gone = False
        self.lost: str | None = None
        self.void = False  # lost, and the grace is over: it stands in nobody's way
        self.generation = handles.generation
        self.loop = loop
        self.bell = Bell()
        self.async_bell = asyncio.Event()
        self._tell: Callable[[str], None] | None = None
        self.entry: Entry | None = None

    def granted(self) -> bool:
        """Look whether it is our turn by now."""
        with self.space.lock:
            if self.inside:
                return True
            if self.request.kind == "election":
                self.queue.settle()
            elif not self.queue.blocked(self):
                self.inside, self.since = True, time.time()
                if self.request.shared or self.request.limit > 1:
                    self.queue.wake()
            return self.inside

    def wake(self) -> None:
        """Let the waiter look again."""
        if self.loop is None:
            self.bell.ring()
        else:
            with contextlib.suppress(RuntimeError):  # the loop is closed, and the waiter gone with it
                self.loop.call_soon_threadsafe(self.async_bell.set)

    def poll(self) -> bool:
        """There is no shorter way than `listen`."""
        return False

    def listen(self, seconds: float) -> None:
        """Block until rung."""
        self.bell.wait(seconds)

    async def listen_async(self, seconds: float) -> None:
        """The same for a task."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.async_bell.wait()
        self.async_bell.clear()

    def place(self) -> Place:
        """Where we stand in the queue."""
        with self.space.lock:
            before = [m for m in self.queue.members if m.ticket < self.ticket and m.lost is None]
            mean = self.queue.mean
            inside = time.time() - before[0].since if before else 0.0
            estimate = 0.0 if mean is None else len(before) * mean / self.request.limit - inside
            return Place(len(before), estimate if estimate > 0 else None, before[0].contestant() if before else None)

    def explain(self) -> str:
        """Who stands in the way."""
        holder = self.place().holder
        return f"{holder.label} has been inside for {time.time() - holder.since:.1f} s" if holder else ""

    def why_lost(self) -> str | None:
        """Why this is no longer held."""
        if self.generation != handles.generation:
            return "this process was forked from the one that holds it"
        if self.gone:
            return "it was released"
        return self.lost

    def lose(self, why: str) -> None:
        """Take it away."""
        self.lost = why
        tell = self._tell
        if self.loop is not None and tell is not None:
            with contextlib.suppress(RuntimeError):
                self.loop.call_soon_threadsafe(tell, why)

    def end(self) -> None:
        """Let others pass."""
        self.void = True
        if self.queue.leading == self.ticket:
            self.queue.leading = 0

    def on_loss(self, tell: Callable[[str], None]) -> None:
        """Call back from the event loop when this is lost."""
        self._tell = tell

    def release(self) -> None:
        """Leave, from the queue or from the inside. What an interrupt cuts short is completed by the next call, the
        finaliser's at the latest; so it is done only when all is done."""
        if self.gone or self.generation != handles.generation:
            return
        with self.space.lock:
            queue = self.queue
            if queue.seats.pop(self.ticket, None) is not None and self.inside and self.lost is None:
                stay = time.time() - self.since
                queue.mean = stay if queue.mean is None else queue.mean + _MEMORY * (stay - queue.mean)
            if self.request.kind == "election":
                queue.settle()
            queue.wake()
            with contextlib.suppress(ValueError):
                self.owner.entries.remove(self.entry)  # type: ignore[arg-type]  # None is not among them
            self.owner = NOBODY
            self.gone, self.inside = True, False

    def __del__(self) -> None:
        try:  # noqa: SIM105  at the interpreter's end nothing is left to suppress or to release with
            self.release()
        except Exception:  # noqa: S110
            pass

    async def release_async(self) -> None:
        """The same."""
        self.release()

    def lifeline(self) -> None:
        """There is none: what is in memory ends with the process."""

    def transfer(self, to: str) -> int:
        """Hand the leadership to a candidate."""
        with self.space.lock:
            if self.request.kind != "election":
                raise Misuse(f"a {self.request.kind} cannot be handed to {to!r}", hint="release it")
            found = [m for m in self.queue.members if m.request.label == to and not m.inside and m.lost is None]
            if not found or self.queue.leader is not self:
                raise Misuse(f"there is no candidate {to!r} in {self.request.name!r}", hint="see `vez status`")
            self.queue.inaugurate(found[0])
            self.lost = "it was transferred"
            self.queue.wake()
            return found[0].token

    def contestant(self) -> Contestant:
        """In the words of `inspect`."""
        return Contestant(
            self.token, os.getpid(), host_name(), self.since, self.request.shared, self.request.label,
            self.request.weight, self.lost is not None,
        )  # fmt: skip


class MemoryEngine(LocalEngine):
    """One space."""

    @property
    def space(self) -> Space:
        """The space of this URL; a forked child has one of its own."""
        return _spaces.setdefault(self.url, Space())

    def enlist(self, request: Request, owner: Owner, patience: float | None, *, wait: bool) -> Waiting | None:
        return self._enlist(request, owner, None, wait=wait)

    def enlist_async(self, request: Request, owner: Owner, *, wait: bool) -> Waiting | None:
        return self._enlist(request, owner, asyncio.get_running_loop(), wait=wait)

    def _enlist(
        self, request: Request, owner: Owner, loop: asyncio.AbstractEventLoop | None, *, wait: bool
    ) -> Waiting | None:
        self.refuse_if_closed()
        space = self.space
        contender: MemoryContender | None = None
        try:
            with space.lock:
                contender = MemoryContender(space, request, owner, loop)
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
        held = [h for _, h in owner.holdings() if isinstance(h, MemoryContender) and h.space is self.space]
        if held and isinstance(waiting, MemoryContender):
            with self.space.lock:
                stuck = _stuck(waiting, owner, frozenset())
                if stuck is not None and stuck.closes:
                    names = " and ".join(repr(h.request.name) for h in held)
                    mine = f"the one who asked holds {names} and waits for {waiting.request.name!r}"
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
                queue.settle()
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


def open_engine(url: str) -> MemoryEngine:
    """The engine of a `memory:` URL."""
    return MemoryEngine(url)


def _leader(queue: Queue) -> Leader | None:
    leader = queue.leader
    if leader is None:
        return None
    return Leader(leader.token, os.getpid(), host_name(), leader.request.label, leader.since)


def _stuck(waiting: MemoryContender, owner: Owner, seen: frozenset[tuple[str, str]]) -> Stuck | None:
    """Why this cannot be had as long as the owner waits; nothing if somebody can go on."""
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
