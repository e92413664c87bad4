"""Probability that a message takes longer than t, and the timeouts that can be best.

A `Silence` answers two questions. `late(t)` is p(t), the probability that a live process stays silent for longer than
t. `candidates(ratio)` are the only timeouts at which ratio·t + p(t) can be smallest: to the right of the peak of the
density p falls ever more slowly, so besides 0 and jumps that is where the density equals the ratio.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from pathlib import Path
from typing import Protocol

from vez.errors import BadData, MissingFile
from vez.worlds.sim.delays import Delay

MAX_BYTES = 32 * 1024 * 1024
MAX_SAMPLES = 1_000_000
LONGEST_MS = 1e12


class Silence(Protocol):
    """Distribution of the time for which a live peer stays silent."""

    @property
    def words(self) -> str:
        """The origin of the numbers, in words."""

    def late(self, t: float) -> float:
        """p(t): the probability of silence for longer than t ms."""

    def candidates(self, ratio: float) -> tuple[float, ...]:
        """Every timeout above 0 at which ratio·t + p(t) may be smallest; `ratio` is above 0."""


class DelayTail:
    """Tail of one of the delay distributions of the simulator."""

    def __init__(self, delay: Delay) -> None:
        self.delay = delay

    @property
    def words(self) -> str:
        """The distribution as text."""
        return self.delay.text

    def late(self, t: float) -> float:
        """The exact survival function."""
        first, second = self.delay.numbers[0], self.delay.numbers[-1]
        kind = self.delay.kind
        if kind == "constant" or self._jump is not None:
            return 1.0 if t < first else 0.0
        if kind == "uniform":
            return min(1.0, max(0.0, (second - t) / (second - first)))
        if kind == "exponential":
            return math.exp(-max(0.0, t) / first)
        if kind == "lognormal":
            return 1.0 if t <= 0 else math.erfc((math.log(t / first)) / (second * math.sqrt(2))) / 2
        return 1.0 if t <= first else math.exp(-second * math.log(t / first))  # pareto

    def candidates(self, ratio: float) -> tuple[float, ...]:
        """Candidates in closed form, for each kind of distribution."""
        first, second = self.delay.numbers[0], self.delay.numbers[-1]
        if self._jump is not None:
            return (self._jump,)
        if self.delay.kind == "uniform":
            return (second,)  # a straight line is smallest at an end
        if self.delay.kind == "exponential":
            return (-first * math.log(ratio * first),) if ratio * first < 1 else ()
        if self.delay.kind == "pareto":
            logarithm = (math.log(second) + second * math.log(first) - math.log(ratio)) / (second + 1)
            return (max(first, math.exp(min(logarithm, math.log(LONGEST_MS)))),)
        return self._lognormal(ratio)

    @property
    def _jump(self) -> float | None:
        """The value of a distribution with a single value, else None."""
        first, second, kind = self.delay.numbers[0], self.delay.numbers[-1], self.delay.kind
        single = kind == "constant" or (kind == "uniform" and first == second)
        single = single or (first == 0 and kind != "uniform") or (kind == "lognormal" and second == 0)
        return first if single else None

    def _lognormal(self, ratio: float) -> tuple[float, ...]:
        """density(t) = ratio is a quadratic in log t; the larger root lies to the right of the peak."""
        mu, sigma = math.log(self.delay.numbers[0]), self.delay.numbers[1]
        peak = mu - sigma**2
        inside = peak**2 - mu**2 - 2 * sigma**2 * math.log(ratio * sigma * math.sqrt(2 * math.pi))
        if inside < 0:
            return ()
        return (math.exp(min(peak + math.sqrt(inside), math.log(LONGEST_MS))),)


class Samples:
    """Measured delays: p(t) is the share of samples above t."""

    def __init__(self, values_ms: list[float], words: str) -> None:
        if not values_ms:
            raise BadData(f"{words}: no samples", hint="one number of milliseconds a line")
        self.values_ms = sorted(values_ms)
        self._words = words

    @property
    def words(self) -> str:
        """Number and origin of the samples."""
        return f"{len(self.values_ms):,} samples from {self._words}"

    def late(self, t: float) -> float:
        """The share of the samples above t."""
        return (len(self.values_ms) - bisect_right(self.values_ms, t)) / len(self.values_ms)

    def candidates(self, ratio: float) -> tuple[float, ...]:
        """The samples: between two of them only the waiting cost grows, so the best timeout is a sample."""
        return tuple(self.values_ms)


def read_samples(path: Path) -> Samples:
    """Samples from a file: one number of milliseconds a line; blank lines and # comments are skipped."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise MissingFile(f"cannot read {path}: {error.strerror}") from error
    return parse_samples(raw, str(path))


def parse_samples(raw: bytes, where: str) -> Samples:
    """Parse samples from untrusted bytes."""
    if len(raw) > MAX_BYTES:
        raise BadData(f"{where} is larger than {MAX_BYTES >> 20} MiB", hint="keep a random part of the samples")
    values: list[float] = []
    for number, line in enumerate(raw.split(b"\n"), 1):
        words = line.split(b"#", 1)[0].strip()
        if not words:
            continue
        found = words[:40].decode("utf-8", "backslashreplace")
        try:
            value = float(words) if len(words) <= 40 else math.nan
        except ValueError:
            raise BadData(
                f"{where}, line {number}: {found!r} is not a number", hint="one number of milliseconds a line"
            ) from None
        if not 0 <= value <= LONGEST_MS:  # NaN is not
            raise BadData(
                f"{where}, line {number}: expected milliseconds from 0 to {LONGEST_MS:g}, found {found!r}",
                hint="one number of milliseconds a line",
            )
        values.append(value)
        if len(values) > MAX_SAMPLES:
            raise BadData(f"{where} has more than {MAX_SAMPLES:,} samples", hint="keep a random part of them")
    return Samples(values, where)
