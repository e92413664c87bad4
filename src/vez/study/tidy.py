"""Tidy: make a shrunk run easy to look at.

In a shrunk run two stays may overlap by only a microsecond, or the run may continue long after the violation. Each step
here is kept only if the same property is still broken after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import msgspec

from vez.core.assumptions import Property
from vez.core.process import Process
from vez.study.shrink import violation
from vez.worlds.sim import Scenario

SEEN_AT_ONCE = (Property.EXCLUSION, Property.UNIQUENESS)
"""Properties that break at one point in time. Liveness properties are broken only at the end of a run."""
SHORTER_MS = (110.0, 130.0, 200.0)
"""Shorter ends for runs that never fall silent: a little more than the patience of the judges."""
LONGER_MS = 3.0
MOST_STAYS = 12  # the number of pairs grows with the square


def tidied(short: Scenario, algorithm: type[Process], broken: str) -> Scenario:
    """A shrunk run, made easy to look at. A run that repeats itself for ever stays as it is."""
    if short.loop_ms is not None:
        return short
    best = short

    def visible(scenario: Scenario) -> int:
        found = violation(scenario, algorithm, broken)
        return -1 if found is None else max((span.end - span.start for span in found[1].spans), default=0)

    if broken == Property.EXCLUSION:
        best = max((best, *_longer_stays(best)), key=visible)
    found = violation(best, algorithm, broken)
    if broken in SEEN_AT_ONCE and found is not None and found[1].spans:
        # End a little after it begins, or a microsecond before the first exit. Later messages do not matter.
        last = (max(span.end for span in found[1].spans) - 1) / 1000
        soon = float(round(max(span.start for span in found[1].spans) / 1000 + LONGER_MS))
        ends = sorted({soon, float(int(last)), last}) if soon < last else [float(int(last)), last]
        shorter = [best.but(until_ms=until_ms) for until_ms in ends]
        best = next((scenario for scenario in shorter if visible(scenario) > 0), best)
    for until_ms in SHORTER_MS:
        ended = best.but(until_ms=until_ms)
        if until_ms < best.until_ms and broken not in SEEN_AT_ONCE and visible(ended) >= 0:
            return ended
    return best


def _longer_stays(scenario: Scenario) -> Iterator[Scenario]:
    """Yield scenarios in which one pair of stays lasts longer, so that an overlap can be seen."""
    for places in combinations(range(min(len(scenario.want), MOST_STAYS)), 2):
        wants = list(scenario.want)
        for place in places:
            wants[place] = msgspec.structs.replace(wants[place], inside_ms=wants[place].inside_ms + LONGER_MS)
        yield scenario.but(want=tuple(wants))
