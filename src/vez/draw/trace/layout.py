"""Layout: the data of every picture format: messages as arrows, moments of faults, safe text, states of processes.

Intervals (stays, reigns, crashes) come from `History`, so that a picture and a judge cannot disagree.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from vez.core.assumptions import Property
from vez.core.trace import (
    INTERNAL,
    AnyEvent,
    Crashed,
    Cut,
    Delivered,
    Elected,
    Entered,
    Header,
    Healed,
    Left,
    Lost,
    MessageId,
    Paused,
    Recovered,
    Resumed,
    Sent,
    Status,
    Trace,
    Wanted,
    Withdrew,
    label,
)
from vez.judge.properties.history import History
from vez.judge.properties.verdict import Span, Verdict
from vez.judge.properties.verdict import Status as Word

Fate = Literal["delivered", "loss", "partition", "crash", "flying"]
MAX_TEXT = 200
"""Largest number of characters of a label or status; longer text does not help a reader."""


class Arrow(msgspec.Struct, frozen=True):
    """One message, or one copy of it, from its sending to its delivery or loss. Indices are positions in the trace."""

    number: int
    """Number of the message among those of its sender."""
    sender: int
    to: int
    label: str
    sent_at: int
    sent_index: int
    end_at: int
    end_index: int
    fate: Fate = "delivered"
    copy: bool = False
    """True if this is another delivery of a message that has been delivered already."""

    @property
    def message(self) -> MessageId:
        """Identity of the message: its sender and number."""
        return self.sender, self.number


class Violation(msgspec.Struct, frozen=True):
    """A broken property. Its text is drawn at the moment `start`, and the picture is red from then on."""

    name: str
    words: str
    start: int | None
    """None if there is no single moment, because something did not happen until the end."""
    end: int
    spans: tuple[Span, ...]


class Partition(msgspec.Struct, frozen=True):
    """Channels that were cut, or healed, at one moment."""

    at: int
    index: int
    last_index: int
    cut: bool
    words: str


class Picture:
    """A trace and its verdicts, read once for all formats."""

    def __init__(self, trace: Trace, verdicts: Sequence[Verdict] = ()) -> None:
        self.trace = trace = shown(once_round(trace))
        self.loop = trace.header.loop_us
        self.ids = trace.header.ids
        self.verdicts = tuple(verdicts)
        self.history = History(trace)
        self.end = self.history.end
        self.column = {process: place for place, process in enumerate(self.ids)}
        self.names = display_names(trace.header)
        self.broken = tuple(verdict for verdict in self.verdicts if verdict.status is Word.BROKEN)
        self.violations = tuple(_violation(verdict, self.end, self.names) for verdict in self.broken)
        self.arrows = _arrows(trace, self.end)
        self.arriving = {arrow.end_index: arrow for arrow in self.arrows if arrow.fate != "flying"}
        self.partitions = _partitions(trace)

    @property
    def spans(self) -> tuple[Span, ...]:
        """The parts of lifelines that are painted red."""
        return tuple(span for violation in self.violations for span in violation.spans)

    @property
    def title(self) -> str:
        """The run in one line."""
        header = self.trace.header
        ids = len(header.ids)
        return f"{clean(header.algorithm)} · {ids} process{'es' if ids != 1 else ''} · seed {header.seed}"


def once_round(trace: Trace) -> Trace:
    """The trace. If the run repeats a part for ever, only until the end of the first repetition."""
    loop = trace.header.loop_us
    if loop is None:
        return trace
    events = tuple(event for event in trace.events if event.at <= loop[1])
    return Trace(msgspec.structs.replace(trace.header, ended_at=loop[1]), events)


def shown(trace: Trace) -> Trace:
    """The trace without the events that no picture shows."""
    return Trace(trace.header, tuple(event for event in trace.events if not isinstance(event, INTERNAL)))


class Life(msgspec.Struct):
    """State of one process at a moment of the trace."""

    waiting: bool = False
    inside: bool = False
    down: bool = False
    paused: bool = False
    leader: int | None = None
    status: str = ""

    def follow(self, event: AnyEvent) -> None:
        """Update the state with an event of this process."""
        match event:
            case Wanted():
                self.waiting = True
            case Entered():
                self.waiting, self.inside = False, True
            case Withdrew():
                self.waiting = False
            case Left():
                self.inside = False
            case Elected(leader=leader):
                self.leader = leader
            case Crashed():
                self.waiting = self.inside = self.paused = False
                self.down, self.leader, self.status = True, None, ""
            case Recovered():
                self.down = False
            case Paused():
                self.paused = True
            case Resumed():
                self.paused = False
            case Status(text=text):
                self.status = text
            case _:
                pass


LIVENESS = frozenset(
    (
        Property.DEADLOCK_FREEDOM,
        Property.STARVATION_FREEDOM,
        Property.BOUNDED_WAITING,
        Property.TERMINATION,
        Property.AGREEMENT,
    )
)


def _violation(verdict: Verdict, end: int, names: Mapping[int, str]) -> Violation:
    evidence = verdict.said.told("en", names)
    words = f"{clean(verdict.name)} broken: {clean(evidence, 2 * MAX_TEXT)}"
    known = [span for span in verdict.spans if span.start <= end]
    if verdict.name in LIVENESS or not known:
        return Violation(verdict.name, words, None, end, tuple(known))
    start = max(span.start for span in known)  # earlier spans show who was inside before
    red = [Span(span.process, max(span.start, start), span.end) for span in known if span.end >= start]
    together = min(span.end for span in red)
    return Violation(verdict.name, words, start, together if together > start else red[-1].end, tuple(red))


def _arrows(trace: Trace, end: int) -> tuple[Arrow, ...]:
    sent: dict[MessageId, tuple[int, Sent]] = {}
    delivered: set[MessageId] = set()
    over: set[MessageId] = set()
    found: list[Arrow] = []

    def arrow(message: MessageId, at: int, index: int, fate: Fate) -> Arrow:
        start, event = sent[message]
        again = message in delivered
        return Arrow(
            event.number, event.process, event.to, clean(label(event)), event.at, start, at, index, fate, again
        )  # fmt: skip

    for index, event in enumerate(trace.events):
        match event:
            case Sent():
                sent[event.message] = (index, event)
            case Delivered() if event.message in sent:
                found.append(arrow(event.message, event.at, index, "delivered"))
                delivered.add(event.message)
                over.add(event.message)
            case Lost(reason=reason) if event.message in sent:
                found.append(arrow(event.message, event.at, index, reason))
                over.add(event.message)
            case _:
                pass
    last = len(trace.events)
    found += [arrow(message, end, last, "flying") for message in sent if message not in over]
    return tuple(found)


def _partitions(trace: Trace) -> tuple[Partition, ...]:
    """The partitions of a trace. Adjacent Cut (or Healed) events of one moment are one partition (or its end)."""
    found: list[Partition] = []
    cuts: set[tuple[int, int]] = set()
    group: list[tuple[int, Cut | Healed]] = []

    def close() -> None:
        if group:
            first, last = group[0], group[-1]
            cut = isinstance(first[1], Cut)
            channels = [(event.process, event.to) for _, event in group]
            words = partition_words(trace.header.ids, cuts, channels) if cut else _healed_words(cuts, channels)
            found.append(Partition(first[1].at, first[0], last[0], cut, words))
            group.clear()

    for index, event in enumerate(trace.events):
        if group and (type(event) is not type(group[-1][1]) or event.at != group[-1][1].at):
            close()
        if isinstance(event, Cut | Healed):
            group.append((index, event))
            (cuts.add if isinstance(event, Cut) else cuts.discard)((event.process, event.to))
    close()
    return tuple(found)


def partition_words(ids: Sequence[int], cuts: set[tuple[int, int]], new: Iterable[tuple[int, int]]) -> str:
    """The partition as text: `1 2 | 3 4 5` if the cuts separate whole groups, otherwise the single channels."""
    groups: dict[int, list[int]] = {}
    reach: dict[int, set[int]] = defaultdict(set)
    if len(ids) <= 64 and all((to, sender) in cuts for sender, to in cuts):
        for process in ids:
            reach[process] = {other for other in ids if other == process or (process, other) not in cuts}
            groups.setdefault(min(reach[process]), []).append(process)
        if len(groups) > 1 and all(reach[process] == set(group) for group in groups.values() for process in group):
            return "partition " + " | ".join(" ".join(map(str, group)) for group in groups.values())
    return "cut " + _channels(new)


def _healed_words(cuts: set[tuple[int, int]], channels: Sequence[tuple[int, int]]) -> str:
    return "healed " + _channels(channels) if cuts else "partition healed"


def _channels(channels: Iterable[tuple[int, int]]) -> str:
    names = [f"{sender}→{to}" for sender, to in channels]
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def clean(text: str, limit: int = MAX_TEXT) -> str:
    """Text from a trace, made safe to show: one line, without control, direction or unpaired characters."""
    return shorten("".join(map(_shown, text[: 4 * limit])), limit)


def _shown(char: str) -> str:
    kind = unicodedata.category(char)
    if kind in ("Zl", "Zp") or char in "\n\r\t":
        return " "
    return "\N{REPLACEMENT CHARACTER}" if kind.startswith("C") else char


def shorten(text: str, limit: int) -> str:
    """The text, or its beginning and an ellipsis."""
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + "…"


def display_names(header: Header) -> dict[int, str]:
    """The display names of processes: `Coord1`, or `Part1 (4)` if the name does not end in the identifier."""
    names = header.names if len(header.names) == len(header.ids) else ("",) * len(header.ids)
    found = {}
    for process, name in zip(header.ids, map(clean, names), strict=True):
        found[process] = name if name.endswith(str(process)) else f"{name} ({process})" if name else str(process)
    return found
