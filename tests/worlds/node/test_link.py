"""The link as a protocol: hypothesis breaks connections and restarts both ends at any point.

The network of the model is a connection with two queues, whose contents are lost when it breaks. The tests check that
nothing arrives twice, that order is kept, and that nothing is lost while both incarnations live.
"""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from vez.errors import PeerViolation, ReliableNotKept
from vez.worlds.node.link import Inbox, Letter, Loss, Outbox

MOST = 8


def outbox(*, reliable: bool = True, most: int = MOST) -> Outbox:
    return Outbox(reliable=reliable, most=most, most_bytes=1000)


class Channel(RuleBasedStateMachine):
    """A sender and a receiver that may both crash, and a connection that may break with anything under way."""

    @initialize(reliable=st.booleans())
    def start(self, reliable: bool) -> None:
        self.reliable = reliable
        self.starts = 0
        self.number = 0
        self.handled: list[tuple[str, str, int]] = []  # sender's incarnation, receiver's, number of the message
        self.pushed: dict[tuple[str, int], int] = {}  # how many starts of the receiver came before
        self.lost: set[tuple[str, int]] = set()
        self.receiver_starts = 0
        self.new_sender()
        self.new_receiver()

    def incarnation(self) -> str:
        self.starts += 1
        return f"{self.starts:016x}"

    def new_sender(self) -> None:
        self.sender, self.outbox = self.incarnation(), outbox(reliable=self.reliable)
        self.frames: deque[tuple[int, Letter]] = deque()
        self.acks: deque[int] = deque()
        self.up = False

    def new_receiver(self) -> None:
        self.receiver, self.inbox = self.incarnation(), Inbox(reliable=self.reliable)
        self.receiver_starts += 1
        self.frames, self.acks, self.up = deque(), deque(), False

    def record(self, losses: list[Loss]) -> None:
        for number, reason in losses:
            key = (self.sender, number)
            assert key not in self.lost, "lost twice"
            self.lost.add(key)
            if reason == "crash":
                assert self.pushed[key] < self.receiver_starts, "lost by a crash that did not happen"
            else:
                assert not self.reliable

    @rule()
    def push(self) -> None:
        self.number += 1
        key = (self.sender, self.number)
        try:
            kept = self.outbox.push(Letter(self.number, "Word", b"x"))
        except ReliableNotKept:
            assert len(self.outbox) == MOST
            return
        self.pushed[key] = self.receiver_starts
        if not kept:
            assert not self.reliable
            self.lost.add(key)
        self.write()

    def write(self) -> None:
        if self.up:
            self.frames.extend(self.outbox.take())

    @precondition(lambda self: not self.up)
    @rule()
    def connect(self) -> None:
        received = self.inbox.hello(self.sender)
        self.record(self.outbox.connected(self.receiver, received))
        self.up = True
        self.write()

    @rule()
    def break_connection(self) -> None:
        self.outbox.disconnected()
        self.frames, self.acks, self.up = deque(), deque(), False

    @precondition(lambda self: self.frames)
    @rule()
    def deliver(self) -> None:
        sequence, letter = self.frames.popleft()
        self.inbox.accept(sequence)
        self.handled.append((self.sender, self.receiver, letter.number))

    @precondition(lambda self: self.up)
    @rule()
    def acknowledge(self) -> None:
        self.acks.append(self.inbox.received)

    @precondition(lambda self: self.acks)
    @rule()
    def hear(self) -> None:
        self.outbox.acknowledged(self.acks.popleft())

    @rule()
    def restart_sender(self) -> None:
        self.new_sender()

    @rule()
    def restart_receiver(self) -> None:
        self.outbox.disconnected()
        self.new_receiver()

    @rule()
    def hear_of_a_new_receiver(self) -> None:
        """The receiver's own hello, over the channel in the other direction."""
        changed = self.outbox.peer != self.receiver
        self.record(self.outbox.learnt(self.receiver))
        if changed:
            self.frames, self.acks, self.up = deque(), deque(), False

    @invariant()
    def nothing_arrives_twice(self) -> None:
        messages = [(sender, number) for sender, _, number in getattr(self, "handled", ())]
        assert len(messages) == len(set(messages))

    @invariant()
    def order_is_kept(self) -> None:
        newest: dict[tuple[str, str], int] = {}
        for sender, receiver, number in getattr(self, "handled", ()):
            assert number > newest.get((sender, receiver), 0)
            newest[sender, receiver] = number

    def teardown(self) -> None:
        """Heal, and deliver everything: each message of this sender has arrived, or was lost for an allowed reason."""
        if not hasattr(self, "outbox"):
            return
        if not self.up:
            self.connect()
        while self.frames:
            self.deliver()
        self.outbox.acknowledged(self.inbox.received)
        assert len(self.outbox) == 0
        arrived = {(sender, number) for sender, _, number in self.handled}
        mine = {key for key in self.pushed if key[0] == self.sender}
        assert mine - arrived <= self.lost
        self.order_is_kept()
        self.nothing_arrives_twice()


TestChannel = Channel.TestCase
TestChannel.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)


def numbers(taken: list[tuple[int, Letter]]) -> list[tuple[int, int]]:
    return [(sequence, letter.number) for sequence, letter in taken]


def test_what_was_sent_without_a_connection_goes_to_the_next_incarnation() -> None:
    """A recovered process calls others at once; their answers must reach it although we have not reconnected yet."""
    box = outbox()
    box.connected("a", 0)
    box.push(Letter(1, "Word", b""))
    box.take()
    box.disconnected()
    box.push(Letter(2, "Word", b""))
    assert box.connected("b", 0) == [Loss(1, "crash")]
    assert numbers(box.take()) == [(1, 2)]


def test_what_is_not_due_yet_is_under_way_and_goes_to_the_next_incarnation() -> None:
    link = outbox()
    link.connected("a" * 16, 0)
    for number, due_us in ((1, 0), (2, 500), (3, 100)):
        link.push(Letter(number, "Count", b"x", due_us))
    assert [letter.number for _, letter in link.take()] == [1, 2, 3]
    assert link.learnt("b" * 16, now_us=200) == [Loss(1, "crash"), Loss(3, "crash")]
    assert link.connected("b" * 16, 0, now_us=200) == []
    assert [(sequence, letter.number) for sequence, letter in link.take()] == [(1, 2)]


def test_what_is_under_way_on_a_link_that_is_not_reliable_arrives_if_there_is_a_connection_in_time() -> None:
    link = outbox(reliable=False)
    assert not link.push(Letter(1, "Count", b"x"))
    assert link.push(Letter(2, "Count", b"x", due_us=100))
    assert link.push(Letter(3, "Count", b"x", due_us=300))
    assert link.connected("a" * 16, 0, now_us=200) == [Loss(2, "loss")]
    assert [letter.number for _, letter in link.take()] == [3]
    assert len(link) == 1


def test_a_full_buffer_of_a_reliable_link_raises_and_does_not_grow() -> None:
    box = outbox(most=2)
    assert all(box.push(Letter(number, "Word", b"")) for number in (1, 2))
    with pytest.raises(ReliableNotKept, match="2 messages"):
        box.push(Letter(3, "Word", b""))
    assert len(box) == 2
    large = Outbox(reliable=True, most=100, most_bytes=10)
    large.push(Letter(1, "Word", b"x" * 10))
    with pytest.raises(ReliableNotKept, match="10 bytes"):
        large.push(Letter(2, "Word", b"x"))


def test_a_link_that_is_not_reliable_drops_and_says_so() -> None:
    box = outbox(reliable=False, most=2)
    assert not box.push(Letter(1, "Word", b""))
    box.connected("a", 0)
    assert [box.push(Letter(number, "Word", b"")) for number in (2, 3, 4)] == [True, True, False]
    assert numbers(box.take()) == [(1, 2), (2, 3)]
    box.disconnected()
    assert box.connected("a", 1) == [Loss(3, "loss")]
    box.push(Letter(5, "Word", b""))
    assert numbers(box.take()) == [(3, 5)]


def test_a_link_that_lost_a_message_connects_again_and_again() -> None:
    """The receiver has handled less than was numbered, and reports this at every connection."""
    box = outbox(reliable=False)
    box.connected("a", 0)
    box.push(Letter(1, "Word", b""))
    for lost in ([Loss(1, "loss")], [], []):
        box.disconnected()
        assert box.connected("a", 0) == lost
    box.push(Letter(2, "Word", b""))
    assert numbers(box.take()) == [(2, 2)]
    box.acknowledged(2)
    box.disconnected()
    with pytest.raises(PeerViolation, match="received 1 messages, expected 2 to 2"):
        box.connected("a", 1)


@pytest.mark.parametrize("received", [3, 1])
def test_a_peer_cannot_have_received_what_was_never_sent_or_forget_what_it_acknowledged(received: int) -> None:
    box = outbox()
    box.connected("a", 0)
    for number in (1, 2):
        box.push(Letter(number, "Word", b""))
    box.take()
    box.acknowledged(2)
    box.disconnected()
    with pytest.raises(PeerViolation, match=f"received {received} messages, expected 2 to 2"):
        box.connected("a", received)


def test_an_acknowledgement_of_what_was_not_sent_is_a_violation() -> None:
    box = outbox()
    box.connected("a", 0)
    with pytest.raises(PeerViolation, match="acknowledged message 1, and 0 were sent"):
        box.acknowledged(1)


def test_a_receiver_takes_only_the_next_message() -> None:
    inbox = Inbox(reliable=True)
    assert inbox.hello("a") == 0
    inbox.accept(1)
    for wrong in (1, 3):
        with pytest.raises(PeerViolation, match=f"message {wrong} of the link came where 2 was due"):
            inbox.accept(wrong)
    assert inbox.hello("a") == 1
    assert inbox.hello("b") == 0
    with pytest.raises(PeerViolation, match="a later start"):
        inbox.hello("a")


def test_where_nobody_may_start_anew_a_new_incarnation_is_refused() -> None:
    inbox = Inbox(reliable=True, no_return="it was here before")
    assert inbox.hello("a" * 16) == 0
    assert inbox.hello("a" * 16) == 0  # only its connection was lost
    with pytest.raises(PeerViolation, match="here before"):
        inbox.hello("b" * 16)
    assert inbox.peer == "a" * 16


def test_the_sender_knows_what_was_confirmed() -> None:
    box = Outbox(reliable=True, most=10, most_bytes=100)
    box.connected("a" * 16, 0)
    assert (box.last, box.confirmed) == (0, 0)
    for number in (1, 2):
        box.push(Letter(number, "Word", b"x", 0, "name"))
    assert [letter.name for _, letter in box.take()] == ["name", "name"]
    box.acknowledged(1)
    assert (box.last, box.confirmed) == (2, 1)
