"""The common part of the grants for threads and for tasks: everything that does not wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from vez.errors import Misuse, OwnershipLost
from vez.locks.engines.base import Token
from vez.locks.engines.seam import Held
from vez.locks.engines.wording import ownership_lost

if TYPE_CHECKING:
    from vez.locks.turns.metrics import Meter

H = TypeVar("H", bound=Held)


class BaseGrant(Generic[H]):
    """A lock or permit that is held."""

    __slots__ = ("_below", "_holding", "_meter", "_since", "name", "released", "token")

    _since: float  # when it was granted; set and read with a meter only

    def __init__(self, name: str, holding: H) -> None:
        self.name = name
        self.token: Token = holding.token
        """Fencing token: strictly increases for a name. Pass it to the protected resource, which refuses a smaller one.
        None if the engine gives no fencing."""
        self._holding: H = holding
        self.released = False
        self._below: Self | None = None  # what the same owner acquired earlier through the same object
        self._meter: Meter | None = None

    @property
    def _held(self) -> bool:
        """True while the grant is held according to the engine; closing the client also releases it."""
        return self._holding.why_lost() is None

    @property
    def lost(self) -> bool:
        """True if ownership ended before `release()` was called. It stays true after that."""
        return self._holding.loss() is not None

    def check(self) -> None:
        """Raise `OwnershipLost` if the grant is no longer held."""
        if (why := self._holding.why_lost()) is not None:
            raise ownership_lost(self.name, self.token, why)

    def _refused_transfer(self, error: Misuse) -> Misuse | OwnershipLost:
        """The error for a transfer that the engine has refused: `OwnershipLost` if the leadership was lost before."""
        why = self._holding.loss()
        return error if why is None else ownership_lost(self.name, self.token, why)

    def _on_loss(self, tell: Callable[[str], None]) -> None:
        """Call `tell` with the reason when the grant is lost: from the event loop, or from any thread. Only
        tasks are told of a loss that nobody reports, such as the end of a lease; threads have to ask."""
        self._holding.on_loss(tell)

    def lifeline(self) -> int | None:
        """A descriptor for a child process that should keep the lock if we are killed; None if the engine has none. The
        caller closes it. A process that has the descriptor can also unlock, so give it only to a process that you trust
        as this one."""
        return self._holding.lifeline()
