"""FileHolding: a granted ticket, as the client sees it: is it lost, and whom to tell."""

from __future__ import annotations

import os
from collections.abc import Callable
from weakref import ref

from vez.engines import handles
from vez.engines.file.layout import HELD, REVOKED_WORD, WAITS_WORD
from vez.engines.file.ticket import Ticket
from vez.errors import Misuse


class FileHolding(Ticket):
    """A ticket in its role as a holding (`engines.base.Holding`)."""

    def why_lost(self) -> str | None:
        """Reason of the loss, or None while held. Never blocks."""
        if self.generation != handles.generation:
            return "this process was forked from the one that holds it"
        with handles.gate:  # another thread may release it at this moment
            if self.state != HELD:
                return "it was released"
            if not self.sound():
                return f"{self.file.where} was truncated"
            if self.token < self.file.words[REVOKED_WORD]:
                return "it was broken by force"
            if os.fstat(self.handle).st_nlink == 0:
                return f"{self.file.where} was removed"
        return None

    def on_loss(self, tell: Callable[[str], None]) -> None:
        """Call `tell` with the reason, from the event loop, when the holding is lost."""
        if self.ear is not None:
            self.ear.on_ring(self.ring_number(), id(self), _teller(ref(self), tell))

    def waits_for(self, key: int) -> None:
        """Write into our slot for which name our owner waits; 0 when it no longer does."""
        if self.generation == handles.generation and self.state == HELD and self.sound():
            self.file.words[self.offset // 8 + WAITS_WORD] = key

    def lifeline(self) -> int | None:
        """A copy of our descriptor: the byte stays locked until the last copy is closed, or we unlock it."""
        return os.dup(self.handle) if self.why_lost() is None else None

    def transfer(self, to: str) -> int:
        """Raises `Misuse`: only a leadership can be transferred."""
        raise Misuse(
            f"a {self.request.kind} cannot be transferred to {to!r}", hint="release it; the next in line gets it"
        )


def _teller(known: ref[FileHolding], tell: Callable[[str], None]) -> Callable[[], None]:
    """A function that calls `tell` if the holding is lost. The event loop keeps it, so it has only a weak reference to
    the holding: one that the program has dropped must be finalised."""

    def look() -> None:
        holding = known()
        if holding is not None and (why := holding.why_lost()) is not None:
            tell(why)

    return look
