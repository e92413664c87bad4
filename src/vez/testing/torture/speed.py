"""Speed: the time of a hand-over, compared with the length of stays in the same run.

An engine that wakes no waiter still grants, when the next waiter polls. Such mistakes break no guarantee about who is
inside; they show in the time between the end of one stay and the beginning of the next. A busy machine makes both
times long, so hand-overs are compared with stays, and with the delay at which workers of a relay without the engine
were woken.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from vez.judge.properties.verdict import Verdict, broken, holds, not_judged
from vez.judge.words import said
from vez.testing.torture.history import Fault, by_worker, last_before
from vez.testing.torture.record import Line

_NEVER = 1 << 62
FEWEST, FEWEST_HAND_OVERS = 5, 30
"""Smallest numbers of takeovers and of hand-overs; with fewer, nothing is judged."""
PART = 0.9
"""Share that must be within the bound: single hand-overs may be late on any machine."""
HAND_OVER_MS, TAKEOVER_MS, STAYS = 3.0, 30.0, 3.0
"""The bounds of a hand-over and of a takeover in milliseconds, and a factor for the median stay of the run, which is
added."""
WORST_MS = 1000.0
"""Upper bound of a single hand-over or takeover in milliseconds, in addition to a hundred times the median stay."""


class Slack(NamedTuple):
    """Milliseconds that are allowed beyond the bounds, because the workers do not notice everything about each other at
    once."""

    hand_over_ms: float = 0.0
    takeover_ms: float = 0.0

    def and_noise(self, late_ms: float) -> Slack:
        """A larger slack, for a machine on which a woken process runs `late_ms` later."""
        return Slack(self.hand_over_ms + STAYS * late_ms, self.takeover_ms + STAYS * late_ms)


NONE = Slack()
FOREIGN = Slack(5.0, 100.0)
"""Slack with workers in containers. A bell does not cross network namespaces, so waiters poll every 2 ms; the end of a
process in another container is not seen, so they poll every 50 ms."""
BLIND = Slack(0.0, 100.0)
"""Slack with workers that cannot open a descriptor to watch another process: they also poll every 50 ms."""


def leased(seconds: float) -> Slack:
    """Slack on an engine over a network. A turn is some round trips to the server. The lock of a dead holder is free
    when its lease ends, which servers notice up to a second late. The place of a dead waiter is removed in the same
    way."""
    return Slack(100.0, 1000 * seconds + 1500.0)


def judge(
    lines: list[Line], faults: list[Fault], slack: Slack = NONE, calm: Sequence[tuple[int, int]] = ()
) -> tuple[Verdict, Verdict]:
    """Judge that hand-overs and takeovers are not much longer than the stays of the same run. The calm phases do not
    count, because their hand-overs would outnumber the others."""
    pauses = Pauses(faults)
    parts = list(_between(lines, calm))
    stays = [stay for part in parts for stay in _stays(part, pauses)]
    hand_overs = [found for part in parts for found in _hand_overs(part, pauses)]
    median = sorted(stays)[len(stays) // 2] if stays else 0.0
    return (
        _verdict("prompt_hand_over", hand_overs, FEWEST_HAND_OVERS,
                 HAND_OVER_MS + slack.hand_over_ms + STAYS * median, median + slack.takeover_ms / 100),
        _verdict("prompt_takeover", _takeovers(lines, faults, pauses), FEWEST,
                 TAKEOVER_MS + slack.takeover_ms + STAYS * median, median + slack.takeover_ms / 100),
    )  # fmt: skip


def _between(lines: list[Line], calm: Sequence[tuple[int, int]]) -> Iterator[list[Line]]:
    """The lines before, between and after the calm phases."""
    begin = 0
    for low, high in [*calm, (_NEVER, _NEVER)]:
        yield lines[begin : bisect_left(lines, low, key=lambda line: line.at)]
        begin = bisect_left(lines, high, key=lambda line: line.at)


def takeovers(lines: list[Line], faults: list[Fault]) -> tuple[float, ...]:
    """Milliseconds from the kill of a holder to the next grant, if a request was already waiting."""
    return tuple(_takeovers(lines, faults, Pauses([])))


class Pauses:
    """The times at which each worker was paused."""

    def __init__(self, faults: list[Fault]) -> None:
        self._of: dict[int, list[tuple[int, int]]] = {}
        begin: dict[int, int] = {}
        for fault in faults:
            if fault.kind == "pause":
                begin[fault.worker] = fault.at
            elif fault.worker in begin and fault.kind in ("resume", "kill"):
                self._of.setdefault(fault.worker, []).append((begin.pop(fault.worker), fault.at))
        for worker, at in begin.items():
            self._of.setdefault(worker, []).append((at, _NEVER))

    def during(self, worker: int, begin: int, end: int) -> bool:
        """True if the worker was paused between `begin` and `end`."""
        own = self._of.get(worker, [])
        place = bisect_right(own, (end, _NEVER))
        return place > 0 and own[place - 1][1] >= begin


def _stays(lines: list[Line], pauses: Pauses) -> list[float]:
    found = []
    entered: dict[int, int] = {}
    for line in lines:
        if line.what == "entered":
            entered[line.worker] = line.at
        elif line.what == "left" and line.worker in entered:
            begin = entered.pop(line.worker)
            if not pauses.during(line.worker, begin, line.at):
                found.append((line.at - begin) / 1e6)
    return found


def _hand_overs(lines: list[Line], pauses: Pauses) -> list[float]:
    """Milliseconds from the end of a stay to the next entry, for workers that were in the queue before and were not
    paused."""
    found = []
    queued: dict[int, int] = {}
    last: Line | None = None
    for line in lines:
        if line.what == "queued":
            queued[line.worker] = line.at
        elif line.what == "left":
            last = line
        elif line.what == "entered":
            asked = queued.pop(line.worker, None)
            if (
                last is not None
                and asked is not None
                and asked < last.at
                and not any(pauses.during(worker, last.at, line.at) for worker in (line.worker, last.worker))
            ):
                found.append((line.at - last.at) / 1e6)
            last = None
    return found


def _takeovers(lines: list[Line], faults: list[Fault], pauses: Pauses) -> list[float]:
    """Milliseconds from the kill of a holder to the next entry, for workers that were waiting and were not paused."""
    delays: list[float] = []
    born: dict[int, int] = {}  # start time of the current process of a worker
    mine = by_worker(lines)
    grants = [line for line in lines if line.what == "entered"]
    times = [line.at for line in grants]
    wanted = {worker: [line.at for line in own if line.what == "wanted"] for worker, (_, own) in mine.items()}
    for fault in faults:
        if fault.kind != "kill":
            continue
        since, born[fault.worker] = born.get(fault.worker, 0), fault.done
        last = last_before(mine, fault.worker, fault.done)
        if last is None or last.at <= since or last.what not in ("entered", "wrote", "forked"):
            continue
        place = bisect_right(times, last.at)
        if place < len(grants):
            following = grants[place]
            asked = wanted[following.worker][bisect_left(wanted[following.worker], following.at) - 1]
            if asked < fault.at and not pauses.during(following.worker, fault.at, following.at):
                delays.append((following.at - fault.at) / 1e6)
    return delays


def _verdict(name: str, found: list[float], fewest: int, bound: float, median: float) -> Verdict:
    if not found:
        return not_judged(name, said("too_few_to_judge", count=0))
    found = sorted(found)
    usual, worst = found[int(PART * (len(found) - 1))], found[-1]
    words = {"count": len(found), "usual": f"{usual:.1f}", "worst": f"{worst:.1f}", "bound": f"{bound:.1f}"}
    if worst > WORST_MS + 100 * median or (usual > bound and len(found) >= fewest):
        return broken(name, said("slow", **words))
    if len(found) < fewest:
        return not_judged(name, said("too_few_to_judge", count=len(found)))
    return holds(name, said("prompt", **words))
