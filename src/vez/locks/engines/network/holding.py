"""Holdings: the grants of a network engine. No method waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from vez.locks.engines.base import Request
from vez.locks.engines.machine import at_fork
from vez.locks.engines.network.recipe_set import Granted
from vez.locks.engines.network.session import Session, Use
from vez.locks.engines.wording import BROKEN, FORKED

if TYPE_CHECKING:
    from vez.locks.engines.cycles import Target
    from vez.locks.engines.owners import Entry

GONE = "somebody has removed it from the server"

_generation = 0
"""Number of forks between the process that imported the module and this one."""


def _forked() -> None:
    global _generation
    _generation += 1


at_fork(after_in_child=_forked)


class NetworkClaim:
    """A request; once granted, the holding. The part that threads and tasks share."""

    def __init__(self, request: Request, wake: Callable[[], None]) -> None:
        self.request = request
        self.session: Session | None = None
        self.use: Use | None = None
        """The entry in `session.users` that belongs to this claim."""
        self.granted: Granted | None = None
        self.inside = False
        """True from the grant until the release."""
        self.left = True
        """False while the server may have keys of this claim that nobody else removes."""
        self.entry: Entry | None = None
        self.waits: Target | None = None
        self.withdrawn = False
        self._wake = wake
        self._generation = _generation
        self._lost: str | None = None
        self._ended: str | None = None
        self.entered = 0.0
        """Time of the grant, on the boot clock (`recipe_run.now`)."""
        self.first: tuple[int | None, float] | None = None
        """The holder for which this request waits: its token, and the time in seconds since the epoch at which this
        client saw it enter; 0 if it was inside before."""
        self._tells: list[Callable[[str], None]] = []
        self._taken: dict[int | None, str] = {}
        """Tokens that were released by force while this request was waiting, with the reasons."""

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
        """True in a forked child: the claim belongs to the parent."""
        return self._generation != _generation

    def why_lost(self) -> str | None:
        """Reason why it is no longer held, or None while held. Never blocks."""
        return self.loss() or self._ended

    def loss(self) -> str | None:
        """Reason of the loss, or None. A release is not a loss."""
        if self.inherited:
            return FORKED
        if self._lost is None and self._ended is None and self.session is not None:
            why = self.session.why_ended()
            if why is not None and self._lost is None:
                self.lose(why)
        return self._lost

    def lifeline(self) -> int | None:
        """None: the lease belongs to this process."""
        return None

    def enter(self) -> None:
        """Mark the request as granted. If it was taken by force, or its session has ended in the meantime, it is lost
        at once."""
        self.inside = True
        if self.token in self._taken:
            self.lose(broken(self._taken[self.token]))
        self.loss()

    def on_loss(self, tell: Callable[[str], None]) -> None:
        """Call `tell` with the reason when it is lost, or soon if it was."""
        self._tells.append(tell)
        if (why := self.loss()) is not None:
            self._pass_on(tell, why)

    def lose(self, why: str) -> None:
        """Mark the holding as lost, unless it was released."""
        if self._lost is None and self._ended is None and self.inside:
            self._lost = why
            for tell in self._tells:
                self._pass_on(tell, why)

    def _pass_on(self, tell: Callable[[str], None], why: str) -> None:
        """Call `tell`, where it may run."""
        tell(why)

    def end(self, why: str) -> None:
        """Mark the holding as released or transferred. Later events do not count as a loss."""
        if self._ended is None:
            self.loss()
            self._ended, self.inside = why, False

    def was_gone(self, why: str) -> None:
        """Note that the key had already been removed from the server at the release. `why` is the reason of a forced
        release, or empty."""
        if self._lost is None:
            self._lost = broken(why) if why else GONE

    def wake(self) -> None:
        """End the wait of this request."""
        self._wake()

    def session_ended(self, why: str) -> None:
        """Called when the session has ended. A holder loses the holding; a waiter looks again."""
        self.lose(why)
        self._wake()

    def taken(self, why: str, token: int | None) -> None:
        """Called when the grant with this token was released by force. This may be the present grant, an earlier one,
        or one whose reply was not read yet. The token is noted before it is compared, because `enter` may run at the
        same time."""
        if token is not None:
            self._taken[token] = why
        if token is None or token == self.token:
            self.lose(broken(why))
        self._wake()


def broken(why: str) -> str:
    """The text for a loss by force."""
    return f"{BROKEN}: {why}" if why else BROKEN
