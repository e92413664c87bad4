"""Io: the only interface through which a handler acts on the world.

Each world implements it: the simulator with virtual time, the checker by recording effects as data, a node with
sockets. An algorithm cannot distinguish them, so the same code runs in all of them.
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
        """The process to the right of another one. In a ring, this one may send to it from then on: a dead
        neighbour can be skipped."""

    def send(self, to: int, message: Message) -> None:
        """Send one message. A process may send to itself; that message is delivered, but not counted."""

    def broadcast(self, message: Message) -> None:
        """Send to every peer, in ascending order."""

    def set_timer(self, name: str, after_ms: float) -> None:
        """Call `on_timer_<name>` later. This replaces a running timer of the same name."""

    def cancel_timer(self, name: str) -> None:
        """Cancel a timer. Does nothing if it is not running."""

    def choose(self, options: Sequence[T]) -> T:
        """Choose one option: drawn from the seed in the simulator, every one in the checker."""

    def enter(self, token: int | None = None) -> None:
        """Tell the application that this process is inside now. It calls `on_done` when it leaves.

        `token` is the fencing token of this stay, if the algorithm issues tokens.
        """

    def elected(self, leader: int | None, term: int = 0) -> None:
        """Tell the application which process is the leader, in this process's view; None if it knows no leader."""

    def note(self, text: str) -> None:
        """Write a remark into the trace."""
