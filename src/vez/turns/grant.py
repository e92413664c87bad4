"""What the grants for threads and for tasks have in common: everything that does not wait."""

from __future__ import annotations

from typing import Generic, Self, TypeVar

from vez.engines.base import Token
from vez.engines.seam import Held
from vez.engines.wording import ownership_lost
from vez.errors import Misuse, OwnershipLost
from vez.turns.metrics import Meter

H = TypeVar("H", bound=Held)


class BaseGrant(Generic[H]):
    """A lock or permit that is held."""

    __slots__ = ("_below", "_holding", "_meter", "_since", "name", "released", "token")

    def __init__(self, name: str, holding: H) -> None:
        self.name = name
        self.token: Token = holding.token
        """Fencing token: strictly increases for a name. Pass it to the protected resource, which refuses a smaller one.
        None if the engine gives no fencing."""
        self._holding: H = holding
        self.released = False
        self._below: Self | None = None  # what the same owner acquired earlier through the same object
        self._meter: Meter | None = None
        self._since = 0.0  # for the meter

    @property
    def _held(self) -> bool:
        """True while it is held, as the engine knows it: closing the client releases too."""
        return self._holding.why_lost() is None

    @property
    def lost(self) -> bool:
        """True if ownership ended before `release()` was called. It stays true after that."""
        return self._holding.loss() is not None

    def check(self) -> None:
        """Raise `OwnershipLost` if it is not held any more."""
        if (why := self._holding.why_lost()) is not None:
            raise ownership_lost(self.name, self.token, why)

    def _refused_transfer(self, error: Misuse) -> Misuse | OwnershipLost:
        """What to raise for a transfer that the engine has refused: whoever lost the leadership hears that."""
        why = self._holding.loss()
        return error if why is None else ownership_lost(self.name, self.token, why)

    def lifeline(self) -> int | None:
        """A descriptor for a child process that should keep the lock if we are killed; None if the engine has none. The
        caller closes it. Whoever has it can also unlock, so give it only to a process that you trust as this one."""
        return self._holding.lifeline()
