"""The curves of `vez detectors` as one SVG: a panel for each condition, detection time across, mistakes upwards.

The file stands alone: no scripts, no fonts from elsewhere, colours for light and dark.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.sax.saxutils import escape

from vez.study.detection.curves import Curve
from vez.study.detection.quality import Quality

PANEL_WIDTH, PANEL_HEIGHT = 380, 270
LEFT, TOP, RIGHT, BOTTOM = 56, 34, 14, 44
COLUMNS = 3
LEGEND = 64
DECADES = (-2, 2)
"""Mistakes per second from 0.01 to 100; what never happened lies on a line of its own below."""
COLOURS = ("#1f77b4", "#d95f02", "#1b9e77", "#9449b8")
DASHES = ("", "6 3", "2 3", "9 3 2 3")
"""Colour is not the only difference between the curves."""

STYLE = """
svg { background: #fff; font: 12px system-ui, sans-serif } text { fill: #222 } .quiet { fill: #666 }
.axis { stroke: #444; fill: none } .grid { stroke: #e4e4e4 } .title { font-weight: 600; font-size: 13px }
@media (prefers-color-scheme: dark) {
  svg { background: #16181c } text { fill: #e8e8e8 } .quiet { fill: #a0a0a0 } .axis { stroke: #aaa }
  .grid { stroke: #2c3036 }
}
"""


def plot(curves: Sequence[Curve], interval_ms: float) -> str:
    """All panels."""
    conditions = list(dict.fromkeys(curve.condition for curve in curves))
    detectors = list(dict.fromkeys(curve.detector for curve in curves))
    most = max((point.detection_ms for curve in curves for point in curve.points), default=1.0)
    scale = min(most, 12 * interval_ms)  # beyond a dozen intervals nobody is interested, and the rest would shrink
    columns = min(COLUMNS, len(conditions))
    rows = math.ceil(len(conditions) / columns)
    width, height = columns * PANEL_WIDTH + 20, LEGEND + rows * PANEL_HEIGHT + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}"><title>Failure detectors: detection time and mistakes</title>',
        f"<style>{STYLE}</style>",
        '<text x="20" y="24" class="title">Notice sooner, or be wrong less often: each point is one setting</text>',
        *_legend(detectors),
    ]
    for number, condition in enumerate(conditions):
        row, column = divmod(number, columns)
        parts.append(f'<g transform="translate({10 + column * PANEL_WIDTH},{LEGEND + row * PANEL_HEIGHT})">')
        parts += _axes(condition, scale)
        for place, detector in enumerate(detectors):
            parts += [
                line
                for curve in curves
                if (curve.condition, curve.detector) == (condition, detector)
                for line in _curve(curve, place, scale)
            ]
        parts.append("</g>")
    return "\n".join((*parts, "</svg>", ""))


def _legend(detectors: Sequence[str]) -> list[str]:
    parts, x = [], 20
    for place, name in enumerate(detectors):
        parts.append(_line([(x, 44.0), (x + 28, 44.0)], place))
        parts.append(f'<text x="{x + 34}" y="48">{escape(name)}</text>')
        x += 60 + 8 * len(name)
    return parts


def _axes(condition: str, scale: float) -> list[str]:
    right, bottom = PANEL_WIDTH - RIGHT, PANEL_HEIGHT - BOTTOM
    parts = [f'<text x="{LEFT}" y="{TOP - 14}" class="title">{escape(condition)}</text>']
    for decade in range(DECADES[0], DECADES[1] + 1):
        y = _y(10.0**decade)
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>')
        label = f"{10.0**decade:g}"
        parts.append(f'<text class="quiet" x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    parts.append(f'<text class="quiet" x="{LEFT - 6}" y="{_y(0) + 4:.1f}" text-anchor="end">none</text>')
    for share in range(5):
        x = _x(scale * share / 4, scale)
        parts.append(
            f'<text class="quiet" x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{scale * share / 4:.3g}</text>'
        )
    parts.append(f'<path class="axis" d="M{LEFT},{TOP} V{bottom} H{right}"/>')
    parts.append(
        f'<text class="quiet" x="{right}" y="{bottom + 34}" text-anchor="end">mean detection time, ms; '
        f"mistakes per second upwards</text>"
    )
    return parts


def _curve(curve: Curve, place: int, scale: float) -> list[str]:
    points = [(_x(point.detection_ms, scale), _y(point.mistake_rate)) for point in curve.points
              if point.detection_ms <= scale]  # fmt: skip
    shown = [point for point in curve.points if point.detection_ms <= scale]
    parts = [_line(points, place)] if len(points) > 1 else []
    for (x, y), point in zip(points, shown, strict=True):
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{_colour(place)}">'
            f"<title>{escape(_words(point))}</title></circle>"
        )
    return parts


def _words(point: Quality) -> str:
    return (
        f"{point.detector}: noticed after {point.detection_ms:.3g} ms on average, "
        f"{point.mistake_rate:.3g} mistakes a second, accuracy {point.query_accuracy:.6f}"
    )


def _line(points: Sequence[tuple[float, float]], place: int) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dash = DASHES[place % len(DASHES)]
    style = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<polyline points="{path}" fill="none" stroke="{_colour(place)}" stroke-width="2"{style}/>'


def _colour(place: int) -> str:
    return COLOURS[place % len(COLOURS)]


def _x(value: float, scale: float) -> float:
    return LEFT + (PANEL_WIDTH - LEFT - RIGHT) * value / scale


def _y(rate: float) -> float:
    """Logarithmic; nothing at all lies half a decade below the least."""
    least, most = DECADES
    power = least - 0.5 if rate <= 0 else min(max(math.log10(rate), least), most)
    share = (power - (least - 0.5)) / (most - least + 0.5)
    return PANEL_HEIGHT - BOTTOM - 4 - (PANEL_HEIGHT - TOP - BOTTOM - 8) * share
