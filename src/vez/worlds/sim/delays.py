"""Delays: distributions of durations that give the same microseconds on any machine.

Only `Random.random()` is used, because Python promises that its sequence for a seed never changes. The result is
rounded to whole microseconds, so that the last bit of a machine's logarithm does not matter.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from random import Random

from vez.core.effects import MAX_TIMER_MS
from vez.errors import BadData

US = 1000  # microseconds in a millisecond
_FORM = re.compile(r"^\s*(\w+)\s*\(\s*([^()]*)\)\s*$")
_LEAST, _MOST = 1e-12, 1 - 1e-12  # the inverse of a distribution is not defined at 0 and 1
_MAX_SIGMA = 25.0  # larger than any useful value, and small enough not to overflow
MAX_MS = MAX_TIMER_MS
"""The longest allowed duration, about thirty years. A longer one is refused as a mistake."""


def us(ms: float) -> int:
    """Milliseconds as whole microseconds."""
    return round(ms * US)


def plain(number: float) -> str:
    """The shortest text of a number that is read back as the same number."""
    return repr(number).removesuffix(".0")


class Delay:
    """A distribution of durations, written as text: `constant(1)`, `uniform(0.5, 1.5)`, …"""

    __slots__ = ("kind", "mean_ms", "numbers", "text")

    def __init__(self, kind: str, numbers: tuple[float, ...], mean_ms: float) -> None:
        self.kind = kind
        self.numbers = numbers
        self.mean_ms = mean_ms
        self.text = f"{kind}({', '.join(map(plain, numbers))})"

    def __str__(self) -> str:
        return self.text

    @property
    def is_constant(self) -> bool:
        """True if every draw gives the same value."""
        return self.kind == "constant"

    def sampler(self, chance: Random, least_us: int = 1) -> Callable[[], int]:
        """Return a function that draws a duration in microseconds, at least `least_us`."""
        random = chance.random
        if self.kind == "constant":
            fixed = max(least_us, us(self.numbers[0]))
            return lambda: fixed
        if self.kind == "uniform":
            low = max(least_us, us(self.numbers[0]))
            span = max(low, us(self.numbers[1])) - low + 1
            return lambda: low + int(random() * span)
        first, second = self.numbers[0] * US, self.numbers[-1]
        if self.kind == "exponential":
            return lambda: max(least_us, round(-first * math.log(1.0 - random())))
        if self.kind == "lognormal":
            from statistics import NormalDist  # a large module, and rarely needed

            inverse = NormalDist().inv_cdf
            return lambda: max(least_us, round(first * math.exp(second * inverse(min(max(random(), _LEAST), _MOST)))))
        return lambda: max(least_us, round(first * (1.0 - random()) ** (-1.0 / second)))


KINDS = {
    "constant": ("constant(MS)", 1),
    "uniform": ("uniform(LOW, HIGH)", 2),
    "exponential": ("exponential(MEAN)", 1),
    "lognormal": ("lognormal(MEDIAN, SIGMA)", 2),
    "pareto": ("pareto(LEAST, SHAPE)", 2),
}


def parse_delay(text: str | float) -> Delay:
    """Parse the text of a distribution. A bare number is a constant."""
    found = _FORM.match(str(text))
    kind, inside = (found[1], found[2]) if found else ("constant", str(text))
    forms = ", ".join(form for form, _ in KINDS.values())
    if kind not in KINDS:
        raise BadData(f"unknown distribution {kind!r} in {str(text)!r}", hint=f"known: {forms}")
    form, count = KINDS[kind]
    try:
        numbers = tuple(float(part) for part in inside.split(","))
    except ValueError:
        raise BadData(f"{str(text)!r} is not a duration", hint=f"a number of ms, or one of {forms}") from None
    if len(numbers) != count or not all(math.isfinite(number) and number >= 0 for number in numbers):
        raise BadData(f"{str(text)!r}: expected {form} with finite numbers of at least 0")
    mean = _mean(kind, numbers, form)
    if not (max(numbers) <= MAX_MS and mean <= MAX_MS):
        raise BadData(f"{str(text)!r} is too long", hint=f"numbers and mean may go up to {MAX_MS:g} ms")
    return Delay(kind, numbers, mean)


def _mean(kind: str, numbers: tuple[float, ...], form: str) -> float:
    first, second = numbers[0], numbers[-1]
    if kind == "uniform":
        if first > second:
            raise BadData(f"{form}: LOW {first:g} is above HIGH {second:g}")
        return (first + second) / 2
    if kind == "lognormal":
        return first * math.exp(second**2 / 2) if second < _MAX_SIGMA else math.inf
    if kind == "pareto":
        if second <= 1:
            raise BadData(f"{form}: SHAPE {second:g} has no finite mean", hint="use a shape above 1")
        return first * second / (second - 1)
    return first
