"""Frames: length-prefixed msgpack, and the decoding of messages by the table of the class.

A frame is a length of four bytes, followed by a msgpack array whose first element is the kind of frame. For any bytes
that a peer may send, the functions of this module return a value or raise `PeerViolation`, and nothing else.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import Annotated, Any, dataclass_transform

import msgspec
from msgspec import Meta

from vez.core.message import Message
from vez.core.process import Process, handlers_of
from vez.errors import PeerViolation

_prefix = struct.Struct(">I")
_length = _prefix.unpack_from
PREFIX = _prefix.size
USUAL = 2048
"""The usual size of a receive buffer: about fifty frames, and not much for each connection of a large group."""
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
LONGEST_DELAY_US = 86_400_000_000
"""Longest delay of a frame in microseconds: a day. It keeps a peer from making this node store a frame for ever."""
Delay = Annotated[int, Meta(ge=0, le=LONGEST_DELAY_US)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]
"""The name of an instance of the algorithm, if several share a link."""
OVERHEAD = 48
"""The largest number of bytes of a data frame without body, kind and name: numbers, lengths and the delay."""
MOST_NAMES = 1000
"""The largest number of names in one frame."""


@dataclass_transform(frozen_default=True)
class Frame(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """Base of the frames that are sent after the handshake."""


class Data(Frame, tag=1):
    """A message. `sequence` counts the frames of this link, `number` the messages of this incarnation."""

    sequence: Annotated[int, Meta(ge=1, le=2**63 - 1)]
    number: Annotated[int, Meta(ge=1, le=2**63 - 1)]
    kind: str
    body: msgspec.Raw


class LateData(Data, tag=4):
    """A message that the receiver handles after a number of microseconds, as if the network were slow."""

    after_us: Delay


class NamedData(Data, tag=6):
    """A message of one of several instances of the algorithm that share a link; `name` names the instance."""

    name: Name


class Acknowledged(Frame, tag=2):
    """Everything up to this sequence number was handled."""

    sequence: Count


class Beat(Frame, tag=3):
    """A heartbeat."""


class LateBeat(Frame, tag=5):
    """A heartbeat that counts after a number of microseconds."""

    after_us: Delay


class Present(Frame, tag=7):
    """The operating-system process of the sender, and the instances that it uses, which then exist on every node.

    The frame is sent again with each new connection.
    """

    pid: Count
    host: Annotated[str, Meta(max_length=64)]
    names: Annotated[tuple[Name, ...], Meta(max_length=MOST_NAMES)] = ()


class Standing(Frame, tag=9):
    """A program of the sender waits to lead in the election of this name."""

    name: Name


class Office(Frame, tag=10):
    """A program of the sender leads in the election of this name, with this label, or no longer leads."""

    name: Name
    label: Annotated[str, Meta(max_length=64)]
    held: bool


class Leaving(Frame, tag=8):
    """The sender ends in order. This incarnation sends nothing more."""


Saying = Present | Leaving | Standing | Office
"""Statements of a member about itself, if several instances share a link. They have no number and are never resent."""
AnyFrame = Data | LateData | NamedData | Acknowledged | Beat | LateBeat | Saying

_encoder = msgspec.msgpack.Encoder(order="deterministic")
_frame: msgspec.msgpack.Decoder[AnyFrame] = msgspec.msgpack.Decoder(AnyFrame)
encode_body = _encoder.encode
"""Encode the body of a message, which is the same for all its receivers."""
MALFORMED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""The exceptions of msgspec for bytes that do not hold a value of the requested type."""


def frame(value: msgspec.Struct) -> bytes:
    """A frame with its length."""
    payload = _encoder.encode(value)
    return _prefix.pack(len(payload)) + payload


def decode(payload: bytes) -> AnyFrame:
    """A frame after the handshake. This and `Codec` do not call `decoded`, because a call costs as much as the work."""
    try:
        return _frame.decode(payload)
    except MALFORMED as error:
        raise malformed(error) from None


def decoded(decoder: msgspec.msgpack.Decoder[Any], payload: bytes) -> Any:
    """Decode untrusted bytes. Raises `PeerViolation`."""
    try:
        return decoder.decode(payload)
    except MALFORMED as error:
        raise malformed(error) from None


def malformed(error: Exception) -> PeerViolation:
    """The error for untrusted bytes that do not hold the expected value."""
    words = "nested too deeply" if isinstance(error, RecursionError) else str(error)
    return PeerViolation(f"malformed frame: {words}")


class Splitter:
    """Splits a stream of bytes into frames. Keeps at most one incomplete frame, and bytes that have just arrived."""

    __slots__ = ("_at", "_buffer", "_end", "_view", "largest")

    def __init__(self, largest: int) -> None:
        self.largest = largest
        self._at = 0  # frames before it were taken
        self._end = 0  # bytes from here on are free
        self._begin(USUAL, b"")

    def room(self) -> memoryview:
        """The buffer for the next bytes; never empty. Call `filled` with their number."""
        if self._at == self._end:
            if len(self._buffer) > USUAL:
                self._begin(USUAL, b"")
            self._at = self._end = 0
            return self._view
        if self._end == len(self._buffer):
            rest = self._buffer[self._at :]
            self._begin(max(USUAL, 2 * len(rest)), rest)  # doubled, so that a large frame is copied only a few times
        return self._view[self._end :]

    def filled(self, count: int) -> None:
        """Note that `count` bytes were written into `room`."""
        self._end += count

    def feed(self, data: bytes) -> None:
        """Add bytes from another buffer."""
        while data:
            room = self.room()
            fit = min(len(room), len(data))
            room[:fit] = data[:fit]
            self.filled(fit)
            data = data[fit:]

    def next(self) -> bytes | None:
        """The next frame without its length, or None until more bytes arrive."""
        at, end = self._at, self._end
        start = at + PREFIX
        if end < start:
            return None
        (length,) = _length(self._buffer, at)
        if not 0 < length <= self.largest:
            raise PeerViolation(f"a frame of {length} bytes, expected 1 to {self.largest}")
        stop: int = start + length
        if end < stop:
            return None
        self._at = stop
        return bytes(self._view[start:stop])

    def _begin(self, size: int, rest: bytes | bytearray) -> None:
        """Take a new buffer, which begins with the remaining bytes of the old one."""
        self._buffer = bytearray(size)
        self._buffer[: len(rest)] = rest
        self._view = memoryview(self._buffer)
        self._at, self._end = 0, len(rest)


class Codec:
    """Makes messages of one algorithm from frames."""

    __slots__ = ("_deep", "_depth", "_kinds", "_owner")

    def __init__(self, algorithm: type[Process], depth: int) -> None:
        self._owner = algorithm.__name__
        self._depth = depth
        kinds = handlers_of(algorithm).kinds
        self._kinds = {name: msgspec.msgpack.Decoder(kind.message).decode for name, kind in kinds.items()}
        self._deep = frozenset(name for name, kind in kinds.items() if contains_itself(kind.message))

    def message(self, data: Data) -> Message:
        """The message of a data frame: of a kind that the algorithm handles, with fields of the declared types."""
        kind = data.kind
        read = self._kinds.get(kind)
        if read is None:
            raise PeerViolation(f"unexpected message {kind[:40]!r}: {self._owner} handles none of that kind")
        try:
            message: Message = read(data.body)
        except MALFORMED as error:
            raise malformed(error) from None
        if kind in self._deep and _deeper(message, self._depth):
            raise PeerViolation(f"malformed {kind}: nested deeper than {self._depth} levels")
        return message

    def too_deep(self, kind: str, body: bytes) -> str:
        """The reason why receivers would refuse a message of this node; empty if they would accept it."""
        deep = kind in self._deep and _deeper(self._kinds[kind](body), self._depth)
        return f"nested deeper than {self._depth} levels" if deep else ""


@cache
def contains_itself(kind: type[msgspec.Struct]) -> bool:
    """True if a value of this type may be nested without a bound. All others are bounded by their declarations."""
    open_types: list[Any] = []

    def visit(one: Any) -> bool:
        if not isinstance(one, msgspec.inspect.Type):
            return False
        if isinstance(one, msgspec.inspect.StructType):
            if one.cls in open_types:
                return True
            open_types.append(one.cls)
            found = any(visit(field.type) for field in one.fields)
            open_types.pop()
            return found
        inner = [getattr(one, name, ()) for name in ("item_type", "item_types", "types", "key_type", "value_type")]
        return any(visit(part) for parts in inner for part in (parts if isinstance(parts, tuple) else (parts,)))

    return visit(msgspec.inspect.type_info(kind))


def _deeper(value: Any, levels: int) -> bool:
    """True if a value has more than `levels` levels. The search goes level by level, so that it does not recurse."""
    level = [value]
    for _ in range(levels + 1):
        inner: list[Any] = []
        for one in level:
            if isinstance(one, msgspec.Struct):
                inner += (getattr(one, name) for name in one.__struct_fields__)
            elif isinstance(one, tuple | frozenset):
                inner += one
        if not inner:
            return False
        level = inner
    return True
