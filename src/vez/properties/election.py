"""Judges of leader election. Each takes a history and returns a verdict with evidence."""

from __future__ import annotations

from itertools import pairwise

from vez.core.assumptions import Property
from vez.properties.causality import path
from vez.properties.history import History, Reign
from vez.properties.verdict import Span, Verdict, broken, holds, ms, undecided


def uniqueness(history: History) -> Verdict:
    """Never two leaders at once; where there are terms, never two in one term."""
    reigns = sorted(history.reigns, key=lambda reign: reign.start_index)
    for late, reign in enumerate(reigns):
        for other in reigns[:late]:
            if other.leader == reign.leader:
                continue
            same_term = other.term == reign.term
            together = other.end_index > reign.start_index
            if same_term and (together or reign.term):
                return _two_leaders(history, other, reign, together)
    return holds(Property.UNIQUENESS, f"{_count(len(reigns), 'reign')}, no two leaders at once")


def termination(history: History) -> Verdict:
    """Somebody becomes leader."""
    if history.reigns:
        first = min(history.reigns, key=lambda reign: reign.start_index)
        return holds(Property.TERMINATION, f"process {first.leader} leads from {ms(first.start)} ms")
    if not history.live:
        return undecided(Property.TERMINATION, "nobody is left alive")
    if not history.settled:
        return undecided(Property.TERMINATION, f"nobody led when the run was cut at {ms(history.end)} ms")
    return broken(
        Property.TERMINATION,
        f"nobody led from the start to the end at {ms(history.end)} ms",
        spans=tuple(Span(process, 0, history.end) for process in history.live),
    )


def agreement(history: History) -> Verdict:
    """All live processes name the same leader at the end."""
    views = {process: history.views.get(process, (None, 0))[0] for process in history.live}
    named = sorted({leader for leader in views.values() if leader is not None})
    without = [process for process, leader in views.items() if leader is None]
    if len(named) == 1 and not without:
        return holds(Property.AGREEMENT, f"all {len(views)} live processes name {named[0]}")
    if not views:
        return undecided(Property.AGREEMENT, "nobody is left alive")
    if not history.settled:
        return undecided(Property.AGREEMENT, f"the run was cut at {ms(history.end)} ms, before all had settled")
    parts = [f"{_those(process for process, view in views.items() if view == leader)} {leader}" for leader in named]
    parts += [f"{_those(without)} nobody"] if without else []
    return broken(
        Property.AGREEMENT,
        f"at {ms(history.end)} ms " + "; ".join(parts),
        spans=tuple(Span(process, _last_word(history), history.end) for process in views),
    )


def stability(history: History) -> Verdict:
    """No new leader unless the old one failed."""
    reigns = sorted(history.reigns, key=lambda reign: reign.start_index)
    for before, after in pairwise(reigns):
        failed = before.end_index < after.start_index and (
            before.ended_by == "crash" or history.is_down(before.leader, after.start)
        )
        if before.leader != after.leader and not failed:
            return broken(
                Property.STABILITY,
                f"process {after.leader} took over from process {before.leader} at {ms(after.start)} ms, "
                f"which had not failed",
                spans=(
                    Span(before.leader, before.start, before.end),
                    Span(after.leader, after.start, after.end),
                ),
                messages=path(history.trace, after.start_index, after.leader),
            )
    return holds(Property.STABILITY, f"{_count(max(0, len(reigns) - 1), 'change')} of leader, each after a crash")


def validity(history: History) -> Verdict:
    """The leader is a live process, and the best one where that is promised."""
    named = sorted({leader for leader, _ in history.views.values()})
    if not named:
        return undecided(Property.VALIDITY, "nobody was named")
    dead = [leader for leader in named if leader not in history.live]
    if dead and history.settled:
        return broken(Property.VALIDITY, f"process {dead[0]} is named leader and is not alive")
    if dead:
        return undecided(Property.VALIDITY, f"process {dead[0]} is dead, and the run was cut before all had heard")
    best = max(history.live)
    if history.trace.header.best_wins and any(leader != best for leader in named):
        wrong = next(leader for leader in named if leader != best)
        if not history.settled:
            return undecided(Property.VALIDITY, f"process {wrong} led when the run was cut at {ms(history.end)} ms")
        return broken(Property.VALIDITY, f"process {wrong} leads although process {best} is alive")
    promise = f", the largest of the {len(history.live)} live" if history.trace.header.best_wins else ", and alive"
    leads = f"process {named[0]} leads" if len(named) == 1 else f"processes {', '.join(map(str, named))} lead"
    return holds(Property.VALIDITY, leads + promise)


def leader(history: History) -> int | None:
    """The live leader that all live processes name at the end, or None."""
    named = {history.views.get(process, (None, 0))[0] for process in history.live}
    agreed = named.pop() if len(named) == 1 else None
    return agreed if agreed in history.live else None


def _two_leaders(history: History, one: Reign, other: Reign, together: bool) -> Verdict:
    end = min(one.end, other.end)
    term = f" of term {other.term}" if other.term else ""
    when = (
        f"together from {ms(other.start)} to {ms(end)} ms"
        if together
        else f"at {ms(one.start)} and {ms(other.start)} ms"
    )
    return broken(
        Property.UNIQUENESS,
        f"processes {one.leader} and {other.leader} were both leaders{term}, {when}",
        spans=(
            Span(one.leader, other.start if together else one.start, one.end),
            Span(other.leader, other.start, other.end),
        ),
        messages=path(history.trace, other.start_index, other.leader),
    )


def _last_word(history: History) -> int:
    return max((reign.start for reign in history.reigns), default=0)


def _those(processes: object) -> str:
    members = sorted(processes)  # type: ignore[call-overload]
    return f"process {members[0]} names" if len(members) == 1 else f"processes {', '.join(map(str, members))} name"


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


JUDGES = {
    Property.UNIQUENESS: uniqueness,
    Property.TERMINATION: termination,
    Property.AGREEMENT: agreement,
    Property.STABILITY: stability,
    Property.VALIDITY: validity,
}
