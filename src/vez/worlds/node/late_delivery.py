"""Late delivery: messages and heartbeats that have arrived and are delivered later, as if the network were slow.

The sender sets the delay. They wait at the receiver, not at the sender, so that a message that was sent arrives even if
its sender is killed or stopped meanwhile, as on a real network.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from vez.errors import PeerViolation
from vez.worlds.node.journal import now_us
from vez.worlds.node.limits import Limits


class Waiter(NamedTuple):
    """A message or heartbeat that waits for its time of delivery."""

    due_us: int
    order: int
    peer: int
    incarnation: str
    sequence: int
    """Its number on the link; 0 for a heartbeat."""
    size: int
    deliver: Callable[[], None]


class LateDeliveries:
    """All messages and heartbeats that wait at one node."""

    def __init__(self, limits: Limits, *, fifo: bool) -> None:
        self._limits = limits
        self._fifo = fifo
        self._loop = asyncio.get_running_loop()
        self.waiters: list[Waiter] = []
        """All waiters, as a heap. The list object never changes, so that callers can test it without a call."""
        self._counts: Counter[int] = Counter()  # number of waiters by peer; then their bytes
        self._bytes: Counter[int] = Counter()
        self._latest: dict[int, tuple[str, int]] = {}  # FIFO: incarnation of each peer, time of its last message
        self._order = 0
        self._timer: asyncio.TimerHandle | None = None

    def hold(
        self,
        peer: int,
        after_us: int,
        deliver: Callable[[], None],
        *,
        incarnation: str = "",
        sequence: int = 0,
        size: int = 0,
    ) -> None:
        """Deliver something after a time; if channels are FIFO, not before earlier messages of the same peer.

        Raises `PeerViolation` if more is waiting than a correct peer, which waits for acknowledgements, can have sent.
        """
        most, most_bytes = self._limits.kept_messages, self._limits.kept_bytes
        if self._counts[peer] >= 2 * most or self._bytes[peer] + size > 2 * most_bytes:
            raise PeerViolation(f"{self._counts[peer]} messages wait for their time and no more fit")
        self._counts[peer] += 1
        self._bytes[peer] += size
        due = now_us() + after_us
        if self._fifo and sequence:
            before, latest = self._latest.get(peer, ("", 0))
            due = max(due, latest) if before == incarnation else due  # another incarnation is another channel
            self._latest[peer] = incarnation, due
        self._order += 1
        heapq.heappush(self.waiters, Waiter(due, self._order, peer, incarnation, sequence, size, deliver))
        self._plan()

    def handled(self, peer: int, incarnation: str, received: int) -> int:
        """The number up to which the messages of a peer were handled, if `received` were received."""
        held = [one.sequence for one in self.waiters if one.peer == peer and one.incarnation == incarnation]
        return min((sequence for sequence in held if sequence), default=received + 1) - 1

    def stop(self) -> None:
        """Stop all deliveries."""
        self.waiters.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _plan(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.waiters:
            wait_s = max(0, self.waiters[0].due_us - now_us()) / 1e6
            self._timer = self._loop.call_later(wait_s, self._deliver)

    def _deliver(self) -> None:
        now = now_us()
        while self.waiters and self.waiters[0].due_us <= now:
            one = heapq.heappop(self.waiters)
            self._counts[one.peer] -= 1
            self._bytes[one.peer] -= one.size
            one.deliver()
        self._plan()
