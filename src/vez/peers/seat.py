"""Seat: one request of a thread or a task of this program, from the local queue to its end.

It is changed on the loop of the participant only. Other threads read it, which needs no lock: each field changes once,
and in the order in which it is read.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

from vez.engines.base import Request
from vez.errors import VezError


class Seat:
    """A request in the queue of this program; once granted, the stay."""

    __slots__ = ("_tell", "_wake", "error", "expires", "lost", "patient", "request", "since", "state", "token")

    def __init__(self, request: Request, wake: Callable[[], None], *, patient: bool = True) -> None:
        self.request = request
        self.patient = patient
        """False: it is refused if somebody is known to be inside or before it."""
        self.state: Literal["new", "queued", "inside", "over"] = "new"
        self.token: int | None = None
        self.since = time.time()
        """Seconds since the epoch: when it was granted, or when it began to wait."""
        self.error: VezError | None = None
        """Why it cannot be granted."""
        self.lost: str | None = None
        self.expires: float | None = None
        """Monotonic time at which the algorithm may let in somebody else; None: it waits for the release."""
        self._wake = wake
        self._tell: Callable[[str], None] | None = None

    def why_lost(self) -> str | None:
        """Reason of the loss, or None. It does not wait for the loop to notice that the time is over."""
        if self.state == "inside" and self.expires is not None and time.monotonic() >= self.expires:
            return EXPIRED
        return self.lost

    def grant(self, token: int | None, expires: float | None) -> None:
        """It is this request's turn."""
        self.token, self.expires, self.since = token, expires, time.time()
        self.state = "inside"
        self._wake_once()

    def fail(self, error: VezError) -> None:
        """It cannot be granted."""
        self.state, self.error = "over", error
        self._wake_once()

    def lose(self, reason: str) -> None:
        """The stay has ended without a release."""
        if self.state == "inside":
            self.lost, self.state = reason, "over"
            if self._tell is not None:
                self._tell(reason)

    def _wake_once(self) -> None:
        wake, self._wake = self._wake, _nobody
        wake()

    def on_loss(self, tell: Callable[[str], None]) -> None:
        """Call `tell` with the reason when the stay is lost, or now if it was."""
        self._tell = tell
        if self.lost is not None:
            tell(self.lost)


def _nobody() -> None:
    """Nobody waits any more."""


EXPIRED = "it was held for longer than the lease allows"
