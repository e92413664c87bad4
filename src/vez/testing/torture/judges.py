"""Judges of a torture run: those of mutual exclusion, and those for faults that only real processes have."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from vez.core.assumptions import Property
from vez.core.trace import Trace
from vez.judge.properties import History, Verdict, judge
from vez.judge.properties.verdict import Span, broken, holds, not_judged
from vez.judge.words import said
from vez.testing.torture import speed
from vez.testing.torture.history import Fault
from vez.testing.torture.record import Line

SHARED = (
    Property.EXCLUSION, Property.DEADLOCK_FREEDOM, Property.STARVATION_FREEDOM, Property.FENCED_EXCLUSION,
)  # fmt: skip


def judge_all(
    trace: Trace, lines: list[Line], faults: list[Fault], stalled: tuple[int, ...] = (),
    slack: speed.Slack = speed.NONE, calm: Sequence[tuple[int, int]] = (),
) -> tuple[Verdict, ...]:  # fmt: skip
    """All verdicts on a run. `stalled` are the workers without a grant after the last fault, `calm` the phases without
    faults."""
    start = min([line.at for line in lines] + [fault.at for fault in faults], default=0)
    shared = judge(History(trace), only=map(str, SHARED))
    return (*shared, request_order(lines, start), tokens_increase(lines, start), no_lost_update(lines, start),
            no_believer(lines, start), *speed.judge(lines, faults, slack, calm), progress(stalled))  # fmt: skip


def progress(stalled: tuple[int, ...]) -> Verdict:
    """After the last fault every worker is granted once more."""
    if stalled:
        return broken("progress", said("stalled", workers=", ".join(map(str, stalled))))
    return holds("progress", said("all_went_on"))


class _Request(msgspec.Struct):
    worker: int
    wanted: int
    queued: int | None = None
    entered: int | None = None


def _requests(lines: list[Line]) -> list[_Request]:
    found: list[_Request] = []
    current: dict[int, _Request] = {}
    for line in lines:
        if line.what == "wanted":
            current[line.worker] = _Request(line.worker, line.at)
            found.append(current[line.worker])
        elif line.what == "queued" and line.worker in current:
            current[line.worker].queued = line.at
        elif line.what == "entered" and line.worker in current:
            current[line.worker].entered = line.at
    return found


def request_order(lines: list[Line], start: int) -> Verdict:
    """A request that was in the queue before another was made is granted before it, if it is granted at all.

    This is `bounded_waiting` with a bound of 0, counted from the place in the queue.
    """
    granted = sorted(
        ((request.entered, request) for request in _requests(lines) if request.entered is not None),
        key=lambda pair: pair[0],
    )
    newest: _Request | None = None  # the request that was made last, among those granted so far
    queued = 0
    for entered, request in granted:
        if request.queued is not None:
            queued += 1
            if newest is not None and newest.wanted > request.queued:
                return broken(
                    Property.REQUEST_ORDER,
                    said(
                        "granted_first",
                        worker=request.worker,
                        queued=_ms(request.queued, start),
                        other=newest.worker,
                        asked=_ms(newest.wanted, start),
                    ),
                    spans=(Span(request.worker, _us(request.wanted, start), _us(entered, start)),),
                )
        if newest is None or request.wanted > newest.wanted:
            newest = request
    if not queued:
        return not_judged(Property.REQUEST_ORDER, said("none_queued"))
    return holds(Property.REQUEST_ORDER, said("none_overtaken", count=queued))


def tokens_increase(lines: list[Line], start: int) -> Verdict:
    """Each grant has a higher token than all before it."""
    entries = [line for line in lines if line.what == "entered"]
    for one, other in pairwise(entries):
        if other.token <= one.token:
            return broken(
                "tokens_increase",
                said(
                    "token_not_higher",
                    worker=other.worker,
                    at=_ms(other.at, start),
                    token=other.token,
                    before=one.token,
                ),
                spans=(Span(other.worker, _us(one.at, start), _us(other.at, start)),),
            )
    return holds("tokens_increase", said("tokens_rise", count=len(entries)))


def no_lost_update(lines: list[Line], start: int) -> Verdict:
    """Each accepted write is one above the one before; a killed worker may have written without recording it."""
    value, silent, writes = 0, 0, 0
    inside: dict[int, bool] = {}
    for line in lines:
        if line.what == "entered":
            if inside.get(line.worker) is False:  # it was killed while it held the lock, before or after its write
                silent += 1
            inside[line.worker] = False
        elif line.what == "wrote" and line.accepted:
            inside[line.worker] = True
            writes += 1
            possible = sum(1 for done in inside.values() if not done) + silent
            if not value < line.value <= value + 1 + possible:
                return broken(
                    "no_lost_update",
                    said("update_lost", worker=line.worker, value=line.value, at=_ms(line.at, start), before=value),
                    spans=(Span(line.worker, _us(line.at, start) - 1000, _us(line.at, start)),),
                )
            value = line.value
        elif line.what == "left":
            inside.pop(line.worker, None)
    return holds("no_lost_update", said("updates_kept", count=writes))


def no_believer(lines: list[Line], start: int) -> Verdict:
    """No forked child believes that it holds the lock."""
    forks = sum(line.what == "forked" for line in lines)
    for line in lines:
        if line.what == "believer":
            return broken(
                "fork_safe",
                said("believer", worker=line.worker, at=_ms(line.at, start)),
            )
    if not forks:
        return not_judged("fork_safe", said("no_forks"))
    return holds("fork_safe", said("no_believers", count=forks))


def _us(at: int, start: int) -> int:
    return (at - start) // 1000


def _ms(at: int, start: int) -> str:
    return f"{(at - start) / 1e6:.3f}"
