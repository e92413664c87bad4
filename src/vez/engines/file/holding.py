"""FileHolding: a granted ticket, as the client sees it: is it lost, and whom to tell."""

from __future__ import annotations

import os
from collections.abc import Callable
from weakref import ref

from vez.engines import handles
from vez.engines.file.layout import HELD, REVOKED_WORD, WAITS_WORD
from vez.engines.file.ticket import Ticket
from vez.engines.wording import BROKEN, FORKED, RELEASED, no_transfer
from vez.errors import EngineUnavailable


class FileHolding(Ticket):
    """A ticket in its role as a holding (`engines.seam.Holding`)."""

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
        """The loss that the file tells."""
        if not self.sound():
            return f"{self.file.where} was truncated"
        if self.token < self.file.words[REVOKED_WORD]:
            return BROKEN
        return None

    def _find_doubt(self) -> str | None:
        """What we can no longer prove: that whoever asks for the name meets our file, and our byte locked in it."""
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
        """Call `tell` with the reason, from the event loop, when the holding is lost. What was rung before we listened
        is looked up now; what nobody rings for is found by the poll of the ear, now as later."""
        if self.ear is not None:
            self.ear.on_ring(self.ring_number(), id(self), _teller(ref(self), tell))
            with handles.gate:  # another thread may release it at this moment
                if self.lost is None and self.state == HELD:
                    self.lost = self._find_loss()

    def waits_for(self, key: int) -> None:
        """Write into our slot for which name our owner waits; 0 when it no longer does."""
        if self.generation == handles.generation and self.state == HELD and self.sound():
            self.file.words[self.offset // 8 + WAITS_WORD] = key

    def lifeline(self) -> int | None:
        """A copy of our descriptor: the byte stays locked until the last copy is closed. Whoever has one can unlock it,
        so it is for processes that we trust as ourselves."""
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
        """Raises `Misuse`, as `transfer`."""
        return self.transfer(to)


def _teller(known: ref[FileHolding], tell: Callable[[str], None]) -> Callable[[], None]:
    """A function that calls `tell` if the holding is lost. The event loop keeps it, so it has only a weak reference to
    the holding: one that the program has dropped must be finalised."""

    def look() -> None:
        holding = known()
        if holding is not None and (why := holding.why_lost()) is not None:
            tell(why)

    return look
