"""Figure: a measured value beside the claim of the papers."""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec

Bound = Callable[[int], float]
TOLERANCE = 1e-6


class Claim(msgspec.Struct, frozen=True):
    """The bounds of a formula for N processes: at least `low`, at most `high`."""

    text: str
    low: Bound
    high: Bound

    def admits(self, n: int, least: float, most: float) -> bool:
        """True if all measured values lie within the bounds."""
        return least >= self.low(n) - TOLERANCE and most <= self.high(n) + TOLERANCE


class Metric(msgspec.Struct, frozen=True):
    """A column of a comparison."""

    name: str
    title: str
    meaning: str


class Figure(msgspec.Struct, frozen=True):
    """One measured figure."""

    value: float | None
    """The mean; None if nothing was measured."""
    least: float | None = None
    most: float | None = None
    claim: str = ""
    passed: bool | None = None
    """None if there is no claim, or if nothing could be measured and nothing was guaranteed."""
    remark: str = ""
    """Text to show instead of the number."""

    @property
    def text(self) -> str:
        """The figure as text: one number, or the range."""
        if self.value is None or self.remark:
            return self.remark or "–"
        if self.least is not None and self.most is not None and short(self.least) != short(self.most):
            return f"{short(self.least)}–{short(self.most)}"
        return short(self.value)


class Row(msgspec.Struct, frozen=True):
    """All figures of one algorithm with n processes."""

    algorithm: str
    n: int
    figures: dict[str, Figure]

    @property
    def passed(self) -> bool:
        """True if no figure contradicts its formula."""
        return all(figure.passed is not False for figure in self.figures.values())


def exactly(text: str, value: Bound | float) -> Claim:
    """A formula with one value."""
    bound = _bound(value)
    return Claim(text, bound, bound)


def between(text: str, low: Bound | float, high: Bound | float = math.inf) -> Claim:
    """A formula with bounds; without `high` there is no upper bound."""
    return Claim(text, _bound(low), _bound(high))


def figure(values: list[float], claim: Claim | None, n: int, *, mean_only: bool = False, remark: str = "") -> Figure:
    """Measured values beside a claim. All values must keep it, or only their mean with `mean_only`."""
    if not values:
        return Figure(None, claim=claim.text if claim else "", remark=remark)
    mean = math.fsum(values) / len(values)
    least, most = (mean, mean) if mean_only else (min(values), max(values))
    passed = claim.admits(n, least, most) if claim else None
    return Figure(mean, least, most, claim.text if claim else "", passed, remark)


def short(value: float) -> str:
    """A number in few characters."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def spread(items: tuple[int, ...], most: int) -> list[int]:
    """At most `most` of the values, evenly spread, with the first and the last."""
    if len(items) <= most:
        return list(items)
    return [items[round(k * (len(items) - 1) / (most - 1))] for k in range(most)]


def _bound(value: Bound | float) -> Bound:
    return value if callable(value) else lambda n: value
