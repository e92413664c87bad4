"""Judges of leader election. Each takes a history and returns a verdict with evidence."""

from __future__ import annotations

from itertools import pairwise

from vez.core.assumptions import Property
from vez.core.trace import Asked, Elected, Sent
from vez.judge.properties.causality import path
from vez.judge.properties.history import History, Reign
from vez.judge.properties.hosts import Period, first_overlap
from vez.judge.properties.verdict import Span, Verdict, broken, holds, not_judged, undecided
from vez.judge.words import Sentence, said


def uniqueness(history: History) -> Verdict:
    """There are never two leaders at once; if there are terms, never two in one term."""
    reigns = sorted(history.reigns, key=lambda reign: reign.start_index)
    if history.trace.header.hosts and (verdict := _across_hosts(history, reigns)) is not None:
        return verdict
    for late, reign in enumerate(reigns):
        for other in reigns[:late]:
            if other.leader == reign.leader:
                continue
            same_term = other.term == reign.term
            together = other.end_index > reign.start_index
            if same_term and (together or reign.term):
                return _two_leaders(history, other, reign, together)
    return holds(Property.UNIQUENESS, said("reigns_apart", reigns=len(reigns)))


def _across_hosts(history: History, reigns: list[Reign]) -> Verdict | None:
    """The verdict on two leaders without terms on hosts whose clocks cannot be compared; None if no two can overlap."""
    for late, reign in enumerate(reigns):
        for other in reigns[:late]:
            pair = [
                Period(one.leader, one.start_index, one.end_index if one.ended_by else None) for one in (other, reign)
            ]
            if other.leader == reign.leader or other.term != reign.term or reign.term:
                continue
            doubt = first_overlap(history.trace, pair)
            if doubt is not None and doubt.certain:
                return _two_leaders(history, other, reign, together=True)
            if doubt is not None:
                return undecided(
                    Property.UNIQUENESS, said("possibly_two_leaders", one=other.leader, other=reign.leader)
                )
    return None


def termination(history: History) -> Verdict:
    """Once an election has started, a process becomes leader, and another one does after the leader has died. A process
    that led and stepped down counts as long as it lives and no process names a dead leader."""
    reigns = sorted(history.reigns, key=lambda reign: reign.start_index)
    if _has_live_leader(history):
        for reign in reigns:
            if not reign.ended_by:
                return holds(Property.TERMINATION, said("leads_from", leader=reign.leader, since=reign.start))
        reign = _of_the_living(history, reigns)[-1]
        words = said("led_from_to", leader=reign.leader, since=reign.start, until=reign.end)
        return holds(Property.TERMINATION, words)
    if not history.live:
        return undecided(Property.TERMINATION, said("nobody_alive"))
    if not _able(history):
        return undecided(Property.TERMINATION, said("nobody_able_alive"))
    if not history.settled:
        return undecided(Property.TERMINATION, said("nobody_led_yet", end=history.end))
    if not has_started(history):
        return not_judged(Property.TERMINATION, _no_election(history))
    since, words = 0, said("nobody_ever_led", end=history.end)
    if reigns:
        last = max(reigns, key=lambda reign: reign.end_index)
        name = "nobody_led_after" if last.ended_by == "crash" else "nobody_led_since"
        since, words = last.end, said(name, leader=last.leader, at=last.end, end=history.end)
    return broken(
        Property.TERMINATION,
        words,
        spans=tuple(Span(process, since, history.end) for process in history.live),
    )


def _of_the_living(history: History, reigns: list[Reign]) -> list[Reign]:
    """The reigns of processes that are alive at the end."""
    live = frozenset(history.live)
    return [reign for reign in reigns if reign.leader in live]


def _able(history: History) -> list[int]:
    """The live processes that may lead, the best last."""
    live = frozenset(history.live)
    return [process for process in history.trace.header.candidates or sorted(live) if process in live]


def _has_live_leader(history: History) -> bool:
    """True if a live process leads, or if one has led and no process names a dead leader."""
    if any(leader == process for process, (leader, _) in history.views.items()):
        return True
    live = frozenset(history.live)
    names_dead = any(leader not in live for leader, _ in history.views.values())
    return not names_dead and bool(_of_the_living(history, history.reigns))


def agreement(history: History) -> Verdict:
    """Once an election has started, all live processes name the same leader at the end, and it is alive."""
    views = {process: history.views.get(process, (None, 0))[0] for process in history.live}
    named = sorted({leader for leader in views.values() if leader is not None})
    without = [process for process, leader in views.items() if leader is None]
    if len(named) == 1 and not without and named[0] in history.live:
        return holds(Property.AGREEMENT, said("all_name", count=len(views), leader=named[0]))
    if not views:
        return undecided(Property.AGREEMENT, said("nobody_alive"))
    if not named and not _able(history):
        return undecided(Property.AGREEMENT, said("nobody_able_alive"))
    if not history.settled:
        return undecided(Property.AGREEMENT, said("cut_before_settled", end=history.end))
    if not has_started(history):
        return not_judged(Property.AGREEMENT, _no_election(history))
    parts = [
        _naming([process for process, view in views.items() if view == leader], leader, leader in history.live)
        for leader in named
    ]
    parts += [_naming(without, None, True)] if without else []
    return broken(
        Property.AGREEMENT,
        said("they_name", end=history.end, parts=tuple(parts)),
        spans=tuple(Span(process, _last_word(history), history.end) for process in views),
    )


def stability(history: History) -> Verdict:
    """There is no new leader unless the old one failed."""
    if history.trace.header.hosts:
        return not_judged(Property.STABILITY, said("reigns_without_order"))
    reigns = sorted(history.reigns, key=lambda reign: reign.start_index)
    for before, after in pairwise(reigns):
        failed = before.end_index < after.start_index and (
            before.ended_by == "crash" or history.is_down(before.leader, after.start)
        )
        if before.leader != after.leader and not failed:
            return broken(
                Property.STABILITY,
                said("took_over", process=after.leader, other=before.leader, at=after.start),
                spans=(
                    Span(before.leader, before.start, before.end),
                    Span(after.leader, after.start, after.end),
                ),
                messages=path(history.trace, after.start_index, after.leader),
            )
    return holds(Property.STABILITY, said("changes_after_crashes", changes=max(0, len(reigns) - 1)))


def validity(history: History) -> Verdict:
    """The leader is a live process, and the best one if the algorithm promises that."""
    named = sorted({leader for leader, _ in history.views.values()})
    if not named and history.settled and not has_started(history):
        return not_judged(Property.VALIDITY, _no_election(history))
    if not named:
        return undecided(Property.VALIDITY, said("nobody_named"))
    live = frozenset(history.live)
    dead = [leader for leader in named if leader not in live]
    if dead and history.settled:
        return broken(Property.VALIDITY, said("dead_leader", leader=dead[0]))
    if dead:
        return undecided(Property.VALIDITY, said("dead_leader_unheard", leader=dead[0]))
    able, header = _able(history), history.trace.header
    if header.candidates and (unable := [leader for leader in named if leader not in able]):
        return broken(Property.VALIDITY, said("unable_leader", leader=unable[0]))
    best = able[-1]
    if header.best_wins and any(leader != best for leader in named):
        wrong = next(leader for leader in named if leader != best)
        if not history.settled:
            return undecided(Property.VALIDITY, said("led_when_cut", leader=wrong, end=history.end))
        return broken(Property.VALIDITY, said("leads_although", leader=wrong, best=best))
    if header.best_wins:
        key = "best_leads" if header.candidates else "largest_leads"
        return holds(Property.VALIDITY, said(key, leader=best, live=len(able)))
    key = "leads_alive" if len(named) == 1 else "lead_alive"
    return holds(Property.VALIDITY, said(key, leader=named[0], who=tuple(named)))


def leader(history: History) -> int | None:
    """The live leader that all live processes name at the end, or None."""
    named = {history.views.get(process, (None, 0))[0] for process in history.live}
    agreed = named.pop() if len(named) == 1 else None
    return agreed if agreed in history.live else None


def _two_leaders(history: History, one: Reign, other: Reign, together: bool) -> Verdict:
    who = {"one": one.leader, "other": other.leader}
    if together:
        key = "two_leaders_of_a_term_together" if other.term else "two_leaders_together"
        words = said(key, **who, term=other.term, start=other.start, end=min(one.end, other.end))
    else:
        words = said("two_leaders_of_a_term", **who, term=other.term, first=one.start, second=other.start)
    return broken(
        Property.UNIQUENESS,
        words,
        spans=(
            Span(one.leader, other.start if together else one.start, one.end),
            Span(other.leader, other.start, other.end),
        ),
        messages=path(history.trace, other.start_index, other.leader),
    )


def has_started(history: History) -> bool:
    """True if an election has started: a process was asked, or sent a message or named a leader without being asked.

    That process may have crashed since. The others owe a leader all the same.
    """
    return any(
        isinstance(event, Asked | Sent) or (isinstance(event, Elected) and event.leader is not None)
        for event in history.trace.events
    )


def _no_election(history: History) -> Sentence:
    """The sentence that says that no election started, and who crashed before one could."""
    crashed = tuple(sorted({down.process for down in history.downs}))
    return said("no_election_after_crash", who=crashed) if crashed else said("no_election")


def _last_word(history: History) -> int:
    return max((reign.start for reign in history.reigns), default=0)


def _naming(who: list[int], leader: int | None, alive: bool) -> Sentence:
    """The sentence that says which leader these processes name."""
    verb = "names" if len(who) == 1 else "name"
    if leader is None:
        return said(f"{verb}_nobody", who=tuple(who))
    return said(verb if alive else f"{verb}_dead", who=tuple(who), leader=leader)


JUDGES = {
    Property.UNIQUENESS: uniqueness,
    Property.TERMINATION: termination,
    Property.AGREEMENT: agreement,
    Property.STABILITY: stability,
    Property.VALIDITY: validity,
}
