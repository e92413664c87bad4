"""The trade-off of every failure detector: detect sooner, or make fewer mistakes.

The setting of each detector (timeout, first timeout, threshold) is varied. Each value gives one point: the detection
time of a crash, and how often a live process is suspected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from vez.core.detectors import Settings
from vez.study.detection.quality import Candidate, Condition, Quality, assess, candidates

TIMEOUTS = (1.1, 1.3, 1.6, 2.0, 2.5, 3.0, 4.0, 6.0)
"""The timeouts that are tried, in intervals."""
THRESHOLDS = (0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 12.0)


class Curve(msgspec.Struct, frozen=True):
    """One detector under one condition, over all values of its setting."""

    detector: str
    condition: str
    points: tuple[Quality, ...]


def curves(
    settings: Settings,
    conditions: Sequence[Condition],
    *,
    beats: int,
    trials: int,
    seed: int = 0,
    progress: Callable[[], None] = lambda: None,
) -> list[Curve]:
    """The curves of all detectors under all conditions."""
    found = []
    for condition in conditions:
        for candidate in candidates(settings):
            points = []
            for turned in settings_of(candidate):
                points.append(assess(turned, condition, beats=beats, trials=trials, seed=seed))
                progress()
            found.append(Curve(candidate.name, condition.name, tuple(points)))
    return found


def settings_of(candidate: Candidate) -> Iterator[Candidate]:
    """Yield the candidate with each value of its setting."""
    for position, threshold in enumerate(THRESHOLDS):
        if candidate.kind == "phi":
            change = {"threshold": threshold}
        else:
            change = {"timeout_ms": TIMEOUTS[position] * candidate.settings.interval_ms}
        yield msgspec.structs.replace(candidate, settings=msgspec.structs.replace(candidate.settings, **change))


def count(conditions: Sequence[Condition], settings: Settings) -> int:
    """Number of points that `curves` will compute."""
    return len(conditions) * len(candidates(settings)) * len(THRESHOLDS)
