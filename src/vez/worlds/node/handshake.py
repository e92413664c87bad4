"""Handshake: identifies a peer, checks that it was started with the same settings, and authenticates it.

It does no I/O, and reads no clock and no random number.

    listener → dialler   Challenge   a random number
    dialler → listener   Hello       who it is, whom it expects, its incarnation, its proof
    listener → dialler   Welcome     the listener's incarnation, the last number that it received, its proof
                      or Refused     the reason

With a key, a proof is an HMAC over all frames so far. The listener reveals nothing about itself before it has seen the
proof of the dialler, and the dialler sends no message before it has seen the proof of the listener. Without a key (Unix
sockets in a private directory, or TLS) proofs are empty.
"""

from __future__ import annotations

import hmac
from typing import Annotated, dataclass_transform

import msgspec
from msgspec import Meta

from vez.errors import PeerViolation
from vez.worlds.node.frames import Count, decoded
from vez.worlds.node.identity import PROTOCOL, Identity

NONCE_BYTES = 32
_Nonce = Annotated[bytes, Meta(min_length=NONCE_BYTES, max_length=NONCE_BYTES)]
_Proof = Annotated[bytes, Meta(max_length=32)]
Incarnation = Annotated[str, Meta(pattern="^[0-9a-f]{16}$")]


class Refusal(PeerViolation):
    """A peer is refused. The reason is sent to it."""


@dataclass_transform(frozen_default=True)
class Step(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Base of the frames of a handshake."""


class Challenge(Step, tag=10):
    """The first frame of the listener."""

    protocol: Count
    nonce: _Nonce


class Hello(Step, tag=11):
    """The dialler's statement about itself."""

    protocol: Count
    identity: Identity
    me: int
    to: int
    incarnation: Incarnation
    nonce: _Nonce
    proof: _Proof = b""


class Welcome(Step, tag=12):
    """The dialler may send. `received` is the last sequence number that this incarnation has handled of it."""

    incarnation: Incarnation
    received: Count
    proof: _Proof = b""


class Refused(Step, tag=13):
    """The dialler may not send."""

    reason: Annotated[str, Meta(max_length=500)]


_challenge = msgspec.msgpack.Decoder(Challenge)
_hello = msgspec.msgpack.Decoder(Hello)
_answer: msgspec.msgpack.Decoder[Welcome | Refused] = msgspec.msgpack.Decoder(Welcome | Refused)


class Listening:
    """The listener's side of one handshake."""

    def __init__(self, identity: Identity, me: int, incarnation: str, key: bytes | None, nonce: bytes) -> None:
        self._identity = identity
        self._me = me
        self._incarnation = incarnation
        self._key = key
        self.challenge = Challenge(PROTOCOL, nonce)
        self._hello: Hello | None = None

    def hello(self, payload: bytes) -> Hello:
        """Check the hello of a dialler. Raises `Refusal` if the dialler is refused."""
        try:
            hello: Hello = decoded(_hello, payload)
        except PeerViolation:
            raise Refusal(f"this is not a hello of protocol {PROTOCOL}") from None
        if hello.protocol != PROTOCOL:
            raise Refusal(f"protocol is {PROTOCOL} at node {self._me} and {hello.protocol} at node {hello.me}")
        bare = msgspec.structs.replace(hello, proof=b"")
        if not _is_proof(self._key, hello.proof, b"hello", self.challenge, bare):
            raise Refusal(
                "the key of this run is missing or wrong"
                if self._key
                else f"node {hello.me} uses a key and node {self._me} does not"
            )
        if difference := self._identity.difference(hello.identity, self._me, hello.me):
            raise Refusal(difference)
        if hello.to != self._me:
            raise Refusal(f"this is node {self._me}, not node {hello.to}")
        if hello.me == self._me or hello.me not in self._identity.ids:
            raise Refusal(f"node {hello.me} cannot be a peer of node {self._me}")
        self._hello = bare
        return hello

    def welcome(self, received: int) -> Welcome:
        """The answer to a hello that was accepted."""
        bare = Welcome(self._incarnation, received)
        proof = _proof(self._key, b"welcome", self.challenge, self._hello, bare)
        return msgspec.structs.replace(bare, proof=proof)


class Dialling:
    """The dialler's side of one handshake."""

    def __init__(self, identity: Identity, me: int, to: int, incarnation: str, key: bytes | None, nonce: bytes) -> None:
        self._key = key
        self._hello = Hello(PROTOCOL, identity, me, to, incarnation, nonce)
        self._challenge: Challenge | None = None

    @property
    def is_greeted(self) -> bool:
        """True after the challenge: the next frame is the answer."""
        return self._challenge is not None

    def hello(self, payload: bytes) -> Hello:
        """The hello, made from the challenge."""
        self._challenge = decoded(_challenge, payload)
        if self._challenge.protocol != PROTOCOL:
            raise PeerViolation(f"protocol is {PROTOCOL} here and {self._challenge.protocol} there")
        proof = _proof(self._key, b"hello", self._challenge, self._hello)
        return msgspec.structs.replace(self._hello, proof=proof)

    def welcome(self, payload: bytes) -> Welcome:
        """The answer of the listener. Raises `PeerViolation` if it refuses, or does not have the key."""
        answer: Welcome | Refused = decoded(_answer, payload)
        if isinstance(answer, Refused):
            raise PeerViolation(f"refused: {answer.reason}")
        bare = msgspec.structs.replace(answer, proof=b"")
        if not _is_proof(self._key, answer.proof, b"welcome", self._challenge, self._hello, bare):
            raise PeerViolation("it does not have the key of this run")
        return answer


def _proof(key: bytes | None, label: bytes, *steps: Step | None) -> bytes:
    """The HMAC of a label and of the frames so far; empty without a key."""
    if key is None:
        return b""
    digest = hmac.new(key, label, "sha256")
    for step in steps:
        payload = msgspec.msgpack.encode(step, order="deterministic")
        digest.update(len(payload).to_bytes(4, "big") + payload)
    return digest.digest()


def _is_proof(key: bytes | None, found: bytes, label: bytes, *steps: Step | None) -> bool:
    return hmac.compare_digest(_proof(key, label, *steps), found)
