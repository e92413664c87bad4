"""A session: the lease of a client, as far as it is proved on our own clock, and who depends on it."""

from __future__ import annotations

from typing import Any, Protocol
from weakref import ref

from vez.engines.network.course import Clock

MARGIN = 0.1
"""Part of the lease by which a loss is told before the server could grant to another: clocks run at slightly different
speeds, and whoever is told needs a moment to stop."""
IDLE_SECONDS = 30.0
"""A session that nobody has used for so long is revoked."""
NOT_CLEANED = "what it had asked for could not be removed"
NOT_RENEWED = "its lease could not be renewed in time"


class Dependent(Protocol):
    """A holder or a waiter that depends on a session."""

    def session_ended(self, why: str) -> None:
        """The session is gone."""

    def taken(self, why: str, token: int | None) -> None:
        """What it was granted with this token was taken from it by force."""


Use = ref[Dependent]
"""One use of a session. Weak: what the program has dropped is released by its finaliser."""


class Session:
    """A session that is open, and the proof that it still is."""

    def __init__(self, seconds: float, clock: Clock) -> None:
        self.value: Any = None
        """As the recipes know it; None until it is open."""
        self.seconds = seconds
        self._clock = clock
        self.proved_until = 0.0
        self.ended: str | None = None
        """Why it is gone. It stays so: who was told of a loss must not hold again."""
        self.users: dict[str, Use] = {}
        self._idle_since = clock()

    def prove(self, until: float) -> None:
        """The server has promised to keep it until then."""
        self.proved_until = max(self.proved_until, until - MARGIN * self.seconds)

    def why_ended(self) -> str | None:
        """Why it is gone; None if it is proved to be there. Never blocks."""
        if self.ended is None and self._clock() >= self.proved_until:
            self.end(NOT_RENEWED)
        return self.ended

    def end(self, why: str) -> None:
        """It is gone: tell all who depend on it."""
        if self.ended is None:
            self.ended = why
            for use in list(self.users.values()):
                if (user := use()) is not None:
                    user.session_ended(why)

    def lose(self, key: str, why: str, token: int | None = None) -> None:
        """One of the things that depend on it was taken; the token says of which grant, None of whichever it is."""
        use = self.users.get(key)
        if use is not None and (user := use()) is not None:
            user.taken(why, token)

    def free_for(self, key: str, seconds: float) -> bool:
        """True if it can be used for this."""
        return self.seconds == seconds and key not in self.users and self.why_ended() is None

    def use(self, key: str, user: Dependent) -> Use:
        """It is used for this from now on."""
        made = self.users[key] = ref(user)
        return made

    def unuse(self, use: Use | None) -> None:
        """This use has ended; harmless if it was ended already."""
        for key, known in list(self.users.items()):
            if known is use:
                self.users.pop(key, None)
                self._idle_since = self._clock()

    def idle(self) -> bool:
        """True if nobody has used it for a while."""
        return not self.users and self._clock() - self._idle_since > IDLE_SECONDS
