"""Trace: what happened, in order, in one form for all worlds.

The simulator, the checker's counterexamples, nodes on sockets and torture runs all write this; the same
properties judge it and the same pictures draw it. Times are integer microseconds, so that a trace is the
same byte for byte on any machine. On disk it is JSON lines: a header, then one event a line (`vez.core.trace_file`
reads it; docs/reference/traces.md lists the events).

Judges and pictures need what happened between the processes. A recorded run of real nodes is also validated against
the algorithm, which needs what happened inside of them: how each started, its timers, its choices and what it stored.
Those events are `INTERNAL`; pictures leave them out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, dataclass_transform

import msgspec

from vez.core.message import STAGE
from vez.core.view import View
from vez.errors import ProtocolBug

FORMAT = 2

MessageId = tuple[int, int]
"""Sender and number: every sender numbers its messages from 1. A network has no counter that all share."""


@dataclass_transform(frozen_default=True)
class Event(msgspec.Struct, frozen=True, tag_field="event", tag=str.lower, omit_defaults=True):
    """One thing that happened at one process. `at` is in microseconds since the start."""

    at: int
    process: int


class Started(Event):
    """The process exists from now on, with these parameters and these values in its other fields."""

    parameters: dict[str, Any] = {}
    fields: dict[str, Any] = {}


class Wanted(Event):
    """The application asked to get in."""


class Withdrew(Event):
    """The application no longer waits. Unless `retracted`, the request stays, and the process leaves when let in."""

    retracted: bool = False


class Asked(Event):
    """The application asked for an election."""


class Sent(Event):
    """A message left. `number` counts the messages of this sender."""

    number: int
    to: int
    kind: str
    fields: dict[str, Any] = {}

    @property
    def message(self) -> MessageId:
        """What identifies the message."""
        return self.process, self.number


class Delivered(Event):
    """A message from `sender` arrived at `process` and was handled."""

    sender: int
    number: int

    @property
    def message(self) -> MessageId:
        """What identifies the message."""
        return self.sender, self.number


class Lost(Event):
    """A message from `process` will not arrive."""

    number: int
    reason: Literal["loss", "partition", "crash"]

    @property
    def message(self) -> MessageId:
        """What identifies the message."""
        return self.process, self.number


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
    """The process takes `leader` for the leader from now on; None: it knows no leader."""

    leader: int | None
    term: int = 0


class Crashed(Event):
    """The process stopped."""


class Recovered(Event):
    """The process runs again, with its durable fields or with nothing."""

    memory: bool = True
    fields: dict[str, Any] = {}
    """The durable fields that it found, where a crash may have stopped the process before or after it stored them."""
    anew: bool = False
    """It was started as if for the first time: `on_start` ran, not `on_recover`. Only real processes can do that."""


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


class TimerSet(Event):
    """A timer was set, or set anew. `after_us` is what the handler asked for; the process's clock may be off."""

    name: str
    after_us: int


class TimerCancelled(Event):
    """A timer was cancelled; it may not have been running."""

    name: str


class Fired(Event):
    """A timer ran out."""

    name: str


class Chose(Event):
    """A handler chose among so many options."""

    options: int
    index: int


class Stored(Event):
    """Durable fields changed. Stands before the messages of the same handler: they leave after it."""

    fields: dict[str, Any]


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
    Started | Wanted | Withdrew | Asked | Sent | Delivered | Lost | Entered | Wrote | Left | Elected | Crashed
    | Recovered | Paused | Resumed | Suspected | Trusted | TimerSet | TimerCancelled | Fired | Chose | Stored | Cut
    | Healed | Status | Viewed | Noted
)  # fmt: skip

INTERNAL = (Started, TimerSet, TimerCancelled, Chose, Stored)
"""Events that only a validation of the run needs."""

Role = Literal["mutex", "election", "other"]
End = Literal["quiet", "finished", "time", "events", "interrupted", "raised"]
"""Why a run ended: nothing left to happen; the work was done; a limit of time or of events was met; Ctrl-C; a handler
raised an exception, which the last event notes."""


class Promises(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the world of a run promised. A validation takes what breaks a promise for a mistake in the trace.

    A world that promises nothing may do anything that the events say; what the algorithm assumes is another matter.
    """

    fifo: bool = False
    """Messages from one process to another arrive in the order of sending."""
    lossless: bool = False
    """Only a crash or a cut channel loses messages."""
    once: bool = False
    """No message arrives twice."""
    timers: Literal["exact", "late", "any"] = "any"
    """A timer runs out when it is due or at the end of a pause; when it is due or later; at any time."""
    time_scale: float = 1.0
    """How many microseconds of the trace a timer of one microsecond takes."""
    instant: bool = False
    """A handler takes no time: all its events have one time."""
    whole_steps: bool = False
    """A crash never stops a process in the middle of a handler."""
    whole_ends: bool = False
    """The end of the run stopped no process in the middle of a handler: each has finished it or crashed."""
    sharp_faults: bool = False
    """Crashes and cuts work at once: what meets them is recorded as lost right then, and nothing comes through late."""


Unseen = Literal["started", "timers", "choices", "stored"]
"""Kinds of events that a world may leave out: `Started`; `TimerSet` and `TimerCancelled`; `Chose`; `Stored`."""


class Header(msgspec.Struct, frozen=True, omit_defaults=True):
    """Facts about the run that judges and pictures need beside the events."""

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
    candidates: tuple[int, ...] = ()
    """Who may lead, the best last; empty: everybody, by identifier."""
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
    promises: Promises = Promises()
    hosts: tuple[int, ...] = ()
    """On which host each of `ids` ran, if there were several: their clocks cannot be compared, so the order of events
    of different hosts is known only where one happened before the other. Empty: one clock."""
    unseen: tuple[Unseen, ...] = ()
    """What was not recorded, although it may have happened."""
    names: tuple[str, ...] = ()
    """What pictures call each of `ids`; empty: by its identifier."""
    title: str = ""
    """The title of the scenario."""
    events: int | None = None
    """How many events the file has, so that a truncated file is noticed; None in memory."""


class Trace(msgspec.Struct, frozen=True):
    """A header and the events, in the order in which they happened."""

    header: Header
    events: tuple[AnyEvent, ...]

    def __iter__(self) -> Iterator[AnyEvent]:
        return iter(self.events)

    def messages(self) -> dict[MessageId, Sent]:
        """Every message by its sender and number."""
        return {event.message: event for event in self.events if isinstance(event, Sent)}

    def to_bytes(self) -> bytes:
        """JSON lines; the same run gives the same bytes."""
        try:
            header = msgspec.structs.replace(self.header, events=len(self.events))
            return b"\n".join((_encoder.encode(header), *map(_encoder.encode, self.events), b""))
        except (OverflowError, UnicodeEncodeError, RecursionError) as error:
            raise ProtocolBug(
                f"{self.header.algorithm}: a message or a remark cannot be written down: {error}",
                hint="numbers have up to 64 bits, text is Unicode, and values are not nested deeply",
            ) from error


_encoder = msgspec.json.Encoder(order="deterministic")


def label(sent: Sent) -> str:
    """A message as people write it: Request(41)."""
    return spoken(sent.kind, sent.fields)


def spoken(kind: str, fields: Mapping[str, Any]) -> str:
    """A kind of message with its values. A `stage`, those whom an election leaves out, comes last."""
    values = ", ".join(filter(None, (_field(name, value) for name, value in fields.items() if name != STAGE)))
    if fields.get(STAGE):
        values += f"{' ' if values else ''}without {_plain(fields[STAGE])[1:-1]}"
    return f"{kind}({values})" if values else kind


def _field(name: str, value: object) -> str:
    """A value; for True the name of the field, for False nothing. An answer (`yes`) is shown either way."""
    if isinstance(value, bool) and name != "yes":
        return name.replace("_", " ") if value else ""
    return _plain(value)


def _plain(value: object) -> str:
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_plain, value)) + "]"
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
