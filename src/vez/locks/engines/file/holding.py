"""FileHolding: a granted ticket as the client sees it: whether it is lost, and the callback to tell."""

from __future__ import annotations

import os
from collections.abc import Callable
from weakref import ref

from vez.errors import EngineUnavailable
from vez.locks.engines import handles
from vez.locks.engines.file.layout import HELD, REVOKED_WORD, WAITS_WORD
from vez.locks.engines.file.ticket import Ticket
from vez.locks.engines.wording import BROKEN, FORKED, RELEASED, no_transfer


class FileHolding(Ticket):
    """A ticket in its role as a holding (`Holding` in `locks/engines/seam.py`)."""

    def why_lost(self) -> str | None:
        """Reason of the loss, or None while held. Never blocks."""
        if self.generation != handles.generation:
            return FORKED
        with handles.gate:  # another thread may release it at this moment
            if self.lost is None:
                if self.state != HELD:
                    return RELEASED
                self.lost = self._find_loss() or self._find_doubt()
            return self.lost

    def _find_loss(self) -> str | None:
        """Reason of the loss according to the file; None if the file says that it is held."""
        if not self.sound():
            return f"{self.file.where} was truncated"
        if self.token < self.file.words[REVOKED_WORD]:
            return BROKEN
        return None

    def _find_doubt(self) -> str | None:
        """Reason why we can no longer prove that every request for the name finds our file with our byte locked; None
        if we can."""
        if (why := self.file.elsewhere()) is not None:
            return why
        if not self.file.locked_by(self.handle, self.ring_number()):
            return "its byte was unlocked by somebody who has a copy of the descriptor"
        return None

    def loss(self) -> str | None:
        """Reason of the loss, or None. A release is not a loss, and does not change the answer."""
        if not self.inside:
            return self.lost
        with handles.gate:  # another thread may release it at this moment
            return self.why_lost() if self.inside else self.lost

    def on_loss(self, tell: Callable[[str], None]) -> None:
        """Call `tell` with the reason when the holding is lost: from the event loop, or from a thread if a thread holds
        it. A loss that was rung before we listened is looked up now. A loss for which nobody rings is found when the
        ear, or that thread, polls."""
        if self.ear is None:
            from vez.locks.engines.file.listener import tell_of_loss

            tell_of_loss(self, tell)
        else:
            self.ear.on_ring(self.ring_number(), id(self), _teller(ref(self), tell))
            with handles.gate:  # another thread may release it at this moment
                if self.lost is None and self.state == HELD:
                    self.lost = self._find_loss()

    def waits_for(self, key: int) -> None:
        """Write into our slot the name for which our owner waits; 0 when it no longer waits."""
        if self.generation == handles.generation and self.state == HELD and self.sound():
            self.file.words[self.offset // 8 + WAITS_WORD] = key

    def lifeline(self) -> int | None:
        """A copy of our descriptor: the byte stays locked until the last copy is closed. A process that has a copy can
        also unlock the byte, so give it only to processes that are trusted as this one."""
        if self.why_lost() is not None:
            return None
        try:
            return os.dup(self.handle)
        except OSError as error:
            raise EngineUnavailable(
                f"cannot copy the descriptor of {self.file.where}: {error.strerror}", hint=handles.hint_for(error)
            ) from error

    def transfer(self, to: str) -> int:
        """Raises `Misuse`: only a leadership can be transferred."""
        raise no_transfer(self.request, to)

    def transfer_at_once(self, to: str) -> int:
        """Raises `Misuse`: only a leadership can be transferred."""
        return self.transfer(to)


def _teller(known: ref[FileHolding], tell: Callable[[str], None]) -> Callable[[], None]:
    """A function that calls `tell` if the holding is lost. The event loop keeps the function, so it has only a weak
    reference to the holding: a holding that the program has dropped must be finalised."""

    def look() -> None:
        holding = known()
        if holding is not None and (why := holding.why_lost()) is not None:
            tell(why)

    return look
