"""A timeline as SVG: time goes to the right, each thread is a lane."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from vez.draw.timeline.timeline import LASTING, Timeline, limited
from vez.draw.trace.layout import clean
from vez.draw.trace.markup import Markup, width_of

LANE, THIN, TOP, LEFT_GAP, WIDTH, RIGHT = 30, 18, 112, 14, 900, 30
"""Pixels: the height of a lane, of a lane among many and of the heading; the gap beside the names; the width of the
time axis; the right margin."""
MANY = 40
"""The number of lanes from which lanes are thin and printed lines are drawn without their text."""
TEXT = 10.5
NAMES = {
    "runs": "runs", "works": "works", "waits": "is blocked", "holds": "holds a lock", "sleeps": "sleeps",
    "does": "does a step", "says": "prints", "planned": "planned start",
}  # fmt: skip


THICKNESS = {"runs": 0.12, "works": 1.0, "holds": 1.0, "sleeps": 0.5, "waits": 0.7}
"""The relative thickness of bars by kind, so that actions while a lock is held stay visible."""


def svg(timeline: Timeline) -> str:
    """The timeline as one SVG file."""
    shown = limited(timeline)
    drawing = _Drawing(shown)
    drawing.heading()
    drawing.axis()
    for place, lane in enumerate(shown.lanes):
        drawing.lane(place, lane)
    wide, high = f"{drawing.width:.0f}", f"{drawing.height:.0f}"
    wide, high = f"{drawing.width:.0f}", f"{drawing.height:.0f}"
    size = f'viewBox="0 0 {wide} {high}" width="{wide}" height="{high}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" class="vez" role="img" {size}>'
    title = Markup.element("title", shown.title)
    return f"{head}\n{title}\n<style>\n{style()}</style>\n{drawing.markup}\n</svg>\n"


@cache
def style() -> str:
    """The style sheet of the pictures of traces, and the few classes that only timelines have."""
    own = files("vez.draw.timeline").joinpath("page", "timeline.css").read_text(encoding="utf-8")
    return files("vez.draw.trace").joinpath("svg.css").read_text(encoding="utf-8") + own


class _Drawing:
    def __init__(self, timeline: Timeline) -> None:
        self.timeline, self.markup = timeline, Markup()
        self.step = THIN if len(timeline.lanes) > MANY else LANE
        self.top = TOP + 16 * len(timeline.notes)
        self.left = LEFT_GAP + 12 + max((width_of(clean(lane), 12) for lane in timeline.lanes), default=0)
        self.width = self.left + WIDTH + RIGHT
        self.height = self.top + self.step * len(timeline.lanes) + 24

    def across(self, us: int) -> float:
        return self.left + WIDTH * self.timeline.part(us)

    def heading(self) -> None:
        timeline, markup = self.timeline, self.markup
        markup.rect(0, 0, self.width, self.height, "background")
        self.markup.line(self.left, self.top - 12, self.left, self.height - 20, "edge")
        markup.text(LEFT_GAP, 28, timeline.title, "title")
        markup.text(LEFT_GAP, 48, timeline.verdict, "verdict" if timeline.broken else "soft")
        x = float(LEFT_GAP)
        kinds = timeline.kinds()
        markup.open("legend")
        for kind, name in NAMES.items():
            if kind in kinds:
                _sign(markup, kind, x, 68)
                markup.text(x + 26, 72, name, "")
                x += 42 + width_of(name, 11)
        markup.close()
        for row, note in enumerate(timeline.notes):
            markup.text(LEFT_GAP, 92 + 16 * row, note, "notice")

    def axis(self) -> None:
        start, end = self.timeline.start_us, self.timeline.end_us
        unit = _unit(end - start)
        bottom = self.height - 20
        for tick in range(-(-start // unit) * unit, end + 1, unit):
            x = self.across(tick)
            self.markup.line(x, self.top - 12, x, bottom, "grid")
            self.markup.text(x, self.top - 17, _time(tick, unit), "time")

    def lane(self, place: int, lane: str) -> None:
        markup, timeline = self.markup, self.timeline
        middle = self.top + self.step * (place + 0.5)
        markup.text(LEFT_GAP, middle + 4, lane, "lane")
        thick = self.step * 0.44
        for kind in LASTING:
            height = thick * THICKNESS[kind]
            for bar in timeline.of(lane, kind):
                start, end = self.across(bar.start_us), self.across(bar.end_us)
                what = f"{NAMES[kind]} {bar.words}" if bar.words != lane else NAMES[kind]
                what = f"{NAMES[kind]} {bar.words}" if bar.words != lane else NAMES[kind]
                title = f"{lane}: {what}, {_ms(bar.start_us)} to {_ms(bar.end_us)} ms"
                markup.rect(start, middle - height / 2, max(0.8, end - start), height, f"bar {kind}", title=title)
        for bar in timeline.of(lane, "does"):
            x = self.across(bar.start_us)
            markup.line(x, middle - 4, x, middle + 4, "step")
        for bar in timeline.of(lane, "planned"):
            x = self.across(bar.start_us)
            markup.line(x, middle - thick, x, middle + thick, "planned")
        self._printed(lane, middle)

    def _printed(self, lane: str, middle: float) -> None:
        bars = self.timeline.of(lane, "says")
        free = self.left
        for number, bar in enumerate(bars):
            x = self.across(bar.start_us)
            self.markup.circle(x, middle, 2.6, "says", title=f"{lane} prints {bar.words!r} at {_ms(bar.start_us)} ms")
            next_x = self.across(bars[number + 1].start_us) if number + 1 < len(bars) else self.width
            words = clean(bar.words, 60)
            if self.step == LANE and x + 5 >= free and x + 9 + width_of(words, TEXT) <= next_x:
                self.markup.text(x + 5, middle - 7, words, "words")
                free = x + 9 + width_of(words, TEXT)


def _sign(markup: Markup, kind: str, x: float, y: float) -> None:
    match kind:
        case "says":
            markup.circle(x + 11, y, 2.6, "says")
        case "does" | "planned":
            markup.line(x + 11, y - 5, x + 11, y + 5, "step" if kind == "does" else "planned")
        case _:
            height = 1.6 if kind == "runs" else 10
            markup.rect(x, y - height / 2, 22, height, f"bar {kind}")


def _unit(length_us: int) -> int:
    """The distance of two ticks: 1, 2 or 5 times a power of ten, so that there are about ten."""
    unit = 1
    while length_us / unit > 12:
        unit *= 10
    for part in (5, 2):
        if unit >= 10 and length_us / (unit // 10 * part) <= 12:
            unit = unit // 10 * part
    return unit


def _time(us: int, unit: int) -> str:
    if unit >= 100_000:
        return f"{us / 1e6:g} s"
    return f"{us / 1000:g} ms"


def _ms(us: int) -> str:
    return f"{us / 1000:.3f}".rstrip("0").rstrip(".")
