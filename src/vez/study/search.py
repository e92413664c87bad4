"""Search: the first of several scenarios in which a property is broken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from vez.core.process import Process
from vez.errors import HandlerFailed, ProtocolBug
from vez.judge.properties import Status, judge
from vez.worlds.sim import Scenario, simulate


class Break(msgspec.Struct, frozen=True, kw_only=True):
    """A run in which a property is broken."""

    scenario: Scenario
    property: str
    evidence: str
    seed: int
    tried: int
    """Number of seeds tried, this one included."""


def first_break(
    worlds: Iterable[Scenario],
    algorithm: type[Process],
    properties: Iterable[str],
    *,
    progress: Callable[[int], None] = lambda tried: None,
) -> Break | None:
    """Run one scenario after the other until one of the properties is broken."""
    return next(breaks(worlds, algorithm, properties, progress=progress), None)


def breaks(
    worlds: Iterable[Scenario],
    algorithm: type[Process],
    properties: Iterable[str],
    *,
    progress: Callable[[int], None] = lambda tried: None,
) -> Iterator[Break]:
    """Yield every scenario in which one of the properties is broken, with the first broken property.

    A run that ends in a `ProtocolBug` (for example an entry without a request) has no trace to show. It is skipped,
    because another seed will show the consequence.
    """
    wanted = tuple(properties)
    for tried, scenario in enumerate(worlds, 1):
        progress(tried)
        try:
            run = simulate(scenario, algorithm)
        except HandlerFailed:
            raise
        except ProtocolBug:
            continue
        verdicts = judge(run.trace, wanted) if run.trace is not None else ()
        for verdict in verdicts:
            if verdict.status is Status.BROKEN:
                yield Break(
                    scenario=scenario,
                    property=verdict.name,
                    evidence=verdict.evidence,
                    seed=scenario.seed,
                    tried=tried,
                )
                break
