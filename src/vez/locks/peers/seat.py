"""Seat: one request of a thread or a task of this program, from the local queue to its end.

It is changed only on the loop of the participant. Other threads read it without a lock: `token`, `expires` and `since`
are set before the state becomes "inside", and `lost` or `error` before it becomes "over".
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

from vez.errors import VezError
from vez.locks.engines.base import Request


class Seat:
    """A request in the queue of this program; once granted, the stay."""

    __slots__ = ("_tell", "_wake", "error", "expires", "lost", "patient", "request", "since", "state", "token")

    def __init__(self, request: Request, wake: Callable[[], None], *, patient: bool = True) -> None:
        self.request = request
        self.patient = patient
        """False if the request does not wait: it is refused if the name is known to be held, or another request is
        before it."""
        self.state: Literal["new", "queued", "inside", "over"] = "new"
        self.token: int | None = None
        self.since = time.time()
        """Time of the grant, or for a waiter of the request, in seconds since the epoch."""
        self.error: VezError | None = None
        """The error with which the request ended; None if it has not failed."""
        self.lost: str | None = None
        self.expires: float | None = None
        """Monotonic time at which the algorithm may grant to somebody else; None if it waits for the release."""
        self._wake = wake
        self._tell: Callable[[str], None] | None = None

    def why_lost(self) -> str | None:
        """Reason of the loss, or None. An expired stay counts as lost even before the loop has noticed it."""
        if self.state == "inside" and self.expires is not None and time.monotonic() >= self.expires:
            return EXPIRED
        return self.lost

    def grant(self, token: int | None, expires: float | None) -> None:
        """Mark the request as granted."""
        self.token, self.expires, self.since = token, expires, time.time()
        self.state = "inside"
        self._wake_once()

    def fail(self, error: VezError) -> None:
        """End the request with an error."""
        self.error, self.state = error, "over"
        self._wake_once()

    def lose(self, reason: str) -> None:
        """Mark the stay as lost."""
        if self.state == "inside":
            self.lost, self.state = reason, "over"
            if self._tell is not None:
                self._tell(reason)

    def _wake_once(self) -> None:
        wake, self._wake = self._wake, _nobody
        wake()

    def on_loss(self, tell: Callable[[str], None]) -> None:
        """Call `tell` with the reason when the stay is lost, or at once if it was lost before."""
        self._tell = tell
        if self.lost is not None:
            tell(self.lost)


def _nobody() -> None:
    """Replaces `_wake` after the first call: nobody waits any more."""


EXPIRED = "it was held for longer than the lease allows"
