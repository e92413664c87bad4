"""Layout: the data of every picture format: messages as arrows, moments of faults, safe text, states of processes.

Intervals (stays, reigns, crashes) come from `History`, so that a picture and a judge cannot disagree.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from vez.core.assumptions import Property
from vez.core.trace import (
    INTERNAL,
    AnyEvent,
    Crashed,
    Delivered,
    Elected,
    Entered,
    Header,
    Left,
    Lost,
    MessageId,
    Noted,
    Paused,
    Recovered,
    Resumed,
    Sent,
    Status,
    Trace,
    Wanted,
    Withdrew,
)
from vez.draw.trace.cycle import cycle_of
from vez.draw.trace.partitions import partitions_of
from vez.judge.properties.history import History
from vez.judge.properties.verdict import Span, Verdict
from vez.judge.properties.verdict import Status as Word
from vez.judge.words import Language, Sentence, property_name, said
from vez.judge.words.remarks import message_words, remark_words
from vez.judge.words.sentence import Teller

Fate = Literal["delivered", "loss", "partition", "crash", "flying"]
MAX_TEXT = 200
"""Largest number of characters of a label or status; longer text does not help a reader."""


class Arrow(msgspec.Struct, frozen=True):
    """One message, or one copy of it, from its sending to its delivery or loss. Indices are positions in the trace."""

    number: int
    """Number of the message among those of its sender."""
    sender: int
    to: int
    kind: str
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


class Picture:
    """A trace and its verdicts, read once for all formats, with its words in one language."""

    def __init__(self, trace: Trace, verdicts: Sequence[Verdict] = (), language: Language = "en") -> None:
        self.language: Language = language
        self.trace = trace = shown(once_round(trace))
        self.loop = trace.header.loop_us
        self.ids = trace.header.ids
        self.verdicts = tuple(verdicts)
        self.history = History(trace)
        self.end = self.history.end
        self.column = {process: place for place, process in enumerate(self.ids)}
        self.names = display_names(trace.header)
        """The names above the lifelines."""
        self.called = called(trace.header)
        """The names in texts; empty if the scenario gives none."""
        self._teller = Teller(language, self.called)
        self.broken = tuple(verdict for verdict in self.verdicts if verdict.status is Word.BROKEN)
        stuck = any(verdict.name == Property.DEADLOCK_FREEDOM for verdict in self.broken)
        self.cycle = cycle_of(trace) if stuck else ()
        """Who waits for whom, each for the next, if the run got stuck."""
        self.violations = tuple(self._violation(verdict) for verdict in self.broken)
        self.arrows = _arrows(self)
        self.arriving = {arrow.end_index: arrow for arrow in self.arrows if arrow.fate != "flying"}
        self.partitions = partitions_of(trace, self._teller)

    @property
    def spans(self) -> tuple[Span, ...]:
        """The parts of lifelines that are painted red."""
        return tuple(span for violation in self.violations for span in violation.spans)

    @property
    def title(self) -> str:
        """The run in one line."""
        header = self.trace.header
        return self.told("drawn_title", algorithm=clean(header.algorithm), count=len(header.ids), seed=header.seed)

    def told(self, key: str, **values: Any) -> str:
        """A sentence, by its key, in the language and with the names of this picture."""
        return self.tell(said(key, **values))

    def tell(self, sentence: Sentence) -> str:
        """A sentence in the language and with the names of this picture."""
        return self._teller.tell(sentence)

    def remark(self, event: Status | Noted) -> str:
        """A status or a remark of an algorithm."""
        return clean(remark_words(event, self.language, self.called))

    def label(self, sent: Sent) -> str:
        """A message in short notation: Request(41)."""
        return clean(message_words(sent, self.trace.header.identifiers, self.language, self.called))

    def evidence(self, verdict: Verdict) -> str:
        """The evidence of a verdict, and for a deadlock the cycle of those who wait."""
        words = clean(self.tell(verdict.said), 2 * MAX_TEXT)
        if verdict.name != Property.DEADLOCK_FREEDOM or not self.cycle:
            return words
        cycle = " → ".join(self._teller.named(process) for process in (*self.cycle, self.cycle[0]))
        return self.told("drawn_cycle", evidence=words, cycle=cycle)

    def _violation(self, verdict: Verdict) -> Violation:
        name = verdict.name if self.language == "en" else property_name(verdict.name, self.language)
        words = self.told("drawn_broken", name=clean(name), evidence=self.evidence(verdict))
        known = [span for span in verdict.spans if span.start <= self.end]
        if verdict.name in LIVENESS or not known:
            return Violation(verdict.name, words, None, self.end, tuple(known))
        start = max(span.start for span in known)  # earlier spans show who was inside before
        red = [Span(span.process, max(span.start, start), span.end) for span in known if span.end >= start]
        together = min(span.end for span in red)
        return Violation(verdict.name, words, start, together if together > start else red[-1].end, tuple(red))


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


def _arrows(picture: Picture) -> tuple[Arrow, ...]:
    trace, end = picture.trace, picture.end
    sent: dict[MessageId, tuple[int, Sent]] = {}
    delivered: set[MessageId] = set()
    over: set[MessageId] = set()
    found: list[Arrow] = []

    def arrow(message: MessageId, at: int, index: int, fate: Fate) -> Arrow:
        start, event = sent[message]
        again = message in delivered
        words = picture.label(event)
        return Arrow(event.number, event.process, event.to, event.kind, words, event.at, start, at, index, fate, again)

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


def called(header: Header) -> dict[int, str]:
    """The names of processes inside texts: those of the scenario, if they tell the processes apart."""
    names = [clean(name) for name in header.names]
    if not any(names) or len(names) != len(header.ids):
        return {}
    shown = display_names(header)
    numbers = set(map(str, header.ids))
    return {
        process: name if name and names.count(name) == 1 and name not in numbers - {str(process)} else shown[process]
        for process, name in zip(header.ids, names, strict=True)
    }
