"""Frames: length-prefixed msgpack, and the decoding of messages by the table of the class.

A frame is four bytes, the length of what follows, and a msgpack array whose first element says what it is. Everything
here raises `PeerViolation` for whatever a peer may send; nothing else can come out of bytes from outside.
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
"""Bytes of a buffer for what arrives: about fifty frames, and little for each connection of a large group."""
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
LONGEST_DELAY_US = 86_400_000_000
"""A day: a peer must not have something kept for ever."""
Delay = Annotated[int, Meta(ge=0, le=LONGEST_DELAY_US)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]
"""The name of an instance of the algorithm, where several share a link."""
OVERHEAD = 48
"""Most bytes of a data frame beside body, kind and name: numbers, lengths and the delay."""
MOST_NAMES = 1000
"""Names in one frame."""


@dataclass_transform(frozen_default=True)
class Frame(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """Base of what is sent after the handshake."""


class Data(Frame, tag=1):
    """A message. `sequence` counts the frames of this link, `number` the messages of this incarnation."""

    sequence: Annotated[int, Meta(ge=1, le=2**63 - 1)]
    number: Annotated[int, Meta(ge=1, le=2**63 - 1)]
    kind: str
    body: msgspec.Raw


class LateData(Data, tag=4):
    """A message that the receiver handles after so many microseconds, as if the network were slow."""

    after_us: Delay


class NamedData(Data, tag=6):
    """A message of one of several instances of the algorithm that share a link; `name` says which."""

    name: Name


class Acknowledged(Frame, tag=2):
    """Everything up to this sequence number was handled."""

    sequence: Count


class Beat(Frame, tag=3):
    """A heartbeat."""


class LateBeat(Frame, tag=5):
    """A heartbeat that counts after so many microseconds."""

    after_us: Delay


class Present(Frame, tag=7):
    """The sender lives in this operating-system process, and uses these instances: they exist everywhere then.

    It is sent again with each new connection.
    """

    pid: Count
    host: Annotated[str, Meta(max_length=64)]
    names: Annotated[tuple[Name, ...], Meta(max_length=MOST_NAMES)] = ()


class Standing(Frame, tag=9):
    """In the election of this name a program of the sender waits to lead."""

    name: Name


class Office(Frame, tag=10):
    """In the election of this name a program of the sender leads, with this label; or no longer."""

    name: Name
    label: Annotated[str, Meta(max_length=64)]
    held: bool


class Leaving(Frame, tag=8):
    """The sender ends in order. Nothing comes from this start of it any more."""


Saying = Present | Leaving | Standing | Office
"""What a member says about itself, where several instances share a link. It has no number and is never kept."""
AnyFrame = Data | LateData | NamedData | Acknowledged | Beat | LateBeat | Saying

_encoder = msgspec.msgpack.Encoder(order="deterministic")
_frame: msgspec.msgpack.Decoder[AnyFrame] = msgspec.msgpack.Decoder(AnyFrame)
encode_body = _encoder.encode
"""The body of a message, the same for all its receivers."""
MALFORMED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for bytes that do not hold the value that is asked for."""


def frame(value: msgspec.Struct) -> bytes:
    """A frame with its length."""
    payload = _encoder.encode(value)
    return _prefix.pack(len(payload)) + payload


def decode(payload: bytes) -> AnyFrame:
    """A frame after the handshake. Here and in `Codec` without `decoded`, since a call costs as much as the work."""
    try:
        return _frame.decode(payload)
    except MALFORMED as error:
        raise malformed(error) from None


def decoded(decoder: msgspec.msgpack.Decoder[Any], payload: bytes) -> Any:
    """A value from bytes from outside."""
    try:
        return decoder.decode(payload)
    except MALFORMED as error:
        raise malformed(error) from None


def malformed(error: Exception) -> PeerViolation:
    """What to raise for bytes from outside that are not the value that they should be."""
    words = "nested too deeply" if isinstance(error, RecursionError) else str(error)
    return PeerViolation(f"malformed frame: {words}")


class Splitter:
    """Cuts a stream of bytes into frames. Keeps at most one frame that is not complete, and what has just arrived."""

    __slots__ = ("_at", "_buffer", "_end", "_view", "largest")

    def __init__(self, largest: int) -> None:
        self.largest = largest
        self._at = 0  # frames before it were taken
        self._end = 0  # bytes from here on are free
        self._begin(USUAL, b"")

    def room(self) -> memoryview:
        """Where the next bytes are to be put; never empty. `filled` says how many they were."""
        if self._at == self._end:
            if len(self._buffer) > USUAL:
                self._begin(USUAL, b"")
            self._at = self._end = 0
            return self._view
        if self._end == len(self._buffer):
            rest = self._buffer[self._at :]
            self._begin(max(USUAL, 2 * len(rest)), rest)  # doubled: a large frame is not copied for each of its bytes
        return self._view[self._end :]

    def filled(self, count: int) -> None:
        """So many bytes arrived."""
        self._end += count

    def feed(self, data: bytes) -> None:
        """Add bytes that are somewhere else."""
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
        """Take a new buffer, which begins with what was not taken from the old one."""
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
        """Why receivers would not take a message of ours; empty if they would."""
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
    """True if a value is nested more deeply than that, found level by level so that the search itself is not deep."""
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
