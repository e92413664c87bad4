"""The consoles of rich on which commands print."""

from __future__ import annotations

from typing import Any

from rich.console import Console


def new_console(**options: Any) -> Console:
    """A console that prints words between colons unchanged. By default rich prints a picture for `:key:`, and names of
    locks may have colons."""
    return Console(emoji=False, **options)
