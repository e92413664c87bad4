"""Observer: what the model asks of something that watches a run."""

from __future__ import annotations

from typing import Any


class Observer:
    """Something that watches what becomes visible and remembers what a property needs; see `observers`."""

    needs: frozenset[str] = frozenset()
    """`causality`: processes and messages carry the requests that happened before them. `doorway`: the arrival of what
    `on_want` sent is visible."""

    def after(self, number: int, process: int, visible: tuple[tuple[Any, ...], ...]) -> int:
        """The observer's next state."""
        raise NotImplementedError

    def broken(self, number: int) -> tuple[str, ...]:
        """The properties that a state of the observer says are broken."""
        raise NotImplementedError
