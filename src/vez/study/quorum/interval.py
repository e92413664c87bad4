"""Confidence intervals for an observed rate: Wilson, and the exact one of Clopper and Pearson."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

CONFIDENCE = 0.99


def wilson(successes: int, trials: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Wilson score interval (JASA 22, 1927). Unlike the normal approximation it has a width at rates 0 and 1."""
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    rate, weight = successes / trials, z * z / trials
    centre = (rate + weight / 2) / (1 + weight)
    half = z * math.sqrt(rate * (1 - rate) / trials + weight / (4 * trials)) / (1 + weight)
    return max(0.0, centre - half), min(1.0, centre + half)


def clopper_pearson(successes: int, trials: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Exact interval (Clopper and Pearson, Biometrika 26, 1934): all rates that the observation does not reject."""
    tail = (1 - confidence) / 2
    low = 0.0 if successes == 0 else _root(lambda rate: _at_least(successes, trials, rate) - tail)
    high = 1.0 if successes == trials else _root(lambda rate: tail - (1 - _at_least(successes + 1, trials, rate)))
    return low, high


def _at_least(least: int, trials: int, rate: float) -> float:
    """Binomial tail, summed on a logarithmic scale starting at its largest term."""
    if rate <= 0 or rate >= 1:
        return float(least <= 0 or rate >= 1)
    success, failure = math.log(rate), math.log1p(-rate)
    whole = math.lgamma(trials + 1)
    return min(1.0, math.fsum(
        math.exp(whole - math.lgamma(k + 1) - math.lgamma(trials - k + 1) + k * success + (trials - k) * failure)
        for k in range(least, trials + 1)
    ))  # fmt: skip


def _root(rising: Callable[[float], float]) -> float:
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return (low + high) / 2
