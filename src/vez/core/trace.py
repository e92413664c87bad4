"""Trace: the events of a run, in order, in the same format for all worlds.

The simulator, the checker's counterexamples, nodes on sockets and torture runs all write traces; the same
properties judge them and the same pictures draw them. Times are integer microseconds, so that a trace is the
same byte for byte on any machine. On disk a trace is JSON lines: a header, then one event per line
(`vez.core.trace_file` reads it; docs/reference/traces.md lists the events).

Judges and pictures need the events between the processes. A recorded run of real nodes is also validated against
the algorithm. This needs the events inside the processes: how each started, its timers, its choices and what it stored.
Those events are `INTERNAL`; pictures leave them out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, dataclass_transform

import msgspec

from vez.core.drawn_view import View
from vez.core.message import STAGE
from vez.errors import ProtocolBug

FORMAT = 2

MessageId = tuple[int, int]
"""Sender and number. Every sender numbers its messages from 1, because a network has no shared counter."""


@dataclass_transform(frozen_default=True)
class Event(msgspec.Struct, frozen=True, tag_field="event", tag=str.lower, omit_defaults=True):
    """One event at one process. `at` is in microseconds since the start."""

    at: int
    process: int


class Started(Event):
    """The process started, with these parameters and these values in its other fields."""

    parameters: dict[str, Any] = {}
    fields: dict[str, Any] = {}


class Wanted(Event):
    """The application asked to get in."""


class Withdrew(Event):
    """The application no longer waits. Unless `retracted`, the request remains, and the process leaves when granted."""

    retracted: bool = False


class Asked(Event):
    """The application asked for an election."""


class Sent(Event):
    """A message was sent. `number` counts the messages of this sender."""

    number: int
    to: int
    kind: str
    fields: dict[str, Any] = {}

    @property
    def message(self) -> MessageId:
        """The sender and the number of the message, which identify it."""
        return self.process, self.number


class Delivered(Event):
    """A message from `sender` arrived at `process` and was handled."""

    sender: int
    number: int

    @property
    def message(self) -> MessageId:
        """The sender and the number of the message, which identify it."""
        return self.sender, self.number


class Lost(Event):
    """A message from `process` will not arrive."""

    number: int
    reason: Literal["loss", "partition", "crash"]

    @property
    def message(self) -> MessageId:
        """The sender and the number of the message, which identify it."""
        return self.process, self.number


class Entered(Event):
    """The process entered the critical section."""

    token: int | None = None


class Wrote(Event):
    """The process wrote to the protected resource. The resource checks tokens."""

    token: int
    accepted: bool


class Left(Event):
    """The process left the critical section."""


class Elected(Event):
    """The process now regards `leader` as the leader; None if it knows no leader."""

    leader: int | None
    term: int = 0


class Crashed(Event):
    """The process stopped."""


class Recovered(Event):
    """The process runs again, with its durable fields or, if they were lost, without them."""

    memory: bool = True
    fields: dict[str, Any] = {}
    """The durable fields that it found, if a crash may have stopped the process before or after it stored them."""
    anew: bool = False
    """True if it started as if for the first time: `on_start` ran, not `on_recover`. Only nodes can do that."""


class Paused(Event):
    """The process is paused: it handles nothing, but has not crashed."""


class Resumed(Event):
    """The pause ended. The process handles the events that arrived meanwhile."""


class Suspected(Event):
    """The failure detector told the process that `peer` has crashed."""

    peer: int


class Trusted(Event):
    """The failure detector told the process that it no longer suspects `peer`."""

    peer: int


class TimerSet(Event):
    """A timer was set or replaced. `after_us` is the requested duration; the process's clock may be wrong."""

    name: str
    after_us: int


class TimerCancelled(Event):
    """A timer was cancelled; it may not have been running."""

    name: str


class Fired(Event):
    """A timer ran out."""

    name: str


class Chose(Event):
    """A handler chose among `options` options."""

    options: int
    index: int


class Stored(Event):
    """Durable fields changed. This event precedes the messages of the same handler, which leave after the write."""

    fields: dict[str, Any]


class Cut(Event):
    """The channel from `process` to `to` was cut: it carries no messages."""

    to: int


class Healed(Event):
    """The channel from `process` to `to` carries messages again."""

    to: int


class Status(Event):
    """The process's description of its state changed."""

    text: str
    ids: tuple[tuple[int, int], ...] = ()
    """Start and end of each identifier of a process in the text."""


class Viewed(Event):
    """The process's `View`, for pictures of the network, changed. No judge reads it."""

    view: View


class Noted(Event):
    """The algorithm wrote a remark."""

    text: str
    ids: tuple[tuple[int, int], ...] = ()
    """Start and end of each identifier of a process in the text."""


AnyEvent = (
    Started | Wanted | Withdrew | Asked | Sent | Delivered | Lost | Entered | Wrote | Left | Elected | Crashed
    | Recovered | Paused | Resumed | Suspected | Trusted | TimerSet | TimerCancelled | Fired | Chose | Stored | Cut
    | Healed | Status | Viewed | Noted
)  # fmt: skip

INTERNAL = (Started, TimerSet, TimerCancelled, Chose, Stored)
"""Events that only the validation of a run needs."""

Role = Literal["mutex", "election", "other"]
End = Literal["quiet", "finished", "time", "events", "interrupted", "raised"]
"""The reason why a run ended, in this order: no event was left; the work was done; a limit of time or of events was
reached; Ctrl-C; a handler raised an exception, which the last event notes."""


class Promises(msgspec.Struct, frozen=True, omit_defaults=True):
    """The promises of the world of a run. The validation reports a broken promise as a mistake in the trace.

    A world without promises may do anything that the events record. The assumptions of the algorithm are separate.
    """

    fifo: bool = False
    """Messages from one process to another arrive in the order of sending."""
    lossless: bool = False
    """Only a crash or a cut channel loses messages."""
    once: bool = False
    """No message arrives twice."""
    timers: Literal["exact", "late", "any"] = "any"
    """The time at which a timer runs out. "exact": when it is due or at the end of a pause. "late": when it is due or
    later. "any": at any time."""
    time_scale: float = 1.0
    """The number of microseconds in the trace that a timer of one microsecond takes."""
    instant: bool = False
    """A handler takes no time: all its events have one time."""
    whole_steps: bool = False
    """A crash never stops a process in the middle of a handler."""
    whole_ends: bool = False
    """The end of the run stopped no process in the middle of a handler: each process finished it or crashed."""
    sharp_faults: bool = False
    """Crashes and cuts take effect at once: a message that meets one is recorded as lost at that time, and none arrives
    later."""


Unseen = Literal["started", "timers", "choices", "stored", "names"]
"""What a world may leave out: `Started`; `TimerSet` and `TimerCancelled`; `Chose`; `Stored`; what only pictures need of
a text or a view: the places of identifiers, and for whom a process waits."""


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
    """The mean delay of a message: the unit in which papers give delays."""
    guarantees: tuple[str, ...] = ()
    assumes: tuple[str, ...] = ()
    best_wins: bool = False
    candidates: tuple[int, ...] = ()
    """The processes that may lead, the best last; empty for all processes, by identifier."""
    bypass_bound: int | None = None
    stay_bound_us: int | None = None
    """The longest allowed stay, if the algorithm assumes a bound (a lease)."""
    delay_bound_us: int | None = None
    """The largest allowed message delay, if the algorithm's timers depend on it."""
    drifting: tuple[int, ...] = ()
    """The processes whose clocks are wrong."""
    patience_us: int = 0
    """The age from which a waiting request counts as starving at the end of a run that reached a limit."""
    loop_us: tuple[int, int] | None = None
    """Start and end of the loop that this run would repeat for ever. Pictures draw it once and mark it."""
    promises: Promises = Promises()
    hosts: tuple[int, ...] = ()
    """The host on which each of `ids` ran, if there were several. Their clocks cannot be compared, so the order of
    events of different hosts is known only where one happened before the other. Empty if there was one clock."""
    unseen: tuple[Unseen, ...] = ()
    """The kinds of events that were not recorded, although they may have happened."""
    initial: dict[str, dict[str, Any]] = {}
    """The fields with which processes started, where they differ from those of their class; by identifier, as text."""
    cut: tuple[int, ...] = ()
    """The processes whose recording ends without a reason: they were killed, or their journal was cut."""
    names: tuple[str, ...] = ()
    """The names of `ids` in pictures; empty to show the identifiers."""
    identifiers: dict[str, tuple[str, ...]] = {}
    """By kind of message: the fields that hold identifiers of processes (`queue.*`: each item of `queue`)."""
    title: str = ""
    """The title of the scenario."""
    events: int | None = None
    """The number of events in the file, to detect a truncated file; None in memory."""


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
        """The trace as JSON lines. The same run gives the same bytes."""
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
    """A message in short notation: Request(41)."""
    return spoken(sent.kind, sent.fields)


def spoken(kind: str, fields: Mapping[str, Any], word: Callable[[str], str] = str) -> str:
    """A kind of message with its values. The `stage`, the processes that an election leaves out, comes last.

    `word` translates the English words: names of fields, "yes", "no" and "without".
    """
    values = ", ".join(filter(None, (_field(name, value, word) for name, value in fields.items() if name != STAGE)))
    if fields.get(STAGE):
        values += f"{' ' if values else ''}{word('without')} {_plain(fields[STAGE], word)[1:-1]}"
    return f"{kind}({values})" if values else kind


def _field(name: str, value: object, word: Callable[[str], str]) -> str:
    """A value as text: the field's name for True, an empty text for False. The field `yes` is shown in both cases."""
    if isinstance(value, bool) and name != "yes":
        return word(name.replace("_", " ")) if value else ""
    return _plain(value, word)


def _plain(value: object, word: Callable[[str], str]) -> str:
    if isinstance(value, list | tuple):
        return "[" + ",".join(_plain(part, word) for part in value) + "]"
    return word("yes" if value else "no") if isinstance(value, bool) else str(value)
