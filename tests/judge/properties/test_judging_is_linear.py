"""Judging takes time in proportion to the events: counted in comparisons of process identifiers, not in seconds."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from vez.catalogue.load import load_algorithm
from vez.core.trace import Trace
from vez.study.report import report
from vez.worlds.sim import Scenario, simulate


class Identifier(int):
    """An identifier that counts how often it is compared with another object."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Identifier.compared += 1
        return int(self) == other

    __hash__ = int.__hash__


def _counting(value: Any) -> Any:
    """The value with an `Identifier` of its own in place of every whole number, as in a trace that was read."""
    return Identifier(value) if type(value) is int else value


def _with_identifiers(trace: Trace) -> Trace:
    names = ("process", "to", "sender", "leader", "peer")
    events = [
        msgspec.structs.replace(event, **{n: _counting(getattr(event, n)) for n in names if hasattr(event, n)})
        for event in trace
    ]
    header = msgspec.structs.replace(trace.header, ids=tuple(Identifier(one) for one in trace.header.ids))
    return Trace(header, tuple(events))


def _comparisons_per_event(algorithm: str, n: int, until_ms: float) -> float:
    scenario = Scenario(algorithm=algorithm, n=n, until_ms=until_ms)
    trace = simulate(scenario, load_algorithm(algorithm)).trace
    assert trace is not None
    counting = _with_identifiers(trace)
    Identifier.compared = 0
    report(counting)
    return Identifier.compared / len(trace.events)


@pytest.mark.parametrize("until_ms", [0.5, 1000])
@pytest.mark.parametrize("algorithm", ["bully", "chang-roberts", "majority", "ricart-agrawala"])
def test_judging_compares_no_more_for_each_event_of_more_processes(algorithm: str, until_ms: float) -> None:
    few, many = (_comparisons_per_event(algorithm, n, until_ms) for n in (10, 40))
    assert many < 2 * few + 1, f"{few:.1f} comparisons an event with 10 processes, {many:.1f} with 40"
