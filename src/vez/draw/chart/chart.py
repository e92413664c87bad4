"""Chart: curves over two axes, as a value. `svg` and `text`, beside this file, draw it for a page and a terminal.

A logarithmic axis accepts exact fractions as well as floats: 4·10⁻⁴⁰⁰ is too small for a float, but its logarithm is
not.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

import msgspec

from vez.errors import Misuse

Number = int | float | Fraction
Point = tuple[Number, Number]
MAX_TICKS = 8
ZERO_GAP = 0.125
"""Distance of 0 below the low end of a logarithmic axis, as a fraction of its length."""


class Axis(msgspec.Struct, frozen=True):
    """Label, scale and ends of an axis."""

    label: str
    scale: Literal["linear", "log"] = "linear"
    low: Number | None = None
    high: Number | None = None
    """Ends of the axis; None takes the smallest and the largest value."""
    zero: str = ""
    """On a logarithmic axis: the label of a place below the low end for values that are 0; empty if 0 is not drawn."""


class Series(msgspec.Struct, frozen=True):
    """One curve."""

    name: str
    points: tuple[Point, ...]
    style: Literal["line", "steps", "points"] = "line"
    """`steps` keeps each value until the next point; `points` are not joined."""
    notes: tuple[str, ...] = ()
    """Text for each point, shown when the mouse is over it."""


class Mark(msgspec.Struct, frozen=True):
    """A labelled vertical line at a value of the x axis."""

    x: Number
    label: str


class Chart(msgspec.Struct, frozen=True):
    """Curves over two axes."""

    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    marks: tuple[Mark, ...] = ()


class Panels(msgspec.Struct, frozen=True):
    """Several charts in one picture, with one legend: the n-th series looks the same in all of them."""

    title: str
    charts: tuple[Chart, ...]


class Tick(msgspec.Struct, frozen=True):
    """A labelled place on an axis, from 0 (its start) to 1 (its end)."""

    place: float
    label: str


class Scale:
    """Maps the numbers of an axis to places between 0 and 1, and puts ticks at round numbers."""

    def __init__(self, axis: Axis, values: list[Number], *, ticks: int = MAX_TICKS) -> None:
        self.log = axis.scale == "log"
        self._zero = axis.zero
        whole = all(isinstance(value, int) for value in values)
        values = [*values, *(end for end in (axis.low, axis.high) if end is not None)]
        if self.log:
            values = [value for value in values if value > 0]
        if not values:
            raise Misuse(f"nothing to draw: no values for the axis {axis.label!r}")
        places = [self._flat(value) for value in values]
        if not all(map(math.isfinite, places)):
            raise Misuse(f"the axis {axis.label!r} has values that are not finite")
        self.low, self.high = min(places), max(places)
        if self.high - self.low <= 1e-12 * max(1.0, abs(self.high)):
            self.low, self.high = self.low - 0.5, self.high + 0.5
        if not self.log and axis.low is None and 0 < self.low < 0.35 * self.high:
            self.low = 0.0  # an axis that would begin near zero begins at zero
        self._ticks = self._fine_places() if self.log and self.high - self.low < 3 else self._round_places(ticks, whole)
        if self._zero:
            self.low -= (self.high - self.low) * ZERO_GAP

    def place(self, value: Number) -> float | None:
        """Position of a value from 0 to 1, or None if a logarithmic axis cannot show it."""
        if self.log and value <= 0:
            return 0.0 if self._zero else None
        return (self._flat(value) - self.low) / (self.high - self.low)

    def ticks(self) -> list[Tick]:
        """Round numbers along the axis."""
        span = self.high - self.low
        zero = [Tick(0.0, self._zero)] if self._zero else []
        return zero + [Tick((value - self.low) / span, self._label(value)) for value in self._ticks]

    def _flat(self, value: Number) -> float:
        if not self.log:
            return float(value)
        if isinstance(value, Fraction):
            return math.log10(value.numerator) - math.log10(value.denominator)
        return math.log10(value)

    def _round_places(self, most: int, whole: bool) -> list[float]:
        step = _round_step((self.high - self.low) / max(1, most - 1))
        if self.log or whole:  # no tick at 3.5 if all values are whole numbers
            step = float(math.ceil(step))
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [number * step for number in range(first, last + 1)]

    def _fine_places(self) -> list[float]:
        """On a logarithmic axis of few powers of ten: 1, 2, 5, 10, 20, 50, …, as far as they fit."""
        powers = range(math.floor(self.low), math.ceil(self.high) + 1)
        fine = [power + math.log10(factor) for power in powers for factor in (1, 2, 5)]
        inside = [value for value in fine if self.low - 1e-9 <= value <= self.high + 1e-9]
        return inside or [self.low, self.high]

    def _label(self, value: float) -> str:
        if self.log:
            return f"{10**value:.5g}" if -3.5 <= value <= 4.5 else _power(value)
        return f"{0.0 if abs(value) < 1e-12 * (self.high - self.low) else value:.6g}"


def scales(chart: Chart, x_ticks: int = MAX_TICKS, y_ticks: int = MAX_TICKS) -> tuple[Scale, Scale]:
    """Both axes of a chart."""
    xs: list[Number] = [x for series in chart.series for x, _ in series.points]
    xs += [mark.x for mark in chart.marks]
    ys: list[Number] = [y for series in chart.series for _, y in series.points]
    return Scale(chart.x, xs, ticks=x_ticks), Scale(chart.y, ys, ticks=y_ticks)


def places(series: Series, x: Scale, y: Scale) -> list[list[tuple[float, float]]]:
    """The curve as positions between 0 and 1, split where a value has no position."""
    runs: list[list[tuple[float, float]]] = [[]]
    for one, other in series.points:
        across, up = x.place(one), y.place(other)
        if across is None or up is None:
            runs.append([])
            continue
        if series.style == "steps" and runs[-1]:
            runs[-1].append((across, runs[-1][-1][1]))
        runs[-1].append((across, up))
    return [run for run in runs if run]


def _round_step(rough: float) -> float:
    """The next of 1, 2, 5, 10, 20, 50, … times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))


def _power(exponent: float) -> str:
    """10 to a power that may be far below what a float can hold."""
    whole = math.floor(exponent + 1e-9)
    return f"{10 ** (exponent - whole):.2g}e{whole}"
