"""Limits: when a search stops early."""

from __future__ import annotations

from vez.judge.words import said

RAISED = said("stopped_by_exception")
FIRST = said("stopped_at_first")


class Limits:
    """Limits at which a search stops early."""

    def __init__(
        self, states: int = 100_000_000, memory_mb: float = 4096, seconds: float = 0.0, *, whole_process: bool = False
    ) -> None:
        """`memory_mb` bounds the memory of the process, or, unless `whole_process`, what the search adds to it."""
        self.states = min(states, (1 << 31) - (1 << 24))  # the table of states holds 31-bit numbers
        self.memory_bytes = memory_mb * (1 << 20)
        self.seconds = seconds
        self.whole_process = whole_process
