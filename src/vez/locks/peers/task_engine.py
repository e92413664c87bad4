"""The engine `peers:` for tasks: a task waits for the grant of its participant."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from weakref import ref

from vez.locks.engines.base import Break, Inspection, Kind, Leader, Progress, Request
from vez.locks.engines.cycles import forget, look_again
from vez.locks.engines.owners import find, refuse_self
from vez.locks.engines.seam import AsyncHolding
from vez.locks.engines.task_primitives import held_while_waiting, refuse_cycle
from vez.locks.peers.core import Blocked, Stay
from vez.locks.peers.seat import Seat
from vez.locks.peers.task_side import Changes, PeersTaskBase, Signal, holding, loop_around


class PeersAsyncEngine(PeersTaskBase):
    """The engine `peers:`, for tasks."""

    async def acquire(
        self, request: Request, owner: int, seconds: float | None, progress: Progress | None = None
    ) -> AsyncHolding:
        core, who = await self._opened(), find(owner)
        core.refuse_if_closed()
        core.check(request)
        if who.entries:
            refuse_self(who, core, request)
        signal, blocked = Signal(), held_while_waiting(who)  # before the grant, which may come at once
        seat = Seat(request, signal.give, patient=seconds != 0)
        stay = Stay(core, seat)
        try:
            stay.entry = (who, core, ref(stay), loop_around())
            who.entries.append(stay.entry)
            core.ask(seat)
            patience = core.settings.reply_s if seconds == 0 else seconds
            deadline = None if patience is None else time.monotonic() + patience
            try:
                granted = await self._wait(signal, stay, blocked, deadline)
            finally:
                forget(blocked)
            if not granted:
                held_by, missing = await self._ask(core.settle, seat)
                raise core.timed_out(request, seconds or 0, held_by, missing)
            if seat.error is not None:
                raise seat.error
            return holding(stay)
        except BaseException:
            stay.release()
            raise

    async def _wait(self, signal: Signal, stay: Stay, blocked: Blocked, deadline: float | None) -> bool:
        """Wait until granted or refused. False if the deadline has passed."""
        while True:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return signal.given()
            if blocked:
                await refuse_cycle(stay, self.core, blocked)
                left = look_again() if left is None else min(left, look_again())
            if await signal.wait(left):
                return True

    async def inspect(self, name: str, kind: Kind = "lock") -> Inspection:
        core = await self._opened()
        core.check_kind(kind)
        return await self._ask(core.inspect, name, kind)

    async def names(self, prefix: str = "", kind: Kind = "lock") -> list[str]:
        core = await self._opened()
        core.check_kind(kind)
        return await self._ask(core.names, prefix)

    async def prune(self, prefix: str = "") -> int:
        (await self._opened()).refuse_if_closed()
        return 0

    async def break_lock(self, name: str, reason: str, kind: Kind = "lock") -> Break | None:
        core = await self._opened()
        core.refuse_if_closed()
        core.check_kind(kind)
        raise core.refuse("cannot take a lock from its holder by force")

    async def observe(self, name: str, seconds: float | None = None) -> AsyncIterator[Leader | None]:
        core = await self._opened()
        core.check_kind("election")
        changes = Changes()
        await self._ask(core.watch, changes.put)
        try:
            last = await self._ask(core.leader, name)
            yield last
            while (changed := await changes.next(seconds)) is not None:
                core.refuse_if_closed()
                now = await self._ask(core.leader, name) if changed == name else last
                if now != last:
                    last = now
                    yield now
        finally:
            core.unwatch(changes.put)
