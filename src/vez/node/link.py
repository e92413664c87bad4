"""Link: numbers, acknowledgements and resend buffers of one channel, without I/O.

A channel leads from one node to another and has two halves: an `Outbox` at the sender and an `Inbox` at the receiver.
Numbers belong to a pair of incarnations, the sender's and the receiver's. While both live, every message that was
pushed is delivered once and in order, however often the connection breaks (where the link is reliable; otherwise at
most once and in order). docs/decisions/node.md says what happens to messages when one of the two starts anew.
"""

from __future__ import annotations

from collections import deque
from typing import Literal, NamedTuple

import msgspec

from vez.errors import PeerViolation, ReliableNotKept

OLD = 16
"""Earlier incarnations of a peer that are remembered, so that they are refused if they turn up again."""


class Letter(msgspec.Struct, frozen=True, gc=False):
    """One message for a link."""

    number: int
    kind: str
    body: bytes
    due_us: int = 0
    """When it is to be delivered, by the clock of the sender; until then it counts as under way. 0: at once."""
    name: str = ""
    """The instance of the algorithm to which it belongs, where several share a link."""


class Loss(NamedTuple):
    """A message that will not arrive: its number, and whether a crash of the receiver is the reason."""

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
        self._acknowledged = 0  # the receiver handled all up to here, those that were lost excepted
        self._written = 0  # all up to here were handed out on the current connection
        self._kept: deque[Letter] = deque()  # not acknowledged; the last one has the number before `_next`
        self._waiting: deque[Letter] = deque()  # pushed while there was no connection
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._kept) + len(self._waiting)

    @property
    def peer(self) -> str | None:
        """The incarnation of the receiver, as far as it is known."""
        return self._peer

    @property
    def last(self) -> int:
        """The last number that was given to a message for this incarnation."""
        return self._next - 1

    @property
    def confirmed(self) -> int:
        """The receiver handled everything up to here."""
        return self._acknowledged

    @property
    def is_up(self) -> bool:
        """True while there is a connection."""
        return self._up

    def push(self, letter: Letter) -> bool:
        """Accept a message. False if it is lost: only a link that is not reliable may say so.

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
        """There is a connection to this incarnation, which has handled all up to `received`.

        Returns the messages that are lost now. Raises `PeerViolation` if the peer cannot have said that.
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
        """The receiver's incarnation is known, perhaps from its own hello. Returns what an earlier one did not handle.

        What is not due yet is still under way, and goes to the new one. After a change there is no connection until
        `connected`: the old one led to the old incarnation.
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
        """The connection is gone."""
        self._up = False

    def take(self) -> list[tuple[int, Letter]]:
        """What is to be written to the connection now, in order, with the numbers on the link."""
        last, kept = self._next - 1, self._kept
        fresh = last - self._written
        if not self._up or not fresh:
            return []
        self._written = last
        if fresh == 1:
            return [(last, kept[-1])]
        return [(last - back, kept[-1 - back]) for back in range(fresh - 1, -1, -1)]

    def acknowledged(self, sequence: int) -> None:
        """The receiver handled everything up to here."""
        if sequence > self._written:
            raise PeerViolation(f"it acknowledged message {sequence}, and {self._written} were sent")
        self._drop(sequence)

    def _drop(self, received: int) -> None:
        kept, self._acknowledged = self._kept, max(received, self._acknowledged)
        for _ in range(len(kept) - (self._next - 1 - received)):
            self._bytes -= len(kept.popleft().body)

    def _expire(self, now_us: int) -> list[Loss]:
        """Drop what was under way and should have arrived while there was no connection."""
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
    """The receiver's half: what was handled of the current incarnation of the sender.

    `no_return` says why the sender may not start anew; empty if it may.
    """

    __slots__ = ("_no_return", "_old", "_reliable", "peer", "received")

    def __init__(self, *, reliable: bool, no_return: str = "") -> None:
        self._reliable = reliable
        self._no_return = no_return
        self.peer: str | None = None
        self.received = 0
        self._old: deque[str] = deque(maxlen=OLD)

    def hello(self, peer: str) -> int:
        """The sender connected with this incarnation. Returns how far it was handled."""
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
        """A message came. Raises `PeerViolation` unless it is the next one, or a later one after a loss."""
        expected = self.received + 1
        if sequence != expected and (self._reliable or sequence < expected):
            raise PeerViolation(f"message {sequence} of the link came where {expected} was due")
        self.received = sequence
