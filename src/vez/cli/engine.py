"""Which engine a command uses."""

from __future__ import annotations

from vez.engines.urls import which_url
from vez.errors import Misuse


def engine_url(url: str | None) -> str:
    """The URL for a command: one process alone cannot exclude another, so `memory:` is of no use here."""
    text = which_url(url)
    if text.startswith("memory:"):
        raise Misuse(
            f"{text!r} is a space within one process, and a command is a process of its own: it would exclude nobody",
            hint="leave out --url and VEZ_URL, or name a directory: file:///path",
        )
    return text
