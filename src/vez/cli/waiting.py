"""What `vez run` and `vez elect` tell while they wait: a live line on a terminal, JSON lines if asked for."""

from __future__ import annotations

import json
import shutil
import sys
import time

import click

from vez.engines.base import Place
from vez.errors import LockTimeout


class Teller:
    """Speaks on standard error; standard output belongs to the command."""

    def __init__(self, name: str, *, quiet: bool, as_json: bool) -> None:
        self.name, self.quiet, self.as_json = name, quiet, as_json
        self.live = sys.stderr.isatty() and not quiet and not as_json
        self._last: Place | None = None
        self._begun = False

    def waiting(self, place: Place) -> None:
        """Called again and again while waiting."""
        if self.as_json and (self._last is None or self._last.position != place.position):
            self._event("waiting", position=place.position, estimated_seconds=place.estimated_seconds)
        elif self.live:
            width = shutil.get_terminal_size().columns - 1  # a line that wraps cannot be cleared
            click.echo(f"\r\x1b[2K{self.line(place)[:width]}", nl=False, err=True)
        elif not self._begun and not self.quiet and not self.as_json:
            click.echo(f"vez: {self.line(place)}", err=True)
        self._last, self._begun = place, True

    def line(self, place: Place) -> str:
        """Position, who holds, and how long it may take."""
        parts = [f"waiting for {self.name}: {place.position} before us"]
        if place.holder is not None:
            inside = max(0.0, time.time() - place.holder.since)
            parts.append(f"process {place.holder.pid} ({place.holder.label}) inside for {duration(inside)}")
        if place.estimated_seconds is not None:
            parts.append(f"about {duration(place.estimated_seconds)} to go")
        return ", ".join(parts)

    def waited(self) -> None:
        """The wait is over; clear the live line."""
        if self.live and self._begun:
            click.echo("\r\x1b[2K", nl=False, err=True)
        self._begun = False

    def granted(self, token: int) -> None:
        """Our turn."""
        self._event("granted", token=token)

    def lost(self, token: int) -> None:
        """No longer."""
        self._event("lost", token=token)

    def busy(self, error: LockTimeout) -> None:
        """Not in time."""
        self._event("busy", message=error.message)

    def ended(self, code: int) -> None:
        """The command has ended."""
        self._event("ended", exit_code=code)

    def _event(self, event: str, **fields: object) -> None:
        if self.as_json:
            click.echo(json.dumps({"event": event, "name": self.name, **fields}), err=True)


def duration(seconds: float) -> str:
    """For people: 3 ms, 1.2 s, 4 min, 2 h."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 100:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.0f} h"
