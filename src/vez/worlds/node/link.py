"""Link: numbers, acknowledgements and resend buffers of one channel, without I/O.

A channel leads from one node to another and has two halves: an `Outbox` at the sender and an `Inbox` at the receiver.
Numbers belong to a pair of incarnations, the sender's and the receiver's. While both live, every message that was
pushed is delivered once and in order, however often the connection breaks (if the link is reliable; otherwise at
most once and in order). docs/decisions/node.md describes what happens to messages when one of the two starts again.
"""

from __future__ import annotations

from collections import deque
from typing import Literal, NamedTuple

import msgspec

from vez.errors import PeerViolation, ReliableNotKept

OLD = 16
"""The number of earlier incarnations of a peer that are remembered, so that they are refused if they connect again."""


class Letter(msgspec.Struct, frozen=True, gc=False):
    """One message for a link."""

    number: int
    kind: str
    body: bytes
    due_us: int = 0
    """The time of delivery, by the clock of the sender; until then it counts as in transit. 0 to deliver at once."""
    name: str = ""
    """The instance of the algorithm to which it belongs, if several share a link."""


class Loss(NamedTuple):
    """A message that will not arrive: its number, and the reason."""

    number: int
    reason: Literal["crash", "loss"]


class Outbox:
    """The sender's half."""

    __slots__ = (
        "_acknowledged",
        "_bytes",
        "_kept",
        "_most",
        "_most_bytes",
        "_next",
        "_peer",
        "_reliable",
        "_up",
        "_waiting",
        "_written",
    )

    def __init__(self, *, reliable: bool, most: int, most_bytes: int) -> None:
        self._reliable = reliable
        self._most = most
        self._most_bytes = most_bytes
        self._peer: str | None = None  # the incarnation for which `_kept` is numbered
        self._up = False
        self._next = 1
        self._acknowledged = 0  # the receiver handled all messages up to this number, except lost ones
        self._written = 0  # all messages up to this number were written to the current connection
        self._kept: deque[Letter] = deque()  # not acknowledged; the last one has the number before `_next`
        self._waiting: deque[Letter] = deque()  # pushed while there was no connection
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._kept) + len(self._waiting)

    @property
    def peer(self) -> str | None:
        """The incarnation of the receiver; None if it is not known."""
        return self._peer

    @property
    def last(self) -> int:
        """The last number that was given to a message for this incarnation."""
        return self._next - 1

    @property
    def confirmed(self) -> int:
        """The number up to which the receiver handled everything."""
        return self._acknowledged

    def push(self, letter: Letter) -> bool:
        """Accept a message. Returns False if it is lost, which only happens on a link that is not reliable.

        Raises `ReliableNotKept` if the buffer of a reliable link is full.
        """
        count = len(self._kept) + len(self._waiting)
        full = count >= self._most or self._bytes + len(letter.body) > self._most_bytes
        if not self._reliable and (full or not (self._up or letter.due_us)):
            return False
        if full:
            raise ReliableNotKept(
                f"{count} messages ({self._bytes} bytes) wait for an acknowledgement and no more fit",
                hint="the receiver is dead, cut off or too slow, and the algorithm assumes reliable channels",
            )
        self._bytes += len(letter.body)
        if self._up:
            self._kept.append(letter)
            self._next += 1
        else:
            self._waiting.append(letter)
        return True

    def connected(self, peer: str, received: int, now_us: int = 0) -> list[Loss]:
        """Begin a connection to this incarnation, which has handled all messages up to `received`.

        Returns the messages that are lost now. Raises `PeerViolation` if the peer cannot have received so many.
        """
        lost = self.learnt(peer, now_us)
        if not self._acknowledged <= received < self._next:
            raise PeerViolation(
                f"it says that it received {received} messages, expected {self._acknowledged} to {self._next - 1}"
            )
        self._drop(received)
        if not self._reliable:
            lost += self._discard("loss") + self._expire(now_us)
        self._written = received if self._reliable else self._next - 1
        self._up = True
        self._kept.extend(self._waiting)
        self._next += len(self._waiting)
        self._waiting.clear()
        return lost

    def learnt(self, peer: str, now_us: int = 0) -> list[Loss]:
        """Note the receiver's incarnation, perhaps from its own hello. Returns the messages that an earlier incarnation
        did not handle.

        Messages that are not due yet are still in transit, and go to the new incarnation. After a change there is no
        connection until `connected`, because the old one led to the old incarnation.
        """
        if peer == self._peer:
            return []
        self._peer = peer
        self._up = False
        self._next = 1
        self._written = self._acknowledged = 0
        under_way = [letter for letter in self._kept if letter.due_us > now_us]
        self._kept = deque(letter for letter in self._kept if letter.due_us <= now_us)
        self._waiting.extendleft(reversed(under_way))
        return self._discard("crash")

    def disconnected(self) -> None:
        """Note that the connection is gone."""
        self._up = False

    def take(self) -> list[tuple[int, Letter]]:
        """The messages to write to the connection now, in order, with their numbers on the link."""
        last, kept = self._next - 1, self._kept
        fresh = last - self._written
        if not self._up or not fresh:
            return []
        self._written = last
        if fresh == 1:
            return [(last, kept[-1])]
        return [(last - back, kept[-1 - back]) for back in range(fresh - 1, -1, -1)]

    def acknowledged(self, sequence: int) -> None:
        """Note that the receiver handled everything up to `sequence`."""
        if sequence > self._written:
            raise PeerViolation(f"it acknowledged message {sequence}, and {self._written} were sent")
        self._drop(sequence)

    def _drop(self, received: int) -> None:
        kept, self._acknowledged = self._kept, max(received, self._acknowledged)
        for _ in range(len(kept) - (self._next - 1 - received)):
            self._bytes -= len(kept.popleft().body)

    def _expire(self, now_us: int) -> list[Loss]:
        """Drop the messages in transit that should have arrived while there was no connection."""
        late = [letter for letter in self._waiting if letter.due_us <= now_us]
        self._waiting = deque(letter for letter in self._waiting if letter.due_us > now_us)
        self._bytes -= sum(len(letter.body) for letter in late)
        return [Loss(letter.number, "loss") for letter in late]

    def _discard(self, reason: Literal["crash", "loss"]) -> list[Loss]:
        lost = [Loss(letter.number, reason) for letter in self._kept]
        self._bytes -= sum(len(letter.body) for letter in self._kept)
        self._kept.clear()
        return lost


class Inbox:
    """The receiver's half: the handled messages of the current incarnation of the sender.

    `no_return` returns the reason why the sender may not start again; empty if it may.
    """

    __slots__ = ("_no_return", "_old", "_reliable", "peer", "received")

    def __init__(self, *, reliable: bool, no_return: str = "") -> None:
        self._reliable = reliable
        self._no_return = no_return
        self.peer: str | None = None
        self.received = 0
        self._old: deque[str] = deque(maxlen=OLD)

    def hello(self, peer: str) -> int:
        """Note that the sender connected with this incarnation. Returns the number up to which its messages were
        handled."""
        if peer in self._old:
            raise PeerViolation("a later start of this node has taken its place")
        if peer != self.peer:
            if self.peer is not None:
                if self._no_return:
                    raise PeerViolation(self._no_return)
                self._old.append(self.peer)
            self.peer, self.received = peer, 0
        return self.received

    def accept(self, sequence: int) -> None:
        """Note that a message arrived. Raises `PeerViolation` unless it is the next one, or a later one after a
        loss."""
        expected = self.received + 1
        if sequence != expected and (self._reliable or sequence < expected):
            raise PeerViolation(f"message {sequence} of the link came where {expected} was due")
        self.received = sequence
