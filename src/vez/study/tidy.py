"""Tidy: shrink a failing run, then make it easy to look at.

A shrunk run may still start late, overlap by only a microsecond, or go on long after the violation. Each step here is
kept only if the same property is still broken after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import msgspec

from vez.core.assumptions import Property
from vez.core.process import Process
from vez.errors import VezError
from vez.properties import Status, Verdict, judge
from vez.sim import Scenario, simulate
from vez.study.search import Break
from vez.study.shrink import shrink

ATTEMPTS = 1500
"""Runs spent on shrinking one scenario; more runs rarely remove anything."""
TIMED = ("want", "elect", "crash", "pause", "partition", "suspect")
SEEN_AT_ONCE = (Property.EXCLUSION, Property.UNIQUENESS)
"""Properties that break at one point in time. Liveness properties are broken only at the end of a run."""
SHORTER_MS = (110.0, 130.0, 200.0)
"""Shorter ends for runs that never fall silent: a little more than the patience of the judges."""
LONGER_MS = 3.0
MOST_STAYS = 12  # the number of pairs grows with the square


def shortened(found: Break, algorithm: type[Process], *, attempts: int = ATTEMPTS) -> Scenario:
    """The failing run as a short scenario that is easy to look at."""
    best = shrink(found.scenario, algorithm, found.property, attempts=attempts)

    def visible(scenario: Scenario) -> int:
        verdict = _verdict(scenario, algorithm, found.property)
        return -1 if verdict is None else max((span.end - span.start for span in verdict.spans), default=0)

    best = max((best, _earlier(best)), key=lambda scenario: (visible(scenario) >= 0, scenario != best))
    if found.property == Property.EXCLUSION:
        best = max((best, *_longer_stays(best)), key=visible)
    verdict = _verdict(best, algorithm, found.property)
    if found.property in SEEN_AT_ONCE and verdict is not None and verdict.spans:
        # end a microsecond before the first exit: what is sent after it does not matter
        ended = best.but(until_ms=(max(span.end for span in verdict.spans) - 1) / 1000)
        best = ended if visible(ended) >= 0 else best
    for until_ms in SHORTER_MS:
        ended = best.but(until_ms=until_ms)
        if until_ms < best.until_ms and found.property not in SEEN_AT_ONCE and visible(ended) >= 0:
            return ended
    return best


def _earlier(scenario: Scenario) -> Scenario:
    """Shift all times so that the first event happens at 0."""
    first = min((item.at_ms for part in TIMED for item in getattr(scenario, part)), default=0.0)
    return scenario.but(**{part: tuple(_shifted(item, -first) for item in getattr(scenario, part)) for part in TIMED})


def _longer_stays(scenario: Scenario) -> Iterator[Scenario]:
    """Yield scenarios in which one pair of stays lasts longer, so that an overlap can be seen."""
    for places in combinations(range(min(len(scenario.want), MOST_STAYS)), 2):
        wants = list(scenario.want)
        for place in places:
            wants[place] = msgspec.structs.replace(wants[place], inside_ms=wants[place].inside_ms + LONGER_MS)
        yield scenario.but(want=tuple(wants))


def _shifted(item: Any, by: float) -> Any:
    moments = {
        field: round(getattr(item, field) + by, 3)
        for field in ("at_ms", "recover_ms", "until_ms")
        if getattr(item, field, None) is not None
    }
    return msgspec.structs.replace(item, **moments)


def _verdict(scenario: Scenario, algorithm: type[Process], broken: str) -> Verdict | None:
    """The verdict on the property if it is broken in this scenario, else None."""
    try:
        run = simulate(scenario, algorithm)
    except VezError:
        return None
    verdicts = judge(run.trace, [broken]) if run.trace is not None else ()
    return next((verdict for verdict in verdicts if verdict.status is Status.BROKEN), None)
