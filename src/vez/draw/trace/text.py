"""A trace for the terminal: lifelines as columns, or a plain list if they do not fit.

Time runs downwards. A message is drawn when it arrives, from its sender's column to its receiver's. Events of one
process at one moment share a line.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from vez.core.trace import AnyEvent, Crashed, Cut, Delivered, Healed, Lost, Recovered, Sent, Trace, Wrote
from vez.draw.trace import event_labels
from vez.draw.trace.canvas import Row, cells, fit
from vez.draw.trace.frame import cap, footer, legend
from vez.draw.trace.layout import Arrow, Life, Picture
from vez.judge.properties.verdict import Verdict
from vez.judge.words import Language
from vez.judge.words.sentence import ms

DEFAULT_WIDTH = 100
MAX_COLUMNS = 8
"""The largest number of lifelines: more cannot be followed with the eye."""
NARROWEST = 9
WIDEST = 22
HEADER_EVERY = 40
GAP = 10
"""Number of message times without an event after which a line shows that time passed."""

LINE = {"plain": "│", "waiting": "┊", "inside": "█", "down": " ", "paused": "░", "leads": "┃"}
STYLE = {"waiting": "yellow", "inside": "green", "paused": "blue", "leads": "magenta", "plain": "dim"}


def text(
    trace: Trace,
    verdicts: Sequence[Verdict] = (),
    *,
    width: int | None = None,
    color: bool = False,
    language: Language = "en",
) -> str:
    """The trace as text, at most `width` cells wide."""
    picture = Picture(trace, verdicts, language)
    wide = max(width or DEFAULT_WIDTH, 40)
    times = {picture.end, *(event.at for event in picture.trace.events)}
    time_wide = max(4, *map(len, map(ms, times))) + 2
    column = _column_width(picture, wide - time_wide)
    drawing: _Drawing = _Lifelines(picture, wide, time_wide, column) if column else _List(picture, wide, time_wide)
    head, body = drawing.draw()
    signs = legend(picture, wide, LINE, STYLE) if column else []
    rows = [Row(wide).put(0, picture.title, "bold"), *signs, *head, *cap(picture, body, wide)]
    rows += footer(picture, wide)
    return "".join(row.render(color) + "\n" for row in rows)


def _column_width(picture: Picture, room: int) -> int:
    """Width of the column of a lifeline; 0 if lifelines do not fit."""
    count = len(picture.ids)
    if not 0 < count <= MAX_COLUMNS:
        return 0
    longest = max((cells(arrow.label) + (5 if arrow.fate == "delivered" else 7) for arrow in picture.arrows), default=0)
    names = max(map(cells, picture.names.values())) + 3 if picture.trace.header.names else 0
    best = min(max(longest, names, NARROWEST), WIDEST, room // count)
    return best if best >= NARROWEST else 0


class _Drawing:
    """The lines of a picture, event by event."""

    def __init__(self, picture: Picture, wide: int, time_wide: int) -> None:
        self.picture = picture
        self.wide = wide
        self.time_wide = time_wide
        self.lives = {process: Life() for process in picture.ids}
        self.rows: list[Row] = []
        self.shown_at = -1
        self.announced: set[str] = set()

    def draw(self) -> tuple[list[Row], list[Row]]:
        """The heading, and one row or more for each moment."""
        events = self.picture.trace.events
        partitions = {partition.index: partition for partition in self.picture.partitions}
        loop = self.picture.loop
        index = 0
        while index < len(events):
            event = events[index]
            self._announce(event.at)
            if loop is not None and event.at > loop[0]:
                self.across(event.at, f"┌ {self.picture.told('drawn_for_ever')}", "bold")
                loop = None
            if index in partitions:
                partition = partitions[index]
                self.across(event.at, partition.words, "red" if partition.cut else "green")
                index = partition.last_index
            elif isinstance(event, Delivered | Lost):
                self.arrow(self.picture.arriving[index])
            elif not isinstance(event, Sent):
                last = self._together(index)
                self.happening(event, events[index : last + 1])
                index = last
            index += 1
        self._announce(self.picture.end + 1)
        for arrow in self.picture.arrows:
            if arrow.fate == "flying":
                self.arrow(arrow)
        if self.picture.loop is not None:
            self.across(self.picture.end, f"└ {self.picture.told('drawn_again_round')}", "bold")
        return self.heading(), self.rows

    def _together(self, index: int) -> int:
        """Index of the last event that follows at the same process and moment; sent messages in between are skipped."""
        events, last = self.picture.trace.events, index
        first = events[index]
        for place in range(index + 1, len(events)):
            event = events[place]
            if event.at != first.at or event.process != first.process:
                break
            if isinstance(event, Delivered | Lost | Cut | Healed | Crashed | Recovered):
                break
            if not isinstance(event, Sent):
                last = place
        return last

    def _announce(self, at: int) -> None:
        """Write a broken property at the moment when it breaks."""
        for violation in self.picture.violations:
            if violation.start is not None and violation.start <= at and violation.name not in self.announced:
                self.announced.add(violation.name)
                self.across(max(violation.start, self.shown_at), f"✗ {violation.words}", "red")

    def row(self, at: int) -> Row:
        """A new line, with the time if it has changed, and a mark while something is broken."""
        gap = at - self.shown_at
        if self.shown_at >= 0 and gap > GAP * self.picture.trace.header.message_us:
            self.rows.append(self.lines(Row(self.wide).put(self.time_wide - 3, "⋮", "dim")))
        row = Row(self.wide)
        if at != self.shown_at:
            row.put(self.time_wide - 2 - len(ms(at)), ms(at), "dim")
            self.shown_at = at
        if any(one.start is not None and one.start <= at <= one.end for one in self.picture.violations):
            row.put(self.time_wide - 1, "!", "bold red")
        self.lines(row)
        self.rows.append(row)
        return row

    def heading(self) -> list[Row]:
        return []

    def lines(self, row: Row) -> Row:
        return row

    def across(self, at: int, words: str, style: str) -> None:
        """Write a text across all lifelines."""
        room = self.wide - self.time_wide - 1
        for part in textwrap.wrap(words, room) or [""]:
            row = self.row(at)
            row.put(self.time_wide + 1, part.ljust(room) if style == "red" else part, style)

    def arrow(self, arrow: Arrow) -> None:
        raise NotImplementedError

    def happening(self, first: AnyEvent, events: Sequence[AnyEvent]) -> None:
        raise NotImplementedError

    def follow(self, events: Sequence[AnyEvent]) -> tuple[str, str]:
        """Update a process with its events. Returns their text and its style."""
        said: list[str] = []
        style = ""
        for event in events:
            self.lives[event.process].follow(event)
            word = event_labels.local(event, self.picture)
            if word and word not in said:
                said.append(word)
            if isinstance(event, Crashed) or (isinstance(event, Wrote) and not event.accepted):
                style = "red"
        return " · ".join(said), style

    def is_broken(self, process: int) -> bool:
        at = self.shown_at
        return any(span.process == process and span.start <= at < max(span.end, 1) for span in self.picture.spans)


class _Lifelines(_Drawing):
    """One column for each process."""

    def __init__(self, picture: Picture, wide: int, time_wide: int, column: int) -> None:
        super().__init__(picture, wide, time_wide)
        self.column = column
        self.open_row: tuple[Row, int, int, int] | None = None  # the last line of text, and its free part
        self.centre = {
            process: time_wide + place * column + min(column // 2, 4) for process, place in picture.column.items()
        }

    def heading(self) -> list[Row]:
        row = Row(self.wide).put(self.time_wide - 4, "ms", "dim")
        for process, centre in self.centre.items():
            name = fit(self.picture.names[process], max(self.column - 1, 4))
            row.put(max(centre - len(name) // 2, self.time_wide), name, "bold")
        return [row]

    def row(self, at: int) -> Row:
        if self.rows and len(self.rows) % HEADER_EVERY == 0:
            self.rows += self.heading()
        return super().row(at)

    def lines(self, row: Row) -> Row:
        for process in self.centre:
            self._line(row, process)
        return row

    def _line(self, row: Row, process: int) -> None:
        kind = self._kind(process)
        style = "red" if self.is_broken(process) and kind != "down" else STYLE.get(kind, "")
        row.put(self.centre[process], LINE[kind], style)

    def _kind(self, process: int) -> str:
        life = self.lives[process]
        for kind in ("down", "paused", "inside", "waiting"):
            if getattr(life, kind):
                return kind
        return "leads" if life.leader == process else "plain"

    def arrow(self, arrow: Arrow) -> None:
        row = self.row(arrow.end_at)
        start, end = self.centre[arrow.sender], self.centre[arrow.to]
        if start == end:
            row.put(start, f"↺ {event_labels.full_label(arrow, self.picture)}"[: max(self.wide - start, 1)])
            return
        lost = arrow.fate != "delivered"  # or still in transit
        left, right = (start + 1, end - 1) if start < end else (end + 1, start - 1)
        if lost:
            cut = max(min(self.column // 3, right - left - 4 - cells(arrow.label)), 2)
            left, right = (left, right - cut) if start < end else (left + cut, right)
        body = "╌" if lost or arrow.copy else "─"
        style = "red" if lost and arrow.fate != "flying" else ""
        row.put(left, body * (right - left + 1), style)
        tip = "…" if arrow.fate == "flying" else "✗" if lost else "▶" if start < end else "◀"
        row.put(right if start < end else left, tip, style)
        self._label(row, arrow, left, right, style)

    def _label(self, row: Row, arrow: Arrow, left: int, right: int, style: str) -> None:
        """Put the label into the first gap beside the sender, so that it is near the start of the arrow."""
        room = right - left - 3
        shown = arrow.label if not arrow.copy else self.picture.told("drawn_copy", what=arrow.label)
        if cells(shown) > room:
            shown = arrow.kind if cells(arrow.label) > room else arrow.label
        while cells(shown) > room and len(shown) > 1:
            shown = shown[:-2] + "…"
        middle = (left + right + 1 - cells(shown)) // 2
        if right - left > self.column:
            near = self.column - 3 - cells(shown)
            middle = (
                left + max(near // 2, 1)
                if arrow.sender == self._at(left - 1)
                else right - cells(shown) - max(near // 2, 1)
            )
        row.put(middle, shown, style)

    def _at(self, place: int) -> int | None:
        return next((process for process, centre in self.centre.items() if centre == place), None)

    def happening(self, first: AnyEvent, events: Sequence[AnyEvent]) -> None:
        said, style = self.follow(events)
        if not said:
            return
        centre = self.centre[first.process]
        row = self._beside(first, said) or self.row(first.at)
        if isinstance(first, Crashed | Recovered):
            row.put(centre, "✗" if isinstance(first, Crashed) else "○", "bold red" if style else "bold green")
        room = self.wide - centre - 2
        if cells(said) <= room or room >= centre - self.time_wide:
            said = fit(said, room)
            row.put(centre + 2, said, style)
            self.open_row = (row, first.at, len(self.rows), centre + 3 + cells(said))
        else:
            said = fit(said, centre - 1 - self.time_wide)
            row.put(centre - 1 - cells(said), said, style)

    def _beside(self, first: AnyEvent, said: str) -> Row | None:
        """The previous line, if it is of the same moment and all its text is further left; otherwise None."""
        if self.open_row is None or isinstance(first, Crashed | Recovered):
            return None
        row, at, count, free = self.open_row
        centre = self.centre[first.process]
        if at != first.at or count != len(self.rows) or centre < free or centre + 2 + cells(said) > self.wide:
            return None
        self._line(row, first.process)
        return row


class _List(_Drawing):
    """One line for each event, for runs with too many lifelines."""

    def arrow(self, arrow: Arrow) -> None:
        sign = "→" if arrow.fate == "delivered" else "╳"
        names = self.picture.names
        line = f"{names[arrow.sender]} {sign} {names[arrow.to]}  {event_labels.full_label(arrow, self.picture)}"
        self.row(arrow.end_at).put(self.time_wide, fit(line, self.wide - self.time_wide), "red" if sign == "╳" else "")

    def happening(self, first: AnyEvent, events: Sequence[AnyEvent]) -> None:
        said, style = self.follow(events)
        if said:
            line = f"{self.picture.names[first.process]}  {said}"
            self.row(first.at).put(self.time_wide, fit(line, self.wide - self.time_wide), style or "bold")
