"""Conditions: what a scenario does to the messages, timers and choices of one node. No I/O.

The base class is the world as it is: nothing is lost on purpose, delayed or decided. `vez.cluster.scripted` makes the
conditions of a scenario file.
"""

from __future__ import annotations

from typing import NamedTuple


class Fate(NamedTuple):
    """What happens to one message: the delay of each copy in microseconds. No copy: it is lost."""

    delays_us: tuple[int, ...] = (0,)
    lost: bool = False
    """True if it counts as lost; a copy may still arrive."""


class Conditions:
    """The world as it is."""

    fifo = True
    """False: messages of one channel that have different delays may overtake each other."""
    drift = 1.0
    """How many times as long the timers of this process take."""
    alters: tuple[str, ...] = ()
    """What is not as nodes promise: `order` and `copies` of messages, durations of `timers`, the `clock` (drift)."""

    def message(self, to: int) -> Fate:
        """The fate of the next message to a process, which may be the process itself."""
        return Fate()

    def beat(self, to: int) -> int | None:
        """Delay of the next heartbeat to a peer in microseconds; None: it is lost."""
        return 0

    def choice(self) -> int | None:
        """The index that the next `io.choose` gives; None: any."""
        return None

    def timer_ms(self, after_ms: float) -> float:
        """The duration of the next timer that is set."""
        return after_ms
