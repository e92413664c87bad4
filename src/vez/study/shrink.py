"""Shrink: turn a failing random run into a short scenario that breaks the same property.

First the run becomes an explicit scenario: every want, fault, delay and choice is written down. Then parts are
removed (delta debugging, Zeller and Hildebrandt, IEEE TSE 28(2), 2002), processes are left out, and numbers are
rounded, as long as the same property stays broken for the same kind of reason, no other assumption of the algorithm is
broken, and the picture of the run explains as much as before (`vez.study.explain`). The work is limited by a number of
runs, not by time, so that the result is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from vez.core.assumptions import Assumption, Property
from vez.core.process import Process
from vez.core.trace import Trace
from vez.errors import VezError
from vez.judge.properties import Status, Verdict, judge
from vez.judge.properties.assumptions import broken_assumptions
from vez.study.explain import Unexplained, idle_crashes, unexplained
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.delays import US
from vez.worlds.sim.scenario import Expect, Fate

ATTEMPTS = 3000
PARTS = ("want", "elect", "crash", "pause", "partition", "suspect", "drift", "message", "choice", "timer")
DETAILS = ("message", "choice", "timer")
"""Kinds of items that are neither requests nor faults, except messages that are lost or copied."""
MOMENTS = ("at_ms", "recover_ms", "until_ms", "withdraw_ms")
"""Fields that hold a point in time."""
MOST_MOMENTS = 40
"""Largest number of times to which a crash without an effect is moved."""
Item = tuple[str, Any]


class Shrinker:
    """Tries smaller scenarios and keeps those that still fail."""

    def __init__(
        self, scenario: Scenario, algorithm: type[Process], broken: str, attempts: int, *, numbered: bool = False
    ) -> None:
        """`numbered` is True if the identifiers are only numbers, so that the processes may be renumbered."""
        self.algorithm = algorithm
        self.broken = broken
        self.left = attempts
        self.numbered = numbered
        self.best = scenario
        self.removing = False
        self.reason: str | None = None
        self.unexplained = Unexplained()
        self.dropped: set[Assumption] = set()  # assumptions that the run does not keep

    def begin(self) -> bool:
        """Judge the initial scenario. False if nothing is broken in it."""
        found = self._violation(self.best)
        if found is not None:
            self.reason, self.unexplained = reason(found[1]), unexplained(*found)
            self.dropped = set(broken_assumptions(found[0]))
        return found is not None

    def keep(self, candidate: Scenario, *, better: bool = False) -> bool:
        """Keep the candidate if it differs, still fails and explains as much (with `better`: more). True if kept."""
        if candidate == self.best or (self.best.elect and not candidate.elect):  # without a starter, all would start
            return False
        found = self._violation(candidate)
        if found is None or reason(found[1]) != self.reason:
            return False
        open_questions = unexplained(*found)
        allowed = self.unexplained
        if self.removing and self.broken not in (Property.EXCLUSION, Property.UNIQUENESS):
            allowed = allowed._replace(instant=1)
        if open_questions.is_worse_than(allowed) or (better and open_questions == self.unexplained):
            return False
        if not self.dropped.issuperset(broken_assumptions(found[0])):
            return False
        self.best, self.unexplained = candidate, open_questions
        return True

    def _violation(self, scenario: Scenario) -> tuple[Trace, Verdict] | None:
        """The run and its verdict if the property is broken in it. None for an invalid scenario."""
        if self.left <= 0:
            return None
        self.left -= 1
        return violation(scenario, self.algorithm, self.broken)

    def run(self, *, smaller: bool = True) -> Scenario:
        """Shrink until no step helps, or no attempts are left. Without `smaller`, all requests and faults stay."""
        before = None
        while before != self.best and self.left > 0:
            before = self.best
            self._explain_crashes()
            if smaller:
                self._remove()
            else:
                self._remove_items(DETAILS)
            self._start_at_once()
            self._close_gaps()
            self._round_numbers()
            self._renumber()
        return self.best

    def _remove(self) -> None:
        """Remove as much as possible, before attempts are spent on times. The violation may then take no time."""
        before, self.removing = None, True
        while before != self.best and self.left > 0:
            before = self.best
            self._remove_items(PARTS)
            self._remove_wants()
            self._remove_processes()
        self.removing = False

    def _remove_items(self, parts: tuple[str, ...]) -> None:
        """Delta debugging (ddmin) over all items of these parts together: wants, faults, fates of messages."""
        items = [item for item in _items(self.best) if item[0] in parts and not (parts is DETAILS and _is_fault(item))]
        others = [item for item in _items(self.best) if item not in items]
        size = max(1, len(items) // 2)
        while items and self.left > 0:
            start, removed = 0, False
            while start < len(items):
                rest = items[:start] + items[start + size :]
                if self.keep(_with_items(self.best, others + rest)):
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

    def _close_gaps(self) -> None:
        """Shift all events after a gap to earlier times."""
        moments = sorted({item.at_ms for _, item in _items(self.best) if hasattr(item, "at_ms")})
        for before, after in zip(moments[-2::-1], moments[:0:-1], strict=True):  # the last gap first
            for target in (before, before + 1, float(round((before + after) / 2))):
                items = [
                    (part, _sooner(item, after - target) if getattr(item, "at_ms", 0) >= after else item)
                    for part, item in _items(self.best)
                ]
                if target < after and self.keep(_with_items(self.best, items)):
                    break

    def _renumber(self) -> None:
        """Call the processes 1, 2, … in the same order, unless their identifiers were given."""
        best = self.best
        if not self.numbered or best.initial or best.edges:
            return
        names = {process: number for number, process in enumerate(sorted(best.ids), 1)}
        items = [(part, _renamed(item, names)) for part, item in _items(best)]
        self.keep(_with_items(best, items).but(ids=tuple(names[process] for process in best.ids)))

    def _explain_crashes(self) -> None:
        """Move crashes without an effect to times at which something has just begun."""
        found = self._violation(self.best) if self.unexplained.faults else None
        if found is None:
            return
        trace, idle = found[0], {(crash.process, crash.at) for crash in idle_crashes(found[0])}
        moments = sorted({event.at for event in trace})[:MOST_MOMENTS]
        for crash in self.best.crash:
            if (crash.process, round(crash.at_ms * US)) in idle:
                others = [item for item in _items(self.best) if item[1] is not crash]
                for at in moments:
                    moved = _sooner(crash, crash.at_ms - (at + trace.header.message_us / 2) / US)
                    if self.keep(_with_items(self.best, [*others, ("crash", moved)]), better=True):
                        break

    def _round_numbers(self) -> None:
        for place, (part, item) in enumerate(_items(self.best)):
            for field in item.__struct_fields__:
                simpler = True
                while simpler:  # halving needs several rounds
                    simpler = self._simplify(place, part, field)

    def _simplify(self, place: int, part: str, field: str) -> bool:
        """Give one field of one item the simplest value that still fails; True if it changed."""
        for value in _simpler(field, getattr(_items(self.best)[place][1], field)):
            items = _items(self.best)
            items[place] = (part, msgspec.structs.replace(items[place][1], **{field: value}))
            if self.keep(_with_items(self.best, items)):
                return True
        return False


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
    shrinker = Shrinker(start, algorithm, broken, attempts, numbered=not scenario.ids)
    if not shrinker.begin():
        return scenario.but(expect=Expect(broken=(broken,)))
    best = shrinker.run()
    progress(len(_items(best)))
    return best


def _items(scenario: Scenario) -> list[Item]:
    return [(part, item) for part in PARTS for item in getattr(scenario, part)]


def _with_items(scenario: Scenario, items: list[Item]) -> Scenario:
    return scenario.but(**{part: tuple(item for kind, item in items if kind == part) for part in PARTS})


def _is_fault(item: Item) -> bool:
    part, value = item
    return part == "message" and (value.lost or bool(value.copies))


def _named(item: Item) -> set[int]:
    """The processes that an item names."""
    _, value = item
    named = {getattr(value, field) for field in ("process", "peer", "sender", "to") if hasattr(value, field)}
    for group in (*getattr(value, "groups", ()), *getattr(value, "one_way", ())):
        named.update(group)
    return named


def _renamed(item: Any, names: dict[int, int]) -> Any:
    """An item with other names for the processes."""
    changes: dict[str, Any] = {
        field: names[getattr(item, field)] for field in ("process", "peer", "sender", "to") if hasattr(item, field)
    }
    for field in ("groups", "one_way"):
        if hasattr(item, field):
            changes[field] = tuple(tuple(names[process] for process in group) for group in getattr(item, field))
    return msgspec.structs.replace(item, **changes)


def violation(scenario: Scenario, algorithm: type[Process], broken: str) -> tuple[Trace, Verdict] | None:
    """The run and its verdict if the property is broken in it. None for an invalid scenario."""
    try:
        run = simulate(scenario, algorithm)
    except VezError:
        return None
    verdicts = judge(run.trace, [broken]) if run.trace is not None else ()
    found = next((verdict for verdict in verdicts if verdict.status is Status.BROKEN), None)
    return None if run.trace is None or found is None else (run.trace, found)


def reason(verdict: Verdict) -> str:
    """The kind of violation, for properties that can be broken in more than one way."""
    return verdict.said.key if verdict.name == Property.VALIDITY else "otherwise"


def _sooner(item: Any, early: float) -> Any:
    moments = {field: getattr(item, field, None) for field in MOMENTS}
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
    if field in ("recover_ms", "withdraw_ms"):
        yield None
    simplest = 0.0 if field in ("at_ms", "linger_ms") else 1.0
    seen = {value}
    half, whole = float(round(value / 2)), float(round(value))
    for candidate in (simplest, half, whole, round(value, 1), round(value, 2)):
        if candidate not in seen and simplest <= candidate <= value + 0.5:
            seen.add(candidate)
            yield candidate
