"""Shortest: a failing run made as small and as easy to look at as possible, and whether it is minimal."""

from __future__ import annotations

import msgspec

from vez.core.process import Process
from vez.core.trace import Trace
from vez.judge.properties import Verdict
from vez.judge.properties.assumptions import broken_assumptions
from vez.study.explain import Unexplained, shown_events, unexplained
from vez.study.minimal import STATES, requests_of, smallest
from vez.study.shrink import ATTEMPTS, Shrinker, reason, shrink, violation
from vez.study.tidy import tidied
from vez.worlds.sim.scenario import Scenario, checked


class Shortest(msgspec.Struct, frozen=True, kw_only=True):
    """A short run that breaks a property."""

    scenario: Scenario
    minimal: bool
    """True if the checker saw the property hold with fewer processes, requests or faults."""
    words: str
    """The minimal numbers in words, or the reason why they are unknown."""


def shortest(scenario: Scenario, algorithm: type[Process], broken: str, *, states: int = STATES) -> Shortest:
    """Shrink a failing run, let the checker look for a smaller one, and make the result easy to look at."""
    short = shrink(scenario, algorithm, broken)
    return smallest_of(short, algorithm, broken, numbered=not scenario.ids, states=states)


def smallest_of(
    short: Scenario, algorithm: type[Process], broken: str, *, numbered: bool = True, states: int = STATES
) -> Shortest:
    """A shrunk run, or a smaller one of the checker, made easy to look at. `numbered`: as in `smallest`."""
    found = violation(short, algorithm, broken)
    if found is None or not short.ids:
        return Shortest(scenario=short, minimal=False, words="not shrunk: written out, the run does not fail again")
    answer = smallest(short, found[0], algorithm, broken, numbered=numbered, states=states)
    minimal, words = answer.minimal, answer.words
    if answer.example is not None:
        short, cost = _smaller(short, found, answer.example.scenario, algorithm, broken)
        if cost[:3] != answer.size:  # simulator and checker do not judge alike, for example by patience
            smaller = words.removeprefix("minimal: ")
            minimal, words = False, f"not minimal: {smaller}; its replay is judged otherwise, so this run is kept"
    return Shortest(scenario=tidied(short, algorithm, broken), minimal=minimal, words=words)


def _smaller(
    short: Scenario, found: tuple[Trace, Verdict], example: Scenario, algorithm: type[Process], broken: str
) -> tuple[Scenario, Cost]:
    """The shrunk run, or the checker's run if that is smaller, or is as small and explains more in fewer events."""
    cost = _cost(short, *found)
    shrinker = Shrinker(checked(example.but(title="", expect=short.expect)), algorithm, broken, ATTEMPTS)
    if not shrinker.begin() or shrinker.reason != reason(found[1]):
        return short, cost
    if not shrinker.dropped.issubset(broken_assumptions(found[0])):
        return short, cost
    other = shrinker.best if example.loop_ms is not None else shrinker.run(smaller=False)
    again = violation(other, algorithm, broken)
    if again is None:  # pragma: no cover - the shrinker keeps only runs that fail
        return short, cost
    return min((short, cost), (other, _cost(other, *again)), key=lambda pair: pair[1])


Cost = tuple[int, int, int, Unexplained, int]
"""Processes, requests, faults, unexplained things, events."""


def _cost(scenario: Scenario, trace: Trace, verdict: Verdict) -> Cost:
    faults = len(scenario.crash) + len(scenario.pause) + len(scenario.partition) + len(scenario.drift)
    faults += sum(crash.recover_ms is not None for crash in scenario.crash)
    faults += sum(fate.lost + len(fate.copies) for fate in scenario.message)
    faults += sum(want.withdraw_ms is not None for want in scenario.want)
    questions = unexplained(trace, verdict)
    faults += questions.suspicions
    return len(scenario.ids), requests_of(scenario, trace), faults, questions, shown_events(trace)
