"""A trace as a Mermaid sequence diagram, in the style of course notes: states are notes over the lifelines.

Messages are drawn when they arrive. Text from the trace is escaped, every block that is opened is closed,
and the result stays below the size that Mermaid accepts by default.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from vez.core.trace import (
    AnyEvent,
    Crashed,
    Delivered,
    Elected,
    Entered,
    Fired,
    Left,
    Lost,
    Noted,
    Paused,
    Recovered,
    Resumed,
    Sent,
    Trace,
    Wrote,
)
from vez.draw.trace import event_labels
from vez.draw.trace.layout import Arrow, Picture, Violation, clean
from vez.judge.properties.verdict import Verdict
from vez.judge.words import Language

MAX_CHARACTERS = 45_000
"""Largest number of characters of a diagram. Mermaid refuses more than 50,000 unless it is configured otherwise."""
RED = "rgb(235, 120, 120)"
WRAP = (22, 32, 44)
"""Characters in a line of a note over one lifeline, two neighbours, and more."""


def mermaid(trace: Trace, verdicts: Sequence[Verdict] = (), *, language: Language = "en") -> str:
    """The trace as the text of a Mermaid `sequenceDiagram`."""
    return _Diagram(Picture(trace, verdicts, language)).draw()


class _Diagram:
    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.lines: list[str] = []
        self.size = 0
        self.inside: set[int] = set()
        self.red: list[Violation] = []  # the violations whose block is open
        self.looping = False  # True if the block of the endless loop is open

    def draw(self) -> str:
        picture = self.picture
        self.say("sequenceDiagram")
        for process in picture.ids:
            self.say(f"participant {self.name(process)} as {escape(picture.names[process])}", 1)
        shown = self._events()
        if shown < len(picture.trace.events):
            left_out = len(picture.trace.events) - shown
            self.note(picture.ids, picture.told("drawn_fewer_in_mermaid", count=left_out))
        else:
            for arrow in picture.arrows:
                if arrow.fate == "flying":
                    self._arrow(arrow)
        for process in sorted(self.inside):
            self.say(f"deactivate {self.name(process)}", 1)
        self._close()
        if self.looping:
            self.say("end", 1)
        for violation in picture.violations:
            if violation.start is None:
                self._open(violation)
                self._close()
        return "".join(line + "\n" for line in self.lines)

    def _events(self) -> int:
        """Draw the events; returns the number for which there was room."""
        partitions = {partition.index: partition for partition in self.picture.partitions}
        pending = sorted(
            (one for one in self.picture.violations if one.start is not None), key=lambda one: one.start or 0
        )
        for index, event in enumerate(self.picture.trace.events):
            if self.size > MAX_CHARACTERS:
                return index
            if self.picture.loop and not self.looping and event.at > self.picture.loop[0]:
                self._close()
                self.looping = True
                self.say(f"loop {self.picture.told('drawn_loop')}", 1)
            if self.red and event.at > max(one.end for one in self.red):
                self._close()
            while pending and event.at >= (pending[0].start or 0):
                self._open(pending.pop(0))
            if index in partitions:
                self.note(self.picture.ids, f"✂️ {partitions[index].words}")
            elif isinstance(event, Delivered | Lost):
                self._arrow(self.picture.arriving[index])
            elif not isinstance(event, Sent):
                self._local(event)
        for violation in pending:
            self._open(violation)
        return len(self.picture.trace.events)

    def _open(self, violation: Violation) -> None:
        """Open a red block, or add a note to the open one."""
        if not self.red:
            self.say(f"rect {RED}", 1)
        self.red.append(violation)
        processes = sorted({span.process for span in violation.spans}, key=self.picture.column.__getitem__)
        self.note(processes or self.picture.ids, f"❌ {violation.words}")

    def _close(self) -> None:
        if self.red:
            self.red.clear()
            self.say("end", 1)

    def _arrow(self, arrow: Arrow) -> None:
        kind = {"delivered": "-->>" if arrow.copy else "->>", "flying": "--)"}.get(arrow.fate, "--x")
        label = escape(event_labels.full_label(arrow, self.picture))
        self.say(f"{self.name(arrow.sender)}{kind}{self.name(arrow.to)}: {label}", 2)

    def _local(self, event: AnyEvent) -> None:
        name = self.name(event.process)
        match event:
            case Fired(name=timer):
                self.say(f"{name}->>{name}: ⏰ {escape(clean(timer))}", 2)
            case Entered(token=token):
                if event.process not in self.inside:
                    self.say(f"activate {name}", 2)
                    self.inside.add(event.process)
                if token is not None:
                    self.note([event.process], event_labels.local(event, self.picture))
            case Left() | Crashed():
                if event.process in self.inside:
                    self.say(f"deactivate {name}", 2)
                    self.inside.discard(event.process)
                if isinstance(event, Crashed):
                    self.note([event.process], f"💀 {event_labels.local(event, self.picture)}")
            case _:
                said = event_labels.local(event, self.picture)
                if said:
                    self.note([event.process], _sign(event) + said)

    def name(self, process: int) -> str:
        """An identifier that Mermaid accepts; identifiers of processes may be negative."""
        return f"p{process}" if process >= 0 else f"m{-process}"

    def note(self, processes: Sequence[int], text: str) -> None:
        """A note over one lifeline, or over all from the first to the last."""
        over = self.name(processes[0])
        if len(processes) > 1:
            over += f",{self.name(processes[-1])}"
        reach = self.picture.column[processes[-1]] - self.picture.column[processes[0]]
        lines = textwrap.wrap(text, WRAP[min(reach, 2)]) or [""]
        self.say(f"note over {over}: {'<br/>'.join(map(escape, lines))}", 1)

    def say(self, line: str, depth: int = 0) -> None:
        self.lines.append("    " * depth + line)
        self.size += len(self.lines[-1]) + 1


def _sign(event: AnyEvent) -> str:
    match event:
        case Elected(process=process, leader=leader):
            return "👑 " if process == leader else ""
        case Recovered():
            return "🌱 "
        case Paused():
            return "⏸️ "
        case Resumed():
            return "▶️ "
        case Wrote():
            return "⛔ "
        case Noted():
            return "📝 "
        case _:
            return ""


def escape(text: str) -> str:
    """Text that Mermaid shows unchanged: the special characters of Mermaid and HTML become entities."""
    shown = re.sub(r"[#;%<>&\"'`${}\\]", lambda sign: f"#{ord(sign[0])};", clean(text))
    return re.sub(r"^(\s*(?:no)?wrap):", r"\1#58;", shown)  # otherwise Mermaid reads it as an instruction
