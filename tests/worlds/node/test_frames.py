"""Frames and handshake without sockets: any bytes give a value of the declared types or a clear refusal."""

from __future__ import annotations

from itertools import cycle

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vez.catalogue.algorithms import ALGORITHMS
from vez.core import Complete, Io, Message, Parameter, Process, Ring
from vez.core.process import handlers_of
from vez.errors import PeerViolation
from vez.worlds.node.frames import USUAL, Beat, Codec, Data, Splitter, contains_itself, decode, encode_body, frame
from vez.worlds.node.handshake import NONCE_BYTES, Challenge, Dialling, Listening, Refusal, Refused
from vez.worlds.node.identity import Identity, make_identity
from vez.worlds.node.limits import Bucket

HERE, THERE = "a" * 16, "b" * 16
NONCE, OTHER = b"n" * NONCE_BYTES, b"o" * NONCE_BYTES
KEY = b"k" * 32


class Leaf(msgspec.Struct, frozen=True):
    inner: Leaf | None = None


class Word(Message):
    text: str
    numbers: tuple[int, ...] = ()


class Tree(Message):
    leaf: Leaf


class Talker(Process):
    lease_ms: Parameter[int] = 5

    def on_word(self, message: Word, sender: int, io: Io) -> None: ...

    def on_tree(self, message: Tree, sender: int, io: Io) -> None: ...


class Quiet(Process):
    lease_ms: Parameter[int] = 5


def data(message: Message) -> Data:
    return Data(1, 1, type(message).__name__, msgspec.Raw(encode_body(message)))


def split(stream: bytes, sizes: list[int], largest: int = 100) -> list[bytes]:
    splitter, found = Splitter(largest), []
    for size in [*sizes, len(stream)]:
        splitter.feed(stream[:size])
        stream = stream[size:]
        while (payload := splitter.next()) is not None:
            found.append(payload)
    return found


@given(st.lists(st.binary(min_size=1, max_size=100)), st.lists(st.integers(0, 150), max_size=30))
def test_frames_come_out_as_they_went_in_however_the_stream_is_cut(payloads: list[bytes], sizes: list[int]) -> None:
    stream = b"".join(len(payload).to_bytes(4, "big") + payload for payload in payloads)
    assert split(stream, sizes) == payloads


@given(
    st.lists(st.integers(1, 3 * USUAL), max_size=12),
    st.lists(st.integers(1, 2 * USUAL), min_size=1, max_size=12),
)
def test_large_frames_pass_through_a_buffer_that_grows_and_shrinks(lengths: list[int], sizes: list[int]) -> None:
    payloads = [bytes([place + 1]) * length for place, length in enumerate(lengths)]
    stream = b"".join(len(payload).to_bytes(4, "big") + payload for payload in payloads)
    splitter, found, most = Splitter(3 * USUAL), list[bytes](), cycle(sizes)
    while stream:
        room = splitter.room()
        assert 0 < len(room) <= 2 * (3 * USUAL + 4), "not more than twice a frame that is not complete"
        count = min(next(most), len(room), len(stream))
        room[:count], stream = stream[:count], stream[count:]
        splitter.filled(count)
        while (payload := splitter.next()) is not None:
            found.append(payload)
    assert found == payloads
    assert len(splitter.room()) == USUAL, "what a large frame needed is given back"


@pytest.mark.parametrize("length", [0, 101, 2**32 - 1])
def test_a_frame_of_a_forbidden_size_is_refused_before_it_arrives(length: int) -> None:
    with pytest.raises(PeerViolation, match=f"a frame of {length} bytes, expected 1 to 100"):
        split(length.to_bytes(4, "big"), [])


@given(st.binary(max_size=200))
@example(b"\x91" * 5000)
@example(b"\x94\x01\x01\x01\xa4Word\x91" + b"\x91" * 5000)
@example(b"\x94\x01\x01\x01\xa1\xff\xc0")
@example(msgspec.msgpack.encode([1, 1, 1, "Word", {"text": 3}]))
@example(msgspec.msgpack.encode([1, 0, 1, "Word", {"text": "x"}]))
@example(msgspec.msgpack.encode([1, 1, 1, "Order", {}]))
def test_bytes_are_a_frame_of_the_declared_types_or_a_violation(payload: bytes) -> None:
    codec, words = Codec(Talker, depth=30), ""
    try:
        found = decode(payload)
        if isinstance(found, Data):
            assert isinstance(codec.message(found), Word | Tree)
    except PeerViolation as error:
        words = str(error)
    assert len(words) < 300


def test_every_message_of_the_catalogue_has_a_decoder() -> None:
    for algorithm in ALGORITHMS.values():
        codec = Codec(algorithm, depth=30)
        for kind in handlers_of(algorithm).kinds:
            with pytest.raises(PeerViolation, match="malformed"):
                codec.message(Data(1, 1, kind, msgspec.Raw(b"\xc1")))


def test_a_message_of_another_algorithm_is_refused_with_its_kind() -> None:
    codec = Codec(Quiet, depth=30)
    with pytest.raises(PeerViolation, match="unexpected message 'Word': Quiet handles none"):
        codec.message(data(Word("hi")))


def test_a_type_that_contains_itself_has_a_limit_of_its_own() -> None:
    assert contains_itself(Tree)
    assert not contains_itself(Word)
    codec = Codec(Talker, depth=30)
    leaf = Leaf()
    for _ in range(20):
        leaf = Leaf(leaf)
    assert codec.message(data(Tree(leaf))) == Tree(leaf)
    for _ in range(20):
        leaf = Leaf(leaf)
    with pytest.raises(PeerViolation, match="deeper than 30 levels"):
        codec.message(data(Tree(leaf)))


def test_a_heartbeat_is_two_bytes_and_its_length() -> None:
    assert frame(Beat()) == b"\x00\x00\x00\x02\x91\x03"


# The handshake.


def identity(group: str = "demo", *, ids: tuple[int, ...] = (1, 2, 3), **parameters: int) -> Identity:
    return make_identity(group, "talker", Complete(ids), Talker(**parameters))


def shake(
    listener: Identity,
    dialler: Identity,
    *,
    keys: tuple[bytes | None, bytes | None] = (None, None),
    me: int = 2,
    to: int = 1,
) -> tuple[int, int]:
    """A whole handshake. Returns the two sequence numbers."""
    listening = Listening(listener, 1, HERE, keys[0], NONCE)
    dialling = Dialling(dialler, me, to, THERE, keys[1], OTHER)
    hello = listening.hello(payload(dialling.hello(payload(listening.challenge))))
    assert hello.incarnation == THERE
    welcome = dialling.welcome(payload(listening.welcome(7)))
    assert welcome.incarnation == HERE
    return hello.me, welcome.received


def payload(step: msgspec.Struct) -> bytes:
    return frame(step)[4:]


@pytest.mark.parametrize("key", [None, KEY])
def test_nodes_that_were_started_alike_shake_hands(key: bytes | None) -> None:
    assert shake(identity(), identity(), keys=(key, key)) == (2, 7)


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (identity("shop"), "group is demo at node 1 and shop at node 2"),
        (identity(ids=(1, 2)), r"ids are \(1, 2, 3\) at node 1 and \(1, 2\) at node 2"),
        (identity(lease_ms=9), "parameter lease_ms is 5 at node 1 and 9 at node 2"),
        (
            make_identity("demo", "talker", Ring((1, 2, 3)), Talker()),
            "topology is complete at node 1 and ring at node 2",
        ),
        (make_identity("demo", "other", Complete((1, 2, 3)), Talker()), "algorithm is talker at node 1 and other at"),
        (make_identity("demo", "talker", Complete((1, 2, 3)), Quiet()), "other fields at node 2 than at node 1"),
        (identity("x" * 1000 + "\n"), r"group is demo at node 1 and 'x{70,}\.\.\. at node 2"),
    ],
)
def test_nodes_that_were_started_differently_say_what_differs(other: Identity, reason: str) -> None:
    with pytest.raises(Refusal, match=reason):
        shake(identity(), other)


def test_a_file_may_lie_in_another_folder_on_each_host() -> None:
    one, two, three = (
        make_identity("demo", name, Complete((1, 2, 3)), Talker())
        for name in ("relay.py:Relay", "/srv/demo/relay.py:Relay", "other.py:Relay")
    )
    assert shake(one, two) == (2, 7)
    with pytest.raises(Refusal, match=r"algorithm is relay.py:Relay at node 1 and other.py:Relay at node 2"):
        shake(one, three)


@pytest.mark.parametrize("keys", [(KEY, None), (KEY, b"z" * 32), (None, KEY)])
def test_without_the_right_key_nothing_is_said_about_the_group(keys: tuple[bytes | None, bytes | None]) -> None:
    with pytest.raises(Refusal) as caught:
        shake(identity(), identity("another"), keys=keys)
    assert "key" in str(caught.value)
    assert "demo" not in str(caught.value)


def test_a_listener_without_the_key_is_noticed_before_a_message_is_sent() -> None:
    impostor = Listening(identity(), 1, HERE, None, NONCE)
    dialling = Dialling(identity(), 2, 1, THERE, KEY, OTHER)
    hello = dialling.hello(payload(impostor.challenge))
    impostor.hello(payload(msgspec.structs.replace(hello, proof=b"")))
    with pytest.raises(PeerViolation, match="does not have the key"):
        dialling.welcome(payload(impostor.welcome(0)))


def test_a_proof_is_worth_nothing_for_another_challenge() -> None:
    """A recorded proof cannot be replayed on another connection."""
    dialling = Dialling(identity(), 2, 1, THERE, KEY, OTHER)
    hello = dialling.hello(payload(Listening(identity(), 1, HERE, KEY, NONCE).challenge))
    with pytest.raises(Refusal, match="key"):
        Listening(identity(), 1, HERE, KEY, OTHER).hello(payload(hello))


@pytest.mark.parametrize(
    ("me", "to", "reason"), [(2, 3, "this is node 1, not node 3"), (9, 1, "node 9 cannot"), (1, 1, "node 1")]
)
def test_a_node_talks_only_to_its_peers(me: int, to: int, reason: str) -> None:
    with pytest.raises(Refusal, match=reason):
        shake(identity(), identity(), me=me, to=to)


def test_a_refusal_reaches_the_dialler_in_words() -> None:
    dialling = Dialling(identity(), 2, 1, THERE, None, OTHER)
    dialling.hello(payload(Challenge(1, NONCE)))
    with pytest.raises(PeerViolation, match="refused: not today"):
        dialling.welcome(payload(Refused("not today")))


@given(st.binary(max_size=300))
@example(b"\x97\x0b\x01" + b"\x91" * 5000)
def test_a_stranger_who_sends_anything_is_refused(noise: bytes) -> None:
    with pytest.raises(Refusal):
        Listening(identity(), 1, HERE, KEY, NONCE).hello(noise)


def test_another_version_of_the_protocol_is_named() -> None:
    dialling = Dialling(identity(), 2, 1, THERE, None, OTHER)
    with pytest.raises(PeerViolation, match="protocol is 1 here and 2 there"):
        dialling.hello(payload(Challenge(2, NONCE)))


def test_a_bucket_lets_a_burst_through_and_then_the_rate() -> None:
    bucket = Bucket(rate=10, now=0.0)
    assert bucket.take(10, 0.0) == 0
    assert bucket.take(5, 0.0) == 0.5
    assert bucket.take(5, 1.0) == 0
    assert bucket.take(10, 100.0) == 0
