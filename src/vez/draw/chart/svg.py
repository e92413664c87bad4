"""A chart as SVG: one file, no scripts, readable on a light and on a dark page."""

from __future__ import annotations

from xml.sax.saxutils import escape

from vez.draw.chart.chart import Chart, Scale, Series, places, scales

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56b4e9", "#7f3c8d", "#e69f00", "#444444", "#b2182b")
"""Told apart by most colour-blind readers too (after Okabe and Ito); dashes repeat where colours do."""
DASHES = ("", "7 4", "2 3", "9 3 2 3")
LEFT, RIGHT, TOP, BOTTOM = 88, 24, 52, 60
LINE = 18
CHARACTER = 6.7

_STYLE = """
text{font:12px system-ui,sans-serif;fill:#222}.title{font-size:15px;font-weight:600}
.frame{fill:none;stroke:#888}.grid{stroke:#888;stroke-opacity:.22}.mark{stroke:#888;stroke-dasharray:3 3}
.paper{fill:#fff}@media(prefers-color-scheme:dark){text{fill:#ddd}.paper{fill:#181a1f}}
""".replace("\n", "")


def svg(chart: Chart, width: int = 860, height: int = 480) -> str:
    """The chart as an SVG document."""
    x, y = scales(chart)
    wide = _legend_width(chart)
    paper = _Paper(width - LEFT - RIGHT - wide, height - TOP - BOTTOM)
    title = _text(LEFT, 26, chart.title, "title")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img"><title>{escape(chart.title)}</title><style>{_STYLE}</style>',
        f'<rect class="paper" width="{width}" height="{height}"/>{title}',
        *_grid(chart, paper, x, y),
        *(_curve(series, number, paper, x, y) for number, series in enumerate(chart.series)),
        *_marks(chart, paper, x),
        *_legend(chart, LEFT + paper.width + 18),
    ]
    return "\n".join((*parts, "</svg>")) + "\n"


class _Paper:
    """The area of the curves, in pixels."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height

    def across(self, place: float) -> float:
        return round(LEFT + place * self.width, 2)

    def up(self, place: float) -> float:
        return round(TOP + (1 - place) * self.height, 2)


def _grid(chart: Chart, paper: _Paper, x: Scale, y: Scale) -> list[str]:
    top, bottom, left, right = TOP, TOP + paper.height, LEFT, LEFT + paper.width
    parts = []
    for tick in x.ticks():
        at = paper.across(tick.place)
        parts.append(f'<line class="grid" x1="{at}" y1="{top}" x2="{at}" y2="{bottom}"/>')
        parts.append(_text(at, bottom + 18, tick.label, anchor="middle"))
    for tick in y.ticks():
        at = paper.up(tick.place)
        parts.append(f'<line class="grid" x1="{left}" y1="{at}" x2="{right}" y2="{at}"/>')
        parts.append(_text(left - 8, at + 4, tick.label, anchor="end"))
    parts.append(f'<rect class="frame" x="{left}" y="{top}" width="{paper.width}" height="{paper.height}"/>')
    parts.append(_text((left + right) / 2, bottom + 42, _axis(chart.x.label, x), anchor="middle"))
    middle = (top + bottom) / 2
    turned = f'transform="rotate(-90 20 {middle})"'
    parts.append(_text(20, middle, _axis(chart.y.label, y), anchor="middle", more=turned))
    return parts


def _axis(label: str, scale: Scale) -> str:
    return f"{label} (logarithmic)" if scale.log else label


def _curve(series: Series, number: int, paper: _Paper, x: Scale, y: Scale) -> str:
    colour, dash = _look(number)
    parts = []
    for run in places(series, x, y):
        dots = [(paper.across(across), paper.up(up)) for across, up in run]
        if series.style != "points" and len(dots) > 1:
            line = " ".join(f"{one},{other}" for one, other in dots)
            parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        if series.style == "points" or len(series.points) <= 40:
            parts += [f'<circle cx="{one}" cy="{other}" r="3" fill="{colour}"/>' for one, other in dots]
    return f"<g><title>{escape(series.name)}</title>{''.join(parts)}</g>"


def _marks(chart: Chart, paper: _Paper, x: Scale) -> list[str]:
    parts = []
    for number, mark in enumerate(chart.marks):
        place = x.place(mark.x)
        if place is None:
            continue
        at, height = paper.across(place), TOP + 16 + LINE * number
        end = place > 0.6  # near the right edge the words stand on the left of the line
        parts.append(f'<line class="mark" x1="{at}" y1="{TOP}" x2="{at}" y2="{TOP + paper.height}"/>')
        parts.append(_text(at - 6 if end else at + 6, height, mark.label, anchor="end" if end else "start"))
    return parts


def _legend_width(chart: Chart) -> float:
    return 60 + CHARACTER * max(len(series.name) for series in chart.series) if len(chart.series) > 1 else 0


def _legend(chart: Chart, left: float) -> list[str]:
    if len(chart.series) < 2:
        return []
    parts = []
    for number, series in enumerate(chart.series):
        at, (colour, dash) = TOP + 8 + LINE * number, _look(number)
        if series.style == "points":
            parts.append(f'<circle cx="{left + 12}" cy="{at}" r="3" fill="{colour}"/>')
        else:
            parts.append(
                f'<line x1="{left}" y1="{at}" x2="{left + 24}" y2="{at}" stroke="{colour}" stroke-width="2"{dash}/>'
            )
        parts.append(_text(left + 30, at + 4, series.name))
    return parts


def _look(number: int) -> tuple[str, str]:
    dash = DASHES[number // len(COLOURS) % len(DASHES)]
    return COLOURS[number % len(COLOURS)], f' stroke-dasharray="{dash}"' if dash else ""


def _text(x: float, y: float, words: str, kind: str = "", *, anchor: str = "start", more: str = "") -> str:
    of_kind = f' class="{kind}"' if kind else ""
    return f'<text x="{round(x, 2)}" y="{round(y, 2)}" text-anchor="{anchor}"{of_kind} {more}>{escape(words)}</text>'
