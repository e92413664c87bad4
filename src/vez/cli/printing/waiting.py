"""The messages of `vez run` and `vez elect` while they wait: a live line on a terminal, JSON lines if requested."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import TYPE_CHECKING

from vez.errors import LockTimeout
from vez.locks.engines.wording import who_is

if TYPE_CHECKING:
    from vez.locks.engines.base import Place


def _say(text: str, *, nl: bool = True) -> None:
    """Print on standard error; a command must not fail because standard error is closed or full."""
    with contextlib.suppress(OSError, AttributeError, ValueError):
        sys.stderr.write(text + "\n" * nl)
        sys.stderr.flush()


class Teller:
    """Prints on standard error; standard output belongs to the command."""

    def __init__(self, name: str, *, quiet: bool, as_json: bool) -> None:
        self.name, self.quiet, self.as_json = name, quiet, as_json
        self.live = sys.stderr is not None and sys.stderr.isatty() and not quiet and not as_json
        self._last: Place | None = None
        self._begun = False
        self._has_told = False  # that it waits

    def waiting(self, place: Place) -> None:
        """Called repeatedly while waiting."""
        if self.as_json and (self._last is None or self._last.position != place.position):
            self._event("waiting", position=place.position, estimated_seconds=place.estimated_seconds)
        elif self.live:
            import shutil

            width = shutil.get_terminal_size().columns - 1  # a line that wraps cannot be cleared
            _say(f"\r\x1b[2K{self.line(place)[:width]}", nl=False)
        elif not self._begun and not self.quiet and not self.as_json:
            _say(f"vez: {self.line(place)}")
            self._has_told = True
        self._last, self._begun = place, True

    def line(self, place: Place) -> str:
        """Position, holder, and estimated wait."""
        parts = [f"waiting for {self.name}: {place.position} before us"]
        if place.holder is not None:
            inside = f" for {duration(max(0.0, time.time() - place.holder.since))}" if place.holder.since else ""
            gone = ", ended, but what it started keeps the turn," if place.holder.ended else ""
            parts.append(f"{who_is(place.holder)}{gone} inside{inside}")
        if place.estimated_seconds is not None:
            parts.append(f"about {duration(place.estimated_seconds)} to go")
        return ", ".join(parts)

    def waited(self) -> None:
        """Clear the live line after the wait."""
        if self.live and self._begun:
            _say("\r\x1b[2K", nl=False)
        self._begun = False

    def granted(self, token: int) -> None:
        """Report the grant."""
        self._event("granted", token=token)

    def lost(self, token: int) -> None:
        """Report the loss."""
        self._event("lost", token=token)

    def busy(self, error: LockTimeout) -> None:
        """Report that the wait timed out."""
        self._event("busy", message=error.message)

    def ended(self, code: int) -> None:
        """Report the end of the command."""
        self._event("ended", exit_code=code)

    def skipped(self, period: str) -> None:
        """Report that the command is not run, because that was done in this period: on a terminal, and if it was told
        that it waits. A plain skip is silent elsewhere, because cron would mail it."""
        self._event("skipped", every=period)
        if self.live or self._has_told:
            _say(f"vez: {self.name} has already run in this period of {period}")

    def staying(self, seconds: float) -> None:
        """Report that the lock is kept for a while after the command has ended; nothing to say if it is not."""
        if seconds > 0:
            self._event("staying", seconds=round(seconds, 3))
            if self.live:
                _say(f"vez: the command has ended; {self.name} is kept for {duration(seconds)} more")

    def _event(self, event: str, **fields: object) -> None:
        if self.as_json:
            import json

            _say(json.dumps({"event": event, "name": self.name, **fields}))


def duration(seconds: float) -> str:
    """A duration for people: 3 ms, 1.2 s, 4 min, 2 h."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 100:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.0f} h"
