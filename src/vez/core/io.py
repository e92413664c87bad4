"""Io: everything that a handler may do to the world.

Each world has its own: the simulator's moves virtual time, the checker's records effects as data, a node's
writes to sockets. An algorithm cannot tell them apart, and that is the point.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from vez.core.message import Message

T = TypeVar("T")


class Io(Protocol):
    """The world as one process sees it, during one handler."""

    @property
    def me(self) -> int:
        """This process's identifier."""

    @property
    def peers(self) -> tuple[int, ...]:
        """All other processes, in ascending order."""

    @property
    def neighbours(self) -> tuple[int, ...]:
        """The processes to which this one has a channel, in ascending order."""

    @property
    def right(self) -> int:
        """The next process of the ring."""

    @property
    def left(self) -> int:
        """The previous process of the ring; it exists where the ring has two directions."""

    @property
    def hub(self) -> int:
        """The centre of a star; elsewhere the first process."""

    def after(self, process: int) -> int:
        """The process to the right of another one. In a ring, this opens the way past a dead neighbour."""

    def send(self, to: int, message: Message) -> None:
        """Send one message. A message to oneself is delivered too, but not counted."""

    def broadcast(self, message: Message) -> None:
        """Send to every peer, in ascending order."""

    def set_timer(self, name: str, after_ms: float) -> None:
        """Call `on_timer_<name>` later. A timer of the same name that still runs is replaced."""

    def cancel_timer(self, name: str) -> None:
        """Cancel a timer. Does nothing if it is not running."""

    def choose(self, options: Sequence[T]) -> T:
        """Choose one option: drawn from the seed in the simulator, every one in the checker."""

    def enter(self, token: int | None = None) -> None:
        """Say that this process is inside now. The harness decides for how long, then calls `on_done`.

        `token` is the fencing token of this stay, where the algorithm hands out tokens.
        """

    def elected(self, leader: int | None, term: int = 0) -> None:
        """Say whom this process takes for the leader from now on; None if it knows no leader now."""

    def note(self, text: str) -> None:
        """Leave a remark in the trace."""
