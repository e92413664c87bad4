"""The core of the memory engine: all names of one URL within this process."""

from __future__ import annotations

import asyncio
import contextlib
from _thread import start_new_thread
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from time import monotonic_ns

from vez.locks.engines.base import Break, Inspection, Kind, Leader, Request, Traits
from vez.locks.engines.cycles import Holder, Holders, Target
from vez.locks.engines.handles import quietly
from vez.locks.engines.local.core import LocalCore, Waiting, give_grace
from vez.locks.engines.memory.line import Bell, Line, Space, spaces
from vez.locks.engines.memory.ticket import MemoryTicket
from vez.locks.engines.memory.views import inspection, leader, record
from vez.locks.engines.owners import Claim
from vez.locks.engines.wording import stale_memo
from vez.locks.table import Break as Force
from vez.locks.table import Enlist, Lost, Table

TRAITS = Traits(
    frees="process",
    reaches="process",
    token="arrival",  # noqa: S106  not a password
    cycles="all",
    memos=True,
)


class MemoryCore(LocalCore):
    """All names of one URL, within this process."""

    traits, looking_blocks = TRAITS, False

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._observers: list[Callable[[], None]] = []  # called when the client is closed

    @property
    def space(self) -> Space:
        """The names of this URL; a forked child starts with none."""
        return spaces.get(self.url) or spaces.setdefault(self.url, Space())

    def enlist(self, request: Request, owner: int, patience: float | None, *, wait: bool) -> Waiting | None:
        return self._enlist(request, owner, None, wait)

    def enlist_async(self, request: Request, owner: int, *, wait: bool, prepared: bool = False) -> Waiting | None:
        return self._enlist(request, owner, asyncio.get_running_loop(), wait)

    def _enlist(
        self, request: Request, owner: int, loop: asyncio.AbstractEventLoop | None, wait: bool
    ) -> Waiting | None:
        if self.closed:
            self.refuse_if_closed()
        space = self.space
        asked = Enlist(owner, request.shared, request.limit, request.weight, request.grace_ms, request.label, wait)
        ticket = MemoryTicket(space, space.line(request.kind, request.name), request, loop)
        try:
            with space.lock:
                return ticket if ticket.line.enlist(ticket, asked) else None
        except BaseException:
            try:
                ticket.release()
            except BaseException:  # a second interrupt
                start_new_thread(quietly, (ticket.release,))
            raise

    @property
    def identity(self) -> Hashable:
        return self.url

    def holders(self, target: Target, here: list[Claim], mine: set[int]) -> Holders:
        line = self.space.lines.get((target.kind, target.name))
        if line is None:
            return Holders(target, [], None)
        with self.space.lock:
            table, found = line.table, []
            for seat in table.holders:
                known = line.tickets.get(seat.number)
                ticket = None if known is None else known()
                if ticket is not None:
                    found.append(Holder(seat.asked.label, ticket.waits, id(ticket) in mine))
        return Holders(target, found, table.limit if target.kind == "semaphore" else None)

    def inspect(self, name: str, kind: Kind = "lock") -> Inspection:
        self.refuse_if_closed()
        line = self.space.lines.get((kind, name))
        return inspection(Table(kind, name) if line is None else line.table)

    def names(self, prefix: str = "", kind: Kind = "lock") -> list[str]:
        self.refuse_if_closed()
        known = {*list(self.space.lines), *list(self.space.memos)}
        return sorted(name for of, name in known if of == kind and name.startswith(prefix))

    def break_lock(self, name: str, reason: str, kind: Kind = "lock") -> Break | None:
        self.refuse_if_closed()
        line = self.space.lines.get((kind, name))
        if line is None:
            return None
        with self.space.lock:
            broken = {effect.number: effect for effect in line.do(Force(reason)) if isinstance(effect, Lost)}
            if not broken:
                return None
            done = record(line.table, line.table.forced[-1])
        left_ms = -(-(max(one.ends_ns for one in broken.values()) - monotonic_ns()) // 1_000_000)
        give_grace(left_ms, lambda: not any(seat.number in broken for seat in line.table.holders))
        with self.space.lock:
            line.tick()
        return done

    def memo(self, name: str, kind: Kind = "lock") -> str | None:
        self.refuse_if_closed()
        return self.space.memos.get((kind, name), (0, None))[1]

    def write_memo(self, name: str, text: str | None, token: int, kind: Kind = "lock") -> None:
        self.refuse_if_closed()
        with self.space.lock:
            newest = self.space.memos.get((kind, name), (0, None))[0]
            if newest > token:
                raise stale_memo(name, token, newest)
            if text is None:
                self.space.memos.pop((kind, name), None)
            else:
                self.space.memos[kind, name] = token, text

    def observe(self, name: str, seconds: float | None = None) -> Iterator[Leader | None]:
        self.refuse_if_closed()
        line, changed = self.space.line("election", name), Bell()
        try:
            self._observe(line, changed.ring)
            last = leader(line.table)
            yield last
            while changed.wait(seconds):
                self.refuse_if_closed()
                if (now := leader(line.table)) != last:
                    last = now
                    yield now
        finally:
            self._look_away(line, changed.ring)

    async def observe_async(self, name: str, seconds: float | None = None) -> AsyncIterator[Leader | None]:
        self.refuse_if_closed()
        line, changed, loop = self.space.line("election", name), asyncio.Event(), asyncio.get_running_loop()

        def tell() -> None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(changed.set)

        try:
            self._observe(line, tell)
            last = leader(line.table)
            yield last
            while True:
                try:
                    async with asyncio.timeout(seconds):
                        await changed.wait()
                except TimeoutError:
                    return
                changed.clear()
                self.refuse_if_closed()
                if (now := leader(line.table)) != last:
                    last = now
                    yield now
        finally:
            self._look_away(line, tell)

    def _observe(self, line: Line, tell: Callable[[], None]) -> None:
        line.observers.append(tell)
        self._observers.append(tell)

    def _look_away(self, line: Line, tell: Callable[[], None]) -> None:
        for observers in (line.observers, self._observers):
            with contextlib.suppress(ValueError):
                observers.remove(tell)

    def end_waits(self) -> None:
        super().end_waits()
        for tell in list(self._observers):
            tell()

    def close(self) -> None:
        self.end_waits()
