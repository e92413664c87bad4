"""A chart as SVG: one file, no scripts, readable on a light and on a dark page."""

from __future__ import annotations

import math
from html import escape

from vez.draw.chart.chart import MAX_TICKS, Chart, Panels, Scale, Series, places, scales

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56b4e9", "#7f3c8d", "#e69f00", "#777777", "#b2182b")
DASHES = ("", "7 4", "2 3", "9 3 2 3")
"""Colours after Okabe and Ito, which most colour-blind readers can distinguish. Curves also differ by their dashes."""
LEFT, RIGHT, TOP, BOTTOM = 88, 24, 52, 60
LINE = 18
CHARACTER = 6.7
PANEL_WIDTH, PANEL_HEIGHT, PER_ROW = 400, 300, 3
"""Size of each chart in a picture of several charts, and the number of charts per row."""

_STYLE = """
text{font:12px system-ui,sans-serif;fill:#222}.title{font-size:15px;font-weight:600}.small{font-weight:600}
.frame{fill:none;stroke:#888}.grid{stroke:#888;stroke-opacity:.22}.mark{stroke:#888;stroke-dasharray:3 3}
.paper{fill:#fff}@media(prefers-color-scheme:dark){text{fill:#ddd}.paper{fill:#181a1f}}
""".replace("\n", "")


def svg(drawn: Chart | Panels, width: int = 860, height: int = 480) -> str:
    """The chart, or all panels, as an SVG document. The size is that of a single chart."""
    if isinstance(drawn, Panels):
        return _panels(drawn)
    area = _Area(LEFT, TOP, width - LEFT - RIGHT - _legend_width(drawn), height - TOP - BOTTOM)
    body = [*_chart(drawn, area), *_legend(drawn, area.right + 18)]
    return _document(drawn.title, width, height, body)


def _panels(drawn: Panels) -> str:
    """Every chart in its place, below one title and one legend."""
    columns = min(PER_ROW, len(drawn.charts))
    names = [series.name for series in max(drawn.charts, key=lambda chart: len(chart.series)).series]
    body: list[str] = []
    across = float(LEFT)
    for number, name in enumerate(names):
        body += _key(number, name, across, TOP, points=False)
        across += 54 + CHARACTER * len(name)
    for number, chart in enumerate(drawn.charts):
        row, column = divmod(number, columns)
        left, top = LEFT + column * PANEL_WIDTH, TOP + 50 + row * PANEL_HEIGHT
        body.append(_text(left, top - 10, chart.title, "small"))
        body += _chart(chart, _Area(left, top, PANEL_WIDTH - LEFT - RIGHT, PANEL_HEIGHT - 100))
    width = max(columns * PANEL_WIDTH, math.ceil(across))
    height = TOP + 30 + math.ceil(len(drawn.charts) / columns) * PANEL_HEIGHT
    return _document(drawn.title, width, height, body)


def _document(title: str, width: int, height: int, body: list[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img"><title>{escape(title, quote=False)}</title><style>{_STYLE}</style>'
    )
    paper = f'<rect class="paper" width="{width}" height="{height}"/>{_text(LEFT, 26, title, "title")}'
    return "\n".join((head, paper, *body, "</svg>")) + "\n"


class _Area:
    """Rectangle of the curves of one chart, in pixels."""

    def __init__(self, left: float, top: float, width: float, height: float) -> None:
        self.left, self.top, self.width, self.height = left, top, width, height
        self.right, self.bottom = left + width, top + height

    def across(self, place: float) -> float:
        return round(self.left + place * self.width, 2)

    def up(self, place: float) -> float:
        return round(self.top + (1 - place) * self.height, 2)


def _chart(chart: Chart, area: _Area) -> list[str]:
    """Grid, curves and marks."""
    x, y = scales(chart, min(MAX_TICKS, round(area.width / 60)), min(MAX_TICKS, round(area.height / 36)))
    curves = [_curve(series, number, area, x, y) for number, series in enumerate(chart.series)]
    return [*_grid(chart, area, x, y), *curves, *_marks(chart, area, x)]


def _grid(chart: Chart, area: _Area, x: Scale, y: Scale) -> list[str]:
    top, bottom, left, right = area.top, area.bottom, area.left, area.right
    parts = []
    for tick in x.ticks():
        at = area.across(tick.place)
        parts.append(f'<line class="grid" x1="{at}" y1="{top}" x2="{at}" y2="{bottom}"/>')
        parts.append(_text(at, bottom + 18, tick.label, anchor="middle"))
    for tick in y.ticks():
        at = area.up(tick.place)
        parts.append(f'<line class="grid" x1="{left}" y1="{at}" x2="{right}" y2="{at}"/>')
        parts.append(_text(left - 8, at + 4, tick.label, anchor="end"))
    parts.append(f'<rect class="frame" x="{left}" y="{top}" width="{area.width}" height="{area.height}"/>')
    parts.append(_text((left + right) / 2, bottom + 42, _axis(chart.x.label, x), anchor="middle"))
    middle, edge = (top + bottom) / 2, left - 68
    turned = f'transform="rotate(-90 {edge} {middle})"'
    parts.append(_text(edge, middle, _axis(chart.y.label, y), anchor="middle", more=turned))
    return parts


def _axis(label: str, scale: Scale) -> str:
    return f"{label} (logarithmic)" if scale.log else label


def _curve(series: Series, number: int, area: _Area, x: Scale, y: Scale) -> str:
    colour, dash = _look(number)
    parts = []
    for run in places(series, x, y):
        dots = [(area.across(across), area.up(up)) for across, up in run]
        if series.style != "points" and len(dots) > 1:
            line = " ".join(f"{one},{other}" for one, other in dots)
            parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        if not series.notes and (series.style == "points" or len(series.points) <= 40):
            parts += [f'<circle cx="{one}" cy="{other}" r="3" fill="{colour}"/>' for one, other in dots]
    for (one, other), note in zip(series.points, series.notes, strict=False):
        across, up = x.place(one), y.place(other)
        if across is not None and up is not None:
            at = f'cx="{area.across(across)}" cy="{area.up(up)}"'
            parts.append(f'<circle {at} r="3" fill="{colour}"><title>{escape(note, quote=False)}</title></circle>')
    return f"<g><title>{escape(series.name, quote=False)}</title>{''.join(parts)}</g>"


def _marks(chart: Chart, area: _Area, x: Scale) -> list[str]:
    parts = []
    for number, mark in enumerate(chart.marks):
        place = x.place(mark.x)
        if place is None:
            continue
        at, height = area.across(place), area.top + 16 + LINE * number
        end = place > 0.6  # near the right edge the label is left of the line
        parts.append(f'<line class="mark" x1="{at}" y1="{area.top}" x2="{at}" y2="{area.bottom}"/>')
        parts.append(_text(at - 6 if end else at + 6, height, mark.label, anchor="end" if end else "start"))
    return parts


def _legend_width(chart: Chart) -> float:
    return 60 + CHARACTER * max(len(series.name) for series in chart.series) if len(chart.series) > 1 else 0


def _legend(chart: Chart, left: float) -> list[str]:
    if len(chart.series) < 2:
        return []
    parts = []
    for number, series in enumerate(chart.series):
        parts += _key(number, series.name, left, TOP + 8 + LINE * number, points=series.style == "points")
    return parts


def _key(number: int, name: str, left: float, at: float, *, points: bool) -> list[str]:
    """One line of a legend: the look of a series and its name."""
    colour, dash = _look(number)
    if points:
        sign = f'<circle cx="{left + 12}" cy="{at}" r="3" fill="{colour}"/>'
    else:
        ends = f'x1="{round(left, 2)}" y1="{at}" x2="{round(left + 24, 2)}" y2="{at}"'
        sign = f'<line {ends} stroke="{colour}" stroke-width="2"{dash}/>'
    return [sign, _text(left + 30, at + 4, name)]


def _look(number: int) -> tuple[str, str]:
    dash = DASHES[number % len(DASHES)]
    return COLOURS[number % len(COLOURS)], f' stroke-dasharray="{dash}"' if dash else ""


def _text(x: float, y: float, words: str, kind: str = "", *, anchor: str = "start", more: str = "") -> str:
    of_kind = f' class="{kind}"' if kind else ""
    where = f'x="{round(x, 2)}" y="{round(y, 2)}" text-anchor="{anchor}"{of_kind} {more}'
    return f"<text {where}>{escape(words, quote=False)}</text>"
