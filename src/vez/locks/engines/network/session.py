"""A session: the lease of a client, as far as it is proved on our own clock, and the requests that depend on it."""

from __future__ import annotations

import os
import time
from secrets import randbits
from typing import Any, Protocol
from weakref import ref

from vez.locks.engines.machine import host_name
from vez.locks.engines.network.recipe_run import Clock
from vez.locks.engines.network.recipe_set import Me

MARGIN = 0.1
"""Part of the lease by which a loss is reported before the server could grant to another client. Clocks run at slightly
different speeds, and the holder needs a moment to stop."""
IDLE_SECONDS = 30.0
"""A session that was unused for this time, in seconds, is revoked."""
RENEWALS = 3
"""Number of renewals that fit into one lease. A renewal waits for its reply at most for this part of the lease, but
always half a second."""
CLOSE_SECONDS = 1.0
"""Longest wait of a closing client for its sessions to be revoked, in seconds. After it, they end with their leases."""
LARGEST_NUMBER = 62
"""Bits of a random number. Servers use signed 64-bit numbers."""
NOT_CLEANED = "what it had asked for could not be removed"
NOT_RENEWED = "its lease could not be renewed in time"


def number() -> int:
    """A random number above 0."""
    return randbits(LARGEST_NUMBER) | 1


def me(stay: float = 0.0) -> Me:
    """Description of this client, with the present time."""
    return Me(host_name(), os.getpid(), time.time(), number(), stay)


class Dependent(Protocol):
    """A holder or a waiter that depends on a session."""

    def session_ended(self, why: str) -> None:
        """Called when the session has ended."""

    def taken(self, why: str, token: int | None) -> None:
        """Called when the grant with this token was released by force."""


Use = ref[Dependent]
"""One use of a session. The reference is weak: if the program drops a grant, its finaliser releases it."""


class Session:
    """An open session, and the proof that it is still open."""

    def __init__(self, seconds: float, clock: Clock) -> None:
        self.value: Any = None
        """The session as the recipes know it; None until it is open."""
        self.seconds = seconds
        self._clock = clock
        self.proved_until = 0.0
        self.ended: str | None = None
        """Reason why the session has ended; None while it is open. It never becomes None again: a holder that was told
        of a loss must not hold again."""
        self.users: dict[str, Use] = {}
        self._idle_since = clock()

    def prove(self, until: float) -> None:
        """Note that the server keeps the session until `until`. The proof ends a `MARGIN` earlier."""
        self.proved_until = max(self.proved_until, until - MARGIN * self.seconds)

    def why_ended(self) -> str | None:
        """Reason why the session has ended; None while it is proved to be open. Never blocks."""
        if self.ended is None and self._clock() >= self.proved_until:
            self.end(self.not_renewed())
        return self.ended

    def not_renewed(self) -> str:
        """The reason of a loss without a word from the server. Sessions that are renewed add the failure of the last
        renewal."""
        return NOT_RENEWED

    def end(self, why: str) -> None:
        """End the session, and tell all requests that depend on it."""
        if self.ended is None:
            self.ended = why
            for use in list(self.users.values()):
                if (user := use()) is not None:
                    user.session_ended(why)

    def lose(self, key: str, why: str, token: int | None = None) -> None:
        """Tell the user of a key that its grant was released by force. `token` identifies the grant; None means the
        present one, whichever it is."""
        use = self.users.get(key)
        if use is not None and (user := use()) is not None:
            user.taken(why, token)

    def free_for(self, key: str, seconds: float) -> bool:
        """True if the session is open, has this lease, and is not used for this key."""
        return self.seconds == seconds and key not in self.users and self.why_ended() is None

    def use(self, key: str, user: Dependent) -> Use:
        """Register a user of this key."""
        made = self.users[key] = ref(user)
        return made

    def unuse(self, use: Use | None) -> None:
        """Remove a use. Calling it twice is harmless."""
        for key, known in list(self.users.items()):
            if known is use:
                self.users.pop(key, None)
                self._idle_since = self._clock()

    def idle(self) -> bool:
        """True if the session was unused for `IDLE_SECONDS`."""
        return not self.users and self._clock() - self._idle_since > IDLE_SECONDS
