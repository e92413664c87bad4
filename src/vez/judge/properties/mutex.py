"""Judges of mutual exclusion. Each takes a history and returns a verdict with evidence."""

from __future__ import annotations

from itertools import pairwise

from vez.core.assumptions import Property
from vez.core.trace import Entered, Wrote
from vez.judge.properties.causality import path, vector_clocks
from vez.judge.properties.history import History, Stay
from vez.judge.properties.hosts import Period, first_overlap
from vez.judge.properties.verdict import Span, Verdict, broken, holds, not_judged, undecided
from vez.judge.words import said


def exclusion(history: History) -> Verdict:
    """There are never two processes inside at once. Overlap is judged by position in the trace, so an exit and an entry
    within the same microsecond do not overlap. Stays on different hosts are compared by happened-before."""
    if history.trace.header.hosts:
        return _exclusion_across_hosts(history)
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
                said("inside_together", one=other.process, other=stay.process, start=start, end=end),
                spans=(Span(other.process, start, end), Span(stay.process, start, end)),
                messages=path(history.trace, _entered(stay), stay.process),
            )
        inside.append(stay)
    return holds(Property.EXCLUSION, said("no_two_at_once", entries=len(entries)))


def _exclusion_across_hosts(history: History) -> Verdict:
    stays = [stay for stay in history.stays if stay.entered_index is not None]
    doubt = first_overlap(history.trace, [Period(stay.process, _entered(stay), stay.left_index) for stay in stays])
    if doubt is None:
        return holds(Property.EXCLUSION, said("each_after_the_one_before", entries=len(stays)))
    one, other = (next(stay for stay in stays if stay.entered_index == period.start) for period in doubt.periods)
    who = {"one": one.process, "other": other.process}
    if not doubt.certain:
        return undecided(Property.EXCLUSION, said("possibly_inside_together", **who))
    spans = tuple(Span(stay.process, stay.entered_at or 0, _until(history, stay)) for stay in (one, other))
    return broken(Property.EXCLUSION, said("inside_together_whatever_clocks_say", **who), spans=spans)


def starvation_freedom(history: History) -> Verdict:
    """Every process that wants in gets in, or withdraws."""
    starving = _starving(history)
    if isinstance(starving, Verdict):
        return starving
    if starving:
        stay = starving[0]
        return broken(
            Property.STARVATION_FREEDOM,
            said(
                "several_waited_in_vain" if len(starving) > 1 else "waited_in_vain",
                who=_processes(starving),
                first=stay.process,
                since=stay.wanted_at,
                end=history.end,
            ),
            spans=tuple(Span(stay.process, stay.wanted_at, history.end) for stay in starving),
        )
    served = sum(stay.served for stay in history.stays)
    gone = sum(stay.withdrawn for stay in history.stays)
    key = "served_or_withdrawn" if gone else "all_served"
    return holds(Property.STARVATION_FREEDOM, said(key, served=served, requests=len(history.stays), withdrawn=gone))


def deadlock_freedom(history: History) -> Verdict:
    """If processes want in, one of them gets in: there is no time after which processes wait and none enters."""
    starving = _starving(history)
    last = max((stay.entered_at or 0 for stay in history.stays if stay.served), default=0)
    inside = [stay for stay in history.stays if stay.served and stay.left_at is None]
    header = history.trace.header
    stuck = header.end == "quiet" or history.end - last >= header.patience_us
    if history.repeats and header.loop_us is not None:
        stuck = last <= header.loop_us[0]
    if isinstance(starving, Verdict):
        if not last or (stuck and not inside):
            return undecided(Property.DEADLOCK_FREEDOM, starving.said)
        starving = []  # the queue still moves
    if starving and not inside and stuck:
        since = max(last, min(stay.wanted_at for stay in starving))
        return broken(
            Property.DEADLOCK_FREEDOM,
            said("nobody_got_in_since", who=_processes(starving), since=since, end=history.end),
            spans=tuple(Span(stay.process, max(since, stay.wanted_at), history.end) for stay in starving),
        )
    return holds(Property.DEADLOCK_FREEDOM, said("never_stuck", entries=sum(stay.served for stay in history.stays)))


def bounded_waiting(history: History) -> Verdict:
    """No placed request is overtaken more often than promised.

    A bypass is the entry of a request that was made after another one was placed, before that one enters. A request
    that never enters is judged by `starvation_freedom`.
    """
    if history.trace.header.hosts:
        return not_judged(Property.BOUNDED_WAITING, said("requests_without_order"))
    worst = max(history.bypasses, default=0)
    victim = history.stays[history.bypasses.index(worst)] if worst else None
    bound = history.trace.header.bypass_bound
    if bound is not None and worst > bound and victim is not None:
        return broken(
            Property.BOUNDED_WAITING,
            said("overtaken", process=victim.process, count=worst, bound=bound),
            spans=(Span(victim.process, victim.wanted_at, _until(history, victim)),),
        )
    counted = said("at_most_bypasses", count=worst)
    if victim is not None:
        counted = said("at_most_bypasses_of", count=worst, process=victim.process, since=victim.wanted_at)
    if bound is None:
        return not_judged(Property.BOUNDED_WAITING, said("no_bound_named", counted=counted))
    return holds(Property.BOUNDED_WAITING, said("within_the_bound", counted=counted, bound=bound))


def request_order(history: History) -> Verdict:
    """Entries follow the happened-before order of the requests."""
    served = sorted((stay for stay in history.stays if stay.served and not stay.withdrawn), key=_entered)
    size = len(history.trace.events) * len(history.trace.header.ids) + len(served) ** 2
    if size > MOST_WORK:
        return not_judged(Property.REQUEST_ORDER, said("run_too_large", entries=len(served)))
    stamps = vector_clocks(history.trace, frozenset(stay.wanted_index for stay in history.stays))
    position = {process: place for place, process in enumerate(history.trace.header.ids)}
    for late, stay in enumerate(served):
        for earlier in served[:late]:
            count, _ = stamps[stay.wanted_index]
            _, known = stamps[earlier.wanted_index]
            if known[position[stay.process]] >= count:
                return broken(
                    Property.REQUEST_ORDER,
                    said(
                        "got_in_first",
                        process=stay.process,
                        asked=stay.wanted_at,
                        other=earlier.process,
                        later=earlier.wanted_at,
                    ),
                    spans=(Span(stay.process, stay.wanted_at, stay.entered_at or 0),),
                    messages=path(history.trace, earlier.wanted_index, earlier.process),
                )
    return holds(Property.REQUEST_ORDER, said("in_order_of_requests", entries=len(served)))


def fenced_exclusion(history: History) -> Verdict:
    """A resource that checks tokens never accepts a write of one stay after a write of a later stay."""
    writes = [event for event in history.trace.events if isinstance(event, Wrote)]
    if not writes:
        tokens = any(isinstance(event, Entered) for event in history.trace.events)
        return not_judged(Property.FENCED_EXCLUSION, said("no_tokens" if tokens else "nobody_got_in"))
    order = {id(write): entry for write, entry in _entries_of_writes(history)}
    accepted = [write for write in writes if write.accepted]
    for one, other in pairwise(accepted):
        if order[id(other)] < order[id(one)]:
            return broken(
                Property.FENCED_EXCLUSION,
                said(
                    "stale_write",
                    process=other.process,
                    token=other.token,
                    at=other.at,
                    other=one.process,
                    newer=one.token,
                ),
                spans=(Span(other.process, one.at, other.at),),
            )
    refused = len(writes) - len(accepted)
    return holds(Property.FENCED_EXCLUSION, said("writes_in_order", accepted=len(accepted), refused=refused))


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
    """The stays of live processes that starve, or an undecided verdict if the run ended too early to tell.

    In a run that a limit cut short, a process starves if nobody was inside and nobody got in for `patience_us`, or if
    it was overtaken more than twice per process. A long queue that still moves is not starvation. In a run that repeats
    itself for ever, a process starves if it waits during a whole lap.
    """
    waiting = [stay for stay in history.stays if not stay.served and not stay.crashed and not stay.withdrawn]
    inside = any(stay.served and stay.left_at is None for stay in history.stays)
    header = history.trace.header
    if not waiting or (header.end == "quiet" and not inside):
        return waiting
    if history.repeats and header.loop_us is not None:
        for_ever = [stay for stay in waiting if stay.wanted_at <= header.loop_us[0]]
        if for_ever:
            return for_ever
    last = max((stay.entered_at or 0 for stay in history.stays), default=0)
    last = max(last, *(stay.left_at or 0 for stay in history.stays if stay.served), 0)
    stuck = not inside and history.end - last >= header.patience_us
    often = 2 * len(header.ids)
    overtaken = {id(stay): count for stay, count in zip(history.stays, history.overtaken, strict=True)}
    starving = [
        stay
        for stay in waiting
        if history.end - stay.wanted_at >= header.patience_us and (stuck or overtaken[id(stay)] > often)
    ]
    if starving:
        return starving
    return undecided(Property.STARVATION_FREEDOM, said("still_waited", who=_processes(waiting), end=history.end))


def _entered(stay: Stay) -> int:
    return -1 if stay.entered_index is None else stay.entered_index


def _left(stay: Stay) -> float:
    return float("inf") if stay.left_index is None else stay.left_index


def _until(history: History, stay: Stay) -> int:
    return history.end if stay.left_at is None else stay.left_at


def _processes(stays: list[Stay]) -> tuple[int, ...]:
    return tuple(sorted({stay.process for stay in stays}))


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
