"""Trace: what happened, in order, in one form for all worlds.

The simulator, the checker's counterexamples, nodes on sockets and torture runs all write this; the same
properties judge it and the same pictures draw it. Times are integer microseconds, so that a trace is the
same byte for byte on any machine. On disk it is JSON lines: a header, then one event a line.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, dataclass_transform

import msgspec

from vez.core.view import View
from vez.errors import BadData, MissingFile, ProtocolBug

FORMAT = 1
MAX_DEPTH = 30
_HINT = "a trace is JSON lines as written by `vez sim --trace`"
MAX_BYTES = 256 * 1024 * 1024
"""A trace is read whole; a larger file is refused rather than swapped."""


@dataclass_transform(frozen_default=True)
class Event(msgspec.Struct, frozen=True, tag_field="event", tag=str.lower, omit_defaults=True):
    """One thing that happened at one process. `at` is in microseconds since the start."""

    at: int
    process: int


class Wanted(Event):
    """The application asked to get in."""


class Asked(Event):
    """The application asked for an election."""


class Sent(Event):
    """A message left. `number` is its own in this trace."""

    number: int
    to: int
    kind: str
    fields: dict[str, Any] = {}


class Delivered(Event):
    """A message arrived at `process` and was handled."""

    number: int


class Lost(Event):
    """A message from `process` will not arrive."""

    number: int
    reason: Literal["loss", "partition", "crash"]


class Entered(Event):
    """The process is inside from now on."""

    token: int | None = None


class Wrote(Event):
    """The process wrote to the protected resource, which checks tokens."""

    token: int
    accepted: bool


class Left(Event):
    """The process is outside again."""


class Elected(Event):
    """The process takes `leader` for the leader from now on."""

    leader: int
    term: int = 0


class Crashed(Event):
    """The process stopped."""


class Recovered(Event):
    """The process runs again, with its durable fields or with nothing."""

    memory: bool = True


class Paused(Event):
    """The process stands still; it is not dead."""


class Resumed(Event):
    """The process goes on, and handles what has piled up."""


class Suspected(Event):
    """The failure detector told the process that `peer` has crashed."""

    peer: int


class Trusted(Event):
    """The failure detector took its suspicion of `peer` back."""

    peer: int


class Fired(Event):
    """A timer ran out."""

    name: str


class Cut(Event):
    """A channel from `process` to `to` carries nothing from now on."""

    to: int


class Healed(Event):
    """A channel from `process` to `to` carries messages again."""

    to: int


class Status(Event):
    """The process's own words on its state, when they change."""

    text: str


class Viewed(Event):
    """What the process lets pictures of the network show, when that changes. No judge looks at it."""

    view: View


class Noted(Event):
    """A remark of the algorithm."""

    text: str


AnyEvent = (
    Wanted | Asked | Sent | Delivered | Lost | Entered | Wrote | Left | Elected | Crashed | Recovered | Paused
    | Resumed | Suspected | Trusted | Fired | Cut | Healed | Status | Viewed | Noted
)  # fmt: skip

_OTHERS: dict[type[Event], str] = {
    Sent: "to", Cut: "to", Healed: "to", Suspected: "peer", Trusted: "peer", Elected: "leader",
}  # fmt: skip
"""Where an event names a second process."""

Role = Literal["mutex", "election", "other"]
End = Literal["quiet", "finished", "time", "events"]
"""Why a run ended: nothing left to happen; the work was done; a limit of time or of events was met."""


class Header(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one must know to read the events."""

    vez_trace: int
    algorithm: str
    role: Role
    ids: tuple[int, ...]
    topology: str
    edges: tuple[tuple[int, int], ...] = ()
    seed: int = 0
    end: End = "quiet"
    ended_at: int = 0
    message_us: int = 1000
    """One message time, the mean delay of a message: the unit of the delays of the papers."""
    guarantees: tuple[str, ...] = ()
    assumes: tuple[str, ...] = ()
    best_wins: bool = False
    bypass_bound: int | None = None
    stay_bound_us: int | None = None
    """How long a stay may last, where the algorithm assumes a bound (a lease)."""
    delay_bound_us: int | None = None
    """How long a message may take, where the algorithm's timers rest on it."""
    drifting: tuple[int, ...] = ()
    """Processes whose clocks are off."""
    patience_us: int = 0
    """How old a request must be, at the end of a run that a limit cut short, to count as starving."""
    loop_us: tuple[int, int] | None = None
    """The stretch that this run repeats, and would repeat for ever; pictures draw it once and mark it."""


class Trace(msgspec.Struct, frozen=True):
    """A header and the events, in the order in which they happened."""

    header: Header
    events: tuple[AnyEvent, ...]

    def __iter__(self) -> Iterator[AnyEvent]:
        return iter(self.events)

    def messages(self) -> dict[int, Sent]:
        """Every message by its number."""
        return {event.number: event for event in self.events if isinstance(event, Sent)}

    def to_bytes(self) -> bytes:
        """JSON lines; the same run gives the same bytes."""
        try:
            return b"\n".join((_encoder.encode(self.header), *map(_encoder.encode, self.events), b""))
        except (OverflowError, UnicodeEncodeError, RecursionError) as error:
            raise ProtocolBug(
                f"{self.header.algorithm}: a message or a remark cannot be written down: {error}",
                hint="numbers have up to 64 bits, text is Unicode, and values are not nested deeply",
            ) from error


_encoder = msgspec.json.Encoder(order="deterministic")
_header = msgspec.json.Decoder(Header)
_event = msgspec.json.Decoder(AnyEvent)


def label(sent: Sent) -> str:
    """A message as people write it: Request(41)."""
    values = ", ".join(_plain(value) for value in sent.fields.values())
    return f"{sent.kind}({values})" if values else sent.kind


def _plain(value: object) -> str:
    return "[" + ",".join(map(_plain, value)) + "]" if isinstance(value, list | tuple) else str(value)


def load(path: Path) -> Trace:
    """Read a trace from a file, and refuse one that makes no sense."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise BadData(f"{path} is larger than {MAX_BYTES >> 20} MiB", hint="record a shorter run")
        raw = path.read_bytes()
    except OSError as error:
        raise MissingFile(f"cannot read {path}: {error.strerror}") from error
    return decode(raw, str(path))


def decode(raw: bytes, where: str) -> Trace:
    """A trace from its bytes. Every line is untrusted."""
    lines = raw.split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    if not lines:
        raise BadData(f"{where} is empty, expected a trace", hint="write one with `vez sim ... --trace FILE`")
    number = 1
    try:
        header = _header.decode(lines[0])
        if header.vez_trace != FORMAT:
            raise BadData(f"{where} is a trace of format {header.vez_trace}; this vez reads format {FORMAT}")
        events: list[AnyEvent] = []
        for line in lines[1:]:
            number += 1
            events.append(_event.decode(line))
            _check_depth(events[-1])
    except msgspec.MsgspecError as error:
        raise BadData(f"{where}, line {number}: {error}", hint=_HINT) from error
    except RecursionError:
        raise BadData(f"{where}, line {number}: nested too deeply", hint=_HINT) from None
    trace = Trace(header, tuple(events))
    _check(trace, where)
    return trace


def _check_depth(event: AnyEvent) -> None:
    """Labels, pictures and JSON walk through a message's fields; those that no walk comes out of are refused."""
    if not isinstance(event, Sent):
        return
    level: list[Any] = list(event.fields.values())
    for _ in range(MAX_DEPTH):
        level = [
            part
            for value in level
            if isinstance(value, list | dict)
            for part in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return
    raise RecursionError


def _check(trace: Trace, where: str) -> None:
    """Events speak of known processes and messages, and time does not run backwards."""
    known, sent, at = set(trace.header.ids), set[int](), 0
    if not known:
        raise BadData(f"{where}, line 1: a run has at least one process", hint=_HINT)
    if trace.header.loop_us is not None and not 0 <= trace.header.loop_us[0] < trace.header.loop_us[1]:
        raise BadData(f"{where}, line 1: a loop has a start and a later end", hint=_HINT)
    for line, event in enumerate(trace.events, 2):
        if event.process not in known:
            raise BadData(f"{where}, line {line}: there is no process {event.process}")
        if event.at < at:
            raise BadData(f"{where}, line {line}: time runs backwards from {at} to {event.at}")
        at = event.at
        other = getattr(event, _OTHERS.get(type(event), ""), event.process)
        if other not in known:
            raise BadData(f"{where}, line {line}: there is no process {other}")
        if isinstance(event, Sent):
            sent.add(event.number)
        elif isinstance(event, Delivered | Lost) and event.number not in sent:
            raise BadData(f"{where}, line {line}: message {event.number} was never sent")
