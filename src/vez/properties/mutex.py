"""Judges of mutual exclusion. Each takes a history and returns a verdict with evidence."""

from __future__ import annotations

from itertools import pairwise

from vez.core.assumptions import Property
from vez.core.trace import Entered, Wrote
from vez.properties.causality import path, vector_clocks
from vez.properties.history import History, Stay
from vez.properties.verdict import Span, Verdict, broken, holds, ms, not_judged, undecided


def exclusion(history: History) -> Verdict:
    """Never two inside at once. Overlap is judged by position in the trace, so an exit and an entry within the
    same microsecond are not taken for an overlap."""
    inside: list[Stay] = []
    entries = sorted((stay for stay in history.stays if stay.served), key=_entered)
    for stay in entries:
        inside = [other for other in inside if _left(other) > _entered(stay)]
        if inside:
            other = inside[-1]
            start = stay.entered_at or 0
            end = min(_until(history, stay), _until(history, other))
            return broken(
                Property.EXCLUSION,
                f"processes {other.process} and {stay.process} were inside together from {ms(start)} to {ms(end)} ms",
                spans=(Span(other.process, start, end), Span(stay.process, start, end)),
                messages=path(history.trace, _entered(stay), stay.process),
            )
        inside.append(stay)
    return holds(Property.EXCLUSION, f"{_count(len(entries), 'entry')}, no two at once")


def starvation_freedom(history: History) -> Verdict:
    """Everybody who wants in gets in, or stops wanting it."""
    starving = _starving(history)
    if isinstance(starving, Verdict):
        return starving
    if starving:
        stay = starving[0]
        return broken(
            Property.STARVATION_FREEDOM,
            f"{_names(starving)} waited in vain, process {stay.process} from {ms(stay.wanted_at)} ms to the end "
            f"at {ms(history.end)} ms",
            spans=tuple(Span(stay.process, stay.wanted_at, history.end) for stay in starving),
        )
    served = sum(stay.served for stay in history.stays)
    gone = sum(stay.withdrawn for stay in history.stays)
    withdrawn = f", {gone} withdrawn" if gone else ""
    return holds(
        Property.STARVATION_FREEDOM,
        f"{served} of {_count(len(history.stays), 'request')} served{withdrawn}, nobody left waiting",
    )


def deadlock_freedom(history: History) -> Verdict:
    """If processes want in, one gets in: there is no time from which on there are waiters and no entries."""
    starving = _starving(history)
    last = max((stay.entered_at or 0 for stay in history.stays if stay.served), default=0)
    inside = [stay for stay in history.stays if stay.served and stay.left_at is None]
    stuck = history.trace.header.end == "quiet" or history.end - last >= history.trace.header.patience_us
    if isinstance(starving, Verdict):
        if not last or (stuck and not inside):
            return undecided(Property.DEADLOCK_FREEDOM, starving.evidence)
        starving = []  # the queue still moves
    if starving and not inside and stuck:
        since = max(last, min(stay.wanted_at for stay in starving))
        return broken(
            Property.DEADLOCK_FREEDOM,
            f"{_names(starving)} wanted in and nobody got in from {ms(since)} ms to the end at {ms(history.end)} ms",
            spans=tuple(Span(stay.process, max(since, stay.wanted_at), history.end) for stay in starving),
        )
    return holds(
        Property.DEADLOCK_FREEDOM, f"{_count(sum(stay.served for stay in history.stays), 'entry')}, never stuck"
    )


def bounded_waiting(history: History) -> Verdict:
    """Bypasses are bounded. A bypass is the entry of a later request while an earlier one waits."""
    worst = max(history.bypasses, default=0)
    victim = history.stays[history.bypasses.index(worst)] if worst else None
    bound = history.trace.header.bypass_bound
    if bound is not None and worst > bound and victim is not None:
        return broken(
            Property.BOUNDED_WAITING,
            f"process {victim.process} was overtaken {_count(worst, 'time')}, more than the promised {bound}",
            spans=(Span(victim.process, victim.wanted_at, _until(history, victim)),),
        )
    starving = _starving(history)
    if isinstance(starving, Verdict):
        return undecided(Property.BOUNDED_WAITING, starving.evidence)
    if starving:
        first = starving[0]
        overtaken = history.bypasses[history.stays.index(first)]
        return broken(
            Property.BOUNDED_WAITING,
            f"process {first.process} never got in"
            + (f"; {_count(overtaken, 'later request')} did" if overtaken else ""),
            spans=(Span(first.process, first.wanted_at, history.end),),
        )
    whom = f" (process {victim.process}, from {ms(victim.wanted_at)} ms)" if victim else ""
    return holds(Property.BOUNDED_WAITING, f"at most {worst} bypass{'es' if worst != 1 else ''}{whom}")


def request_order(history: History) -> Verdict:
    """Entries follow the happened-before order of the requests."""
    served = sorted((stay for stay in history.stays if stay.served and not stay.withdrawn), key=_entered)
    size = len(history.trace.events) * len(history.trace.header.ids) + len(served) ** 2
    if size > MOST_WORK:
        return not_judged(Property.REQUEST_ORDER, f"the run is too large for it ({_count(len(served), 'entry')})")
    stamps = vector_clocks(history.trace, frozenset(stay.wanted_index for stay in history.stays))
    position = {process: place for place, process in enumerate(history.trace.header.ids)}
    for late, stay in enumerate(served):
        for earlier in served[:late]:
            count, _ = stamps[stay.wanted_index]
            _, known = stamps[earlier.wanted_index]
            if known[position[stay.process]] >= count:
                return broken(
                    Property.REQUEST_ORDER,
                    f"process {stay.process} asked at {ms(stay.wanted_at)} ms and process {earlier.process}, which "
                    f"knew of it and asked at {ms(earlier.wanted_at)} ms, got in first",
                    spans=(Span(stay.process, stay.wanted_at, stay.entered_at or 0),),
                    messages=path(history.trace, earlier.wanted_index, earlier.process),
                )
    return holds(Property.REQUEST_ORDER, f"{_count(len(served), 'entry')} in the order of the requests")


def fenced_exclusion(history: History) -> Verdict:
    """A resource that checks tokens never accepts a write of a stay after a write of a later stay."""
    writes = [event for event in history.trace.events if isinstance(event, Wrote)]
    if not writes:
        tokens = any(isinstance(event, Entered) for event in history.trace.events)
        why = "no stay carries a token" if tokens else "nobody got in"
        return not_judged(Property.FENCED_EXCLUSION, why)
    order = {id(write): entry for write, entry in _entries_of_writes(history)}
    accepted = [write for write in writes if write.accepted]
    for one, other in pairwise(accepted):
        if order[id(other)] < order[id(one)]:
            return broken(
                Property.FENCED_EXCLUSION,
                f"the resource accepted a stale write of process {other.process} (token {other.token}) at "
                f"{ms(other.at)} ms, after one of process {one.process} (token {one.token}), which got in later",
                spans=(Span(other.process, one.at, other.at),),
            )
    refused = len(writes) - len(accepted)
    return holds(
        Property.FENCED_EXCLUSION, f"{_count(len(accepted), 'write')} accepted in order, {refused} stale refused"
    )


def _entries_of_writes(history: History) -> list[tuple[Wrote, int]]:
    """Each write with the trace index at which the writing stay entered."""
    entered: dict[int, int] = {}
    found: list[tuple[Wrote, int]] = []
    for index, event in enumerate(history.trace.events):
        if isinstance(event, Entered):
            entered[event.process] = index
        elif isinstance(event, Wrote):
            found.append((event, entered.get(event.process, -1)))
    return found


def _starving(history: History) -> list[Stay] | Verdict:
    """Stays of live processes that starve, or an undecided verdict if the run was cut too early to tell.

    In a run that a limit cut short, a process starves if nobody was inside and nobody got in for `patience_us`, or if
    it was overtaken more than twice per process. A long queue that still moves is not starvation.
    """
    waiting = [stay for stay in history.stays if not stay.served and not stay.crashed and not stay.withdrawn]
    inside = any(stay.served and stay.left_at is None for stay in history.stays)
    header = history.trace.header
    if not waiting or (header.end == "quiet" and not inside):
        return waiting
    last = max((stay.entered_at or 0 for stay in history.stays), default=0)
    last = max(last, *(stay.left_at or 0 for stay in history.stays if stay.served), 0)
    stuck = not inside and history.end - last >= header.patience_us
    often = 2 * len(header.ids)
    overtaken = {id(stay): count for stay, count in zip(history.stays, history.bypasses, strict=True)}
    starving = [
        stay
        for stay in waiting
        if history.end - stay.wanted_at >= header.patience_us and (stuck or overtaken[id(stay)] > often)
    ]
    if starving:
        return starving
    return undecided(
        Property.STARVATION_FREEDOM,
        f"{_names(waiting)} still waited when the run was cut at {ms(history.end)} ms, too early to tell",
    )


def _entered(stay: Stay) -> int:
    return -1 if stay.entered_index is None else stay.entered_index


def _left(stay: Stay) -> float:
    return float("inf") if stay.left_index is None else stay.left_index


def _until(history: History, stay: Stay) -> int:
    return history.end if stay.left_at is None else stay.left_at


def _count(count: int, noun: str) -> str:
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{count:,} {noun if count == 1 else plural}"


def _names(stays: list[Stay]) -> str:
    processes = sorted({stay.process for stay in stays})
    if len(processes) > 8:
        return f"{len(processes)} processes ({', '.join(map(str, processes[:5]))}, …)"
    word = "process" if len(processes) == 1 else "processes"
    return f"{word} {', '.join(map(str, processes))}"


MOST_WORK = 50_000_000
"""Limit of events times processes, plus pairs of entries. Vector clocks cost one number per process and event."""

JUDGES = {
    Property.EXCLUSION: exclusion,
    Property.DEADLOCK_FREEDOM: deadlock_freedom,
    Property.STARVATION_FREEDOM: starvation_freedom,
    Property.BOUNDED_WAITING: bounded_waiting,
    Property.REQUEST_ORDER: request_order,
    Property.FENCED_EXCLUSION: fenced_exclusion,
}
