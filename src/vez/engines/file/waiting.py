"""Waiting: contenders with the two ways to listen, for threads and for tasks."""

from __future__ import annotations

import time

from vez.engines import handles
from vez.engines.file.bell import SOON, Ear
from vez.engines.file.contender import Contender

ear = Ear()
_MOMENTS = 8


class FileContender(Contender):
    """A contender with the two ways to listen."""

    def soon(self) -> bool:
        """Block this thread for some moments, on the bell alone; whether it is our turn then. After each it looks
        whether the one who will ring us is still there. One long moment would notice a death too late; a single short
        one would send all of a long queue to the longer sleep, and keep it long."""
        bell = self.bell
        if not self.linked or bell is None:
            return False
        for _ in range(_MOMENTS):
            if bell.rung:
                bell.take()  # the ring of the turn before
            if bell.moment.poll(SOON):
                bell.rung = True
                return self.granted()
            if self.granted() or (self.relink() and self.granted()):
                return True
            if self.predecessor is None:
                break
        return False

    def listen(self, seconds: float) -> None:
        """Block this thread until something may have changed."""
        if self.relink():
            return
        processes, longest = self.watch()
        ended = ear.listen(processes, seconds if seconds < longest else longest)
        if ended:
            self.ended = self.ended | ended

    async def listen_async(self, seconds: float) -> None:
        """Suspend this task until something may have changed."""
        if self.relink() or self.ear is None:
            return
        processes, longest = self.watch()
        ended = await self.ear.listen(self.token, processes, min(seconds, longest))
        if ended:
            self.ended = self.ended | ended

    def wake(self) -> None:
        """Ring our own bell."""
        with handles.gate:  # another thread may let go of it this moment
            if self.handle < 0 or not self._sound():
                return  # it has left already, or looks by itself soon enough
            slot = self.file.slot(self.number)
            self.ringer.ring(slot.bell, slot.ticket)

    def explain(self) -> str:
        """Who stands in the way."""
        place = self.place()
        if place.holder is None:
            return ""
        since = time.time() - place.holder.since
        return f"process {place.holder.pid} ({place.holder.label}) has been inside for {since:.1f} s"
