"""The engine of a command."""

from __future__ import annotations

from vez.errors import Misuse
from vez.locks.engines.urls import which_url


def engine_url(url: str | None) -> str:
    """The engine URL for a command. Raises `Misuse` for `memory:`, which cannot exclude other processes."""
    text = which_url(url)
    if text.startswith("memory:"):
        raise Misuse(
            f"{text!r} is a space within one process, and a command is a process of its own: it would exclude nobody",
            hint="leave out --url and VEZ_URL, or name a directory: file:///path",
        )
    return text
