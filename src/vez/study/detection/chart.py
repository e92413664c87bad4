"""The curves of failure detectors as a picture: a chart for each condition, detection time across, mistakes upwards."""

from __future__ import annotations

from collections.abc import Sequence

from vez.draw.chart import Axis, Chart, Panels, Series
from vez.study.detection.curves import Curve
from vez.study.detection.quality import Quality

LONGEST = 12
"""Largest detection time that is drawn, in intervals. Later detection is of no use, and the rest would shrink."""
LEAST_RATE, MOST_RATE = 0.01, 100.0
"""Mistakes per second at the ends of the axis; rates beyond them stand at the ends."""


def chart(curves: Sequence[Curve], interval_ms: float) -> Panels:
    """One chart for each condition, all with the same axes."""
    most = max((point.detection_ms for curve in curves for point in curve.points), default=1.0)
    end = min(most, LONGEST * interval_ms)
    x = Axis("mean detection time (ms)", low=0, high=end)
    y = Axis("mistakes per second", "log", low=LEAST_RATE, high=MOST_RATE, zero="none")
    charts = []
    for condition in dict.fromkeys(curve.condition for curve in curves):
        series = tuple(_series(curve, end) for curve in curves if curve.condition == condition)
        charts.append(Chart(condition, x, y, series))
    return Panels("Notice sooner, or be wrong less often: each point is one setting", tuple(charts))


def _series(curve: Curve, end: float) -> Series:
    shown = [point for point in curve.points if point.detection_ms <= end]
    points = tuple((point.detection_ms, _rate(point.mistake_rate)) for point in shown)
    return Series(curve.detector, points, notes=tuple(map(_words, shown)))


def _rate(rate: float) -> float:
    return min(max(rate, LEAST_RATE), MOST_RATE) if rate > 0 else 0.0


def _words(point: Quality) -> str:
    return (
        f"{point.detector}: noticed after {point.detection_ms:.3g} ms on average, "
        f"{point.mistake_rate:.3g} mistakes per second, accuracy {point.query_accuracy:.6f}"
    )
