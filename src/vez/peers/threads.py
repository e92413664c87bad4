"""The engine of a group, for threads: how a thread waits for what its participant will get."""

from __future__ import annotations

import time
from _thread import LockType, allocate_lock
from asyncio import _get_running_loop
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from weakref import ref

from vez.engines.base import Break, Inspection, Kind, Leader, Progress, Request
from vez.engines.circles import forget, look_again, refuse_circle
from vez.engines.owners import find, held_meanwhile, refuse_self
from vez.engines.seam import Engine, Holding
from vez.peers.desk import Blocked, Desk, Stay
from vez.peers.seat import Seat
from vez.peers.settings import Settings


class PeersEngine(Engine):
    """A member of a group, for threads."""

    def __init__(self, settings: Settings) -> None:
        self.desk = Desk(settings)
        self.url, self.traits = self.desk.url, self.desk.traits
        self.desk.open()

    @property
    def closed(self) -> bool:  # type: ignore[override]
        """True if it was closed."""
        return self.desk.closed

    def acquire(self, request: Request, owner: int, seconds: float | None, progress: Progress | None = None) -> Holding:
        desk, who, loop = self.desk, find(owner), _get_running_loop()
        desk.check(request)
        holds = bool(who.entries)
        if holds:
            refuse_self(who, desk, request)
        gate = allocate_lock()
        gate.acquire()
        seat = Seat(request, gate.release, patient=seconds != 0)
        stay = Stay(desk, seat)
        try:
            stay.entry = (who, desk, ref(stay), loop)
            who.entries.append(stay.entry)
            blocked = held_meanwhile(who) if holds or loop is not None else []  # before it is granted
            desk.ask(seat)
            patience = desk.settings.reply_s if seconds == 0 else seconds
            deadline = None if patience is None else time.monotonic() + patience
            try:
                granted = self._wait(gate, stay, blocked, deadline)
            finally:
                forget(blocked)
            if not granted:
                held_by, missing = desk.background.call(desk.settle, seat)
                raise desk.timed_out(request, seconds or 0, held_by, missing)
            if seat.error is not None:
                raise seat.error
            return stay
        except BaseException:
            stay.release()
            raise

    def _wait(self, gate: LockType, stay: Stay, blocked: Blocked, deadline: float | None) -> bool:
        """Wait until granted or refused; False if the time is over."""
        while True:
            left = -1.0 if deadline is None else deadline - time.monotonic()
            if deadline is not None and left <= 0:
                return gate.acquire(blocking=False)
            if blocked:
                refuse_circle(stay, self.desk, blocked)
                left = look_again() if deadline is None else min(left, look_again())
            if gate.acquire(timeout=left):
                return True

    def inspect(self, name: str, kind: Kind = "lock") -> Inspection:
        self.desk.check_kind(kind)
        return self.desk.background.call(self.desk.inspect, name, kind)

    def names(self, prefix: str = "", kind: Kind = "lock") -> list[str]:
        self.desk.check_kind(kind)
        return self.desk.background.call(self.desk.names, prefix)

    def prune(self, prefix: str = "") -> int:
        self.desk.refuse_if_closed()
        return 0

    def break_lock(self, name: str, reason: str, kind: Kind = "lock") -> Break | None:
        self.desk.refuse_if_closed()
        self.desk.check_kind(kind)
        raise self.desk.refuse("cannot take a lock from its holder by force")

    def observe(self, name: str, seconds: float | None = None) -> Iterator[Leader | None]:
        desk = self.desk
        desk.check_kind("election")
        changes: SimpleQueue[str] = SimpleQueue()
        desk.background.call(desk.watch, changes.put)
        try:
            last = desk.background.call(desk.leader, name)
            yield last
            while True:
                try:
                    changed = changes.get(timeout=seconds)
                except Empty:
                    return
                desk.refuse_if_closed()
                now = desk.background.call(desk.leader, name) if changed == name else last
                if now != last:
                    last = now
                    yield now
        finally:
            desk.unwatch(changes.put)

    def close(self) -> None:
        self.desk.close()
