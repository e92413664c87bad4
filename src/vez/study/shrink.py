"""Shrink: turn a failing random run into a short scenario that breaks the same property.

First the run becomes an explicit scenario: every want, fault, delay and choice is written down. Then parts are
removed (delta debugging, Zeller and Hildebrandt, IEEE TSE 28(2), 2002), processes are left out, and numbers are
rounded, as long as the same property stays broken. The work is limited by a number of runs, not by time, so that the
result is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from vez.core.assumptions import Property
from vez.core.process import Process
from vez.errors import VezError
from vez.properties import Status, Verdict, judge
from vez.sim import Scenario, simulate
from vez.sim.scenario import Expect, Fate

ATTEMPTS = 3000
PARTS = ("want", "elect", "crash", "pause", "partition", "suspect", "drift", "message", "choice")
Item = tuple[str, Any]


class Shrinker:
    """Tries smaller scenarios and keeps those that still fail."""

    def __init__(self, scenario: Scenario, algorithm: type[Process], broken: str, attempts: int) -> None:
        self.algorithm = algorithm
        self.broken = broken
        self.left = attempts
        self.best = scenario

    def fails(self, scenario: Scenario) -> bool:
        """True if the property is broken in this run. False for an invalid scenario."""
        if self.left <= 0:
            return False
        self.left -= 1
        try:
            run = simulate(scenario, self.algorithm)
        except VezError:
            return False
        verdicts = judge(run.trace, [self.broken]) if run.trace is not None else ()
        return any(verdict.status is Status.BROKEN and _lasts(verdict) for verdict in verdicts)

    def keep(self, candidate: Scenario) -> bool:
        """Keep the candidate if it differs and still fails; True if kept."""
        if candidate == self.best or not self.fails(candidate):
            return False
        self.best = candidate
        return True

    def run(self) -> Scenario:
        """Shrink until no step helps, or no attempts are left."""
        before = None
        while before != self.best and self.left > 0:
            before = self.best
            self._remove_items()
            self._remove_wants()
            self._remove_processes()
            self._start_at_once()
            self._round_numbers()
        return self.best

    def _remove_items(self) -> None:
        """Delta debugging (ddmin) over all wants, faults and message fates together."""
        items = _items(self.best)
        size = max(1, len(items) // 2)
        while items and self.left > 0:
            start, removed = 0, False
            while start < len(items):
                rest = items[:start] + items[start + size :]
                if self.keep(_with_items(self.best, rest)):
                    items, removed = rest, True
                else:
                    start += size
            if size == 1 and not removed:
                return
            size = max(1, size // 2)

    def _remove_wants(self) -> None:
        """Remove wants one by one. Later messages of that process get smaller numbers, so renumber their fates."""
        for want in reversed(self.best.want):
            items = [
                (part, _earlier(item) if part == "message" and want.process in (item.sender, item.to) else item)
                for part, item in _items(self.best)
                if item is not want
            ]
            self.keep(_with_items(self.best, items))

    def _remove_processes(self) -> None:
        for process in sorted(self.best.ids, reverse=True):
            ids = tuple(other for other in self.best.ids if other != process)
            items = [item for item in _items(self.best) if process not in _named(item)]
            initial = {key: value for key, value in self.best.initial.items() if key != str(process)}
            self.keep(_with_items(self.best, items).but(ids=ids, initial=initial))

    def _start_at_once(self) -> None:
        """Shift all times so that the first event happens at 0."""
        items = _items(self.best)
        early = min((item.at_ms for _, item in items if hasattr(item, "at_ms")), default=0.0)
        self.keep(_with_items(self.best, [(part, _sooner(item, early)) for part, item in items]))

    def _round_numbers(self) -> None:
        for place, (part, item) in enumerate(_items(self.best)):
            for field in item.__struct_fields__:
                for simpler in _simpler(field, getattr(item, field)):
                    items = _items(self.best)
                    items[place] = (part, msgspec.structs.replace(items[place][1], **{field: simpler}))
                    if self.keep(_with_items(self.best, items)):
                        break


def shrink(
    scenario: Scenario,
    algorithm: type[Process],
    broken: str,
    *,
    attempts: int = ATTEMPTS,
    progress: Callable[[int], None] = lambda size: None,
) -> Scenario:
    """The shortest scenario found in which the same property is broken. `scenario` must already fail."""
    run = simulate(scenario, algorithm, explain=True)
    if run.explicit is None or run.trace is None:
        raise VezError("an explained run has no explicit scenario", hint="this is a bug in vez")
    start = run.explicit.but(n=None, ids=run.trace.header.ids, expect=Expect(broken=(broken,)))
    shrinker = Shrinker(start, algorithm, broken, attempts)
    if not shrinker.fails(start):
        return scenario.but(expect=Expect(broken=(broken,)))
    best = shrinker.run()
    progress(len(_items(best)))
    return best


def _items(scenario: Scenario) -> list[Item]:
    return [(part, item) for part in PARTS for item in getattr(scenario, part)]


def _with_items(scenario: Scenario, items: list[Item]) -> Scenario:
    return scenario.but(**{part: tuple(item for kind, item in items if kind == part) for part in PARTS})


def _named(item: Item) -> set[int]:
    """The processes that an item names."""
    _, value = item
    named = {getattr(value, field) for field in ("process", "peer", "sender", "to") if hasattr(value, field)}
    for group in (*getattr(value, "groups", ()), *getattr(value, "one_way", ())):
        named.update(group)
    return named


def _lasts(verdict: Verdict) -> bool:
    """True if the violation lasts long enough to be seen in a picture."""
    together = verdict.name in (Property.EXCLUSION, Property.UNIQUENESS)
    return not together or any(span.end > span.start for span in verdict.spans)


def _sooner(item: Any, early: float) -> Any:
    moments = {field: getattr(item, field, None) for field in ("at_ms", "recover_ms", "until_ms")}
    given = {field: round(at - early, 6) for field, at in moments.items() if at is not None}
    return msgspec.structs.replace(item, **given)


def _earlier(fate: Fate) -> Fate:
    return msgspec.structs.replace(fate, number=max(1, fate.number - 1))


def _simpler(field: str, value: Any) -> Iterator[Any]:
    """Smaller and rounder values, the simplest first. Times go towards 0, durations towards 1."""
    if isinstance(value, tuple) and value and isinstance(value[0], float):
        yield from (tuple(round(part, digits) for part in value) for digits in (0, 1, 2))
    if not isinstance(value, float) or field == "rate":
        return
    simplest = 0.0 if field == "at_ms" else 1.0
    seen = {value}
    for candidate in (simplest, float(round(value / 2)), float(round(value)), round(value, 1), round(value, 2)):
        if candidate not in seen and simplest <= candidate <= value + 0.5:
            seen.add(candidate)
            yield candidate
