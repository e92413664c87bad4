"""Conditions: the effects of a scenario on the messages, timers and choices of one node. No I/O.

The base class changes nothing: no message is lost on purpose or delayed, and no choice is fixed.
`vez.worlds.node.cluster.scripted` makes the conditions of a scenario file.
"""

from __future__ import annotations

from typing import NamedTuple


class Fate(NamedTuple):
    """The fate of one message: the delay of each copy in microseconds. Without copies the message is lost."""

    delays_us: tuple[int, ...] = (0,)
    lost: bool = False
    """True if the message counts as lost; a copy may still arrive."""


class Conditions:
    """Conditions that change nothing."""

    fifo = True
    """False if messages of one channel with different delays may overtake each other."""
    drift = 1.0
    """The factor by which the timers of this process take longer."""
    alters: tuple[str, ...] = ()
    """The promises of nodes that do not hold: `order` and `copies` of messages, durations of `timers`, the `clock`
    (drift)."""

    def message(self, to: int) -> Fate:
        """The fate of the next message to a process, which may be the process itself."""
        return Fate()

    def beat(self, to: int) -> int | None:
        """The delay of the next heartbeat to a peer in microseconds; None if it is lost."""
        return 0

    def choice(self) -> int | None:
        """The index that the next `io.choose` returns; None if it is not fixed."""
        return None

    def timer_ms(self, after_ms: float) -> float:
        """The duration of the next timer that is set."""
        return after_ms
