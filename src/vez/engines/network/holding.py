"""Holdings: what a client of a network engine gets, and what it can ask of it without waiting."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from vez.engines.base import Request
from vez.engines.machine import at_fork
from vez.engines.network.book import Granted
from vez.engines.network.session import Session, Use
from vez.engines.wording import BROKEN, FORKED

if TYPE_CHECKING:
    from vez.engines.circles import Target
    from vez.engines.owners import Entry

GONE = "somebody has removed it from the server"

_generation = 0
"""Number of forks between the process that imported the module and this one."""


def _forked() -> None:
    global _generation
    _generation += 1


at_fork(after_in_child=_forked)


class NetworkClaim:
    """A request; once granted, the holding. What threads and tasks have in common."""

    def __init__(self, request: Request, wake: Callable[[], None]) -> None:
        self.request = request
        self.session: Session | None = None
        self.use: Use | None = None
        """For which of the uses of its session it stands."""
        self.granted: Granted | None = None
        self.inside = False
        """Granted, and not yet released."""
        self.left = True
        """False while something of it may be on the server that nobody else removes."""
        self.entry: Entry | None = None
        self.waits: Target | None = None
        self._wake = wake
        self._generation = _generation
        self._lost: str | None = None
        self._ended: str | None = None
        self.entered = 0.0
        """When it was granted, on the clock of proofs."""
        self.first: tuple[int | None, float] | None = None
        """The holder for which it waits: its token, and when this client has seen it get in, as seconds since the
        epoch; 0 if it was inside before."""
        self._taken: dict[int | None, str] = {}
        """Tokens that were broken by force while it was asking, and why."""

    @property
    def token(self) -> int | None:
        """The fencing token; the term of a leadership."""
        return None if self.granted is None else self.granted.token

    @property
    def lost(self) -> str | None:
        """Reason of the loss, once it is known."""
        return self._lost

    @property
    def inherited(self) -> bool:
        """True if it belongs to the parent of this forked process."""
        return self._generation != _generation

    def why_lost(self) -> str | None:
        """Reason of the loss, or None while held. Never blocks."""
        return self.loss() or self._ended

    def loss(self) -> str | None:
        """Reason of the loss; None if there was none, or not before it was released."""
        if self.inherited:
            return FORKED
        if self._lost is None and self._ended is None and self.session is not None:
            why = self.session.why_ended()
            if why is not None and self._lost is None:
                self.lose(why)
        return self._lost

    def lifeline(self) -> int | None:
        """There is none: the lease belongs to this process."""
        return None

    def enter(self) -> None:
        """It is granted. What has ended it meanwhile is a loss from the beginning."""
        self.inside = True
        if self.token in self._taken:
            self.lose(broken(self._taken[self.token]))
        self.loss()

    def lose(self, why: str) -> None:
        """It is gone without having been released."""
        if self._lost is None and self._ended is None and self.inside:
            self._lost = why

    def end(self, why: str) -> None:
        """It was released or transferred: from now on nothing is a loss."""
        if self._ended is None:
            self.loss()
            self._ended, self.inside = why, False

    def was_gone(self, why: str) -> None:
        """When it was released, the server had nothing of it any more; why, if it was broken by force."""
        if self._lost is None:
            self._lost = broken(why) if why else GONE

    def wake(self) -> None:
        """End a wait."""
        self._wake()

    def session_ended(self, why: str) -> None:
        """The session is gone: a holder has lost it, a waiter looks again."""
        self.lose(why)
        self._wake()

    def taken(self, why: str, token: int | None) -> None:
        """What was granted with this token was taken by force: this grant, one before it, or one whose reply is
        not read yet. Noted before it is compared, because `enter` may run at the same time."""
        if token is not None:
            self._taken[token] = why
        if token is None or token == self.token:
            self.lose(broken(why))
        self._wake()


def broken(why: str) -> str:
    """The reason of a loss by force."""
    return f"{BROKEN}: {why}" if why else BROKEN
