"""Judges of a torture run: those of mutual exclusion, and those for what only real processes can do."""

from __future__ import annotations

from itertools import pairwise

import msgspec

from vez.core.assumptions import Property
from vez.core.trace import Trace
from vez.properties import History, Verdict, judge
from vez.properties.verdict import Span, Status, broken, holds
from vez.torture.history import Fault
from vez.torture.record import Line

SHARED = (
    Property.EXCLUSION, Property.DEADLOCK_FREEDOM, Property.STARVATION_FREEDOM, Property.BOUNDED_WAITING,
    Property.FENCED_EXCLUSION,
)  # fmt: skip


def judge_all(trace: Trace, lines: list[Line], faults: list[Fault]) -> tuple[Verdict, ...]:
    """All verdicts on a run."""
    start = min([line.at for line in lines] + [fault.at for fault in faults], default=0)
    shared = judge(History(trace), only=map(str, SHARED))
    return (*shared, request_order(lines, start), tokens_increase(lines, start), no_lost_update(lines, start),
            no_believer(lines, start))  # fmt: skip


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
    """A request that was in the queue before another was made is granted before it, if it is granted at all."""
    requests = _requests(lines)
    first = [request for request in requests if request.queued is not None and request.entered is not None]
    for earlier in first:
        for later in requests:
            if (
                later.entered is not None
                and earlier.queued is not None
                and earlier.entered is not None
                and later.wanted > earlier.queued
                and later.entered < earlier.entered
            ):
                span = Span(earlier.worker, _us(earlier.wanted, start), _us(earlier.entered, start))
                return broken(
                    Property.REQUEST_ORDER,
                    f"worker {earlier.worker} was in the queue at {_ms(earlier.queued, start)} ms, worker "
                    f"{later.worker} asked at {_ms(later.wanted, start)} ms and was granted first",
                    spans=(span,),
                )
    return holds(Property.REQUEST_ORDER, f"{len(first)} requests were queued, and none was overtaken")


def tokens_increase(lines: list[Line], start: int) -> Verdict:
    """Each grant has a higher token than all before it."""
    entries = [line for line in lines if line.what == "entered"]
    for one, other in pairwise(entries):
        if other.token <= one.token:
            return broken(
                "tokens_increase",
                f"worker {other.worker} entered at {_ms(other.at, start)} ms with token {other.token}, after token "
                f"{one.token}",
                spans=(Span(other.worker, _us(one.at, start), _us(other.at, start)),),
            )
    return holds("tokens_increase", f"{len(entries)} tokens, each above the one before")


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
                    f"worker {line.worker} wrote {line.value} at {_ms(line.at, start)} ms, after {value}",
                    spans=(Span(line.worker, _us(line.at, start) - 1000, _us(line.at, start)),),
                )
            value = line.value
        elif line.what == "left":
            inside.pop(line.worker, None)
    return holds("no_lost_update", f"{writes} writes, each one above the one before")


def no_believer(lines: list[Line], start: int) -> Verdict:
    """No forked child believes that it holds the lock."""
    forks = sum(line.what == "forked" for line in lines)
    for line in lines:
        if line.what == "believer":
            return broken(
                "fork_safe",
                f"a child of worker {line.worker} believed that it held the lock at {_ms(line.at, start)} ms",
            )
    return holds("fork_safe", f"{forks} forked children, none of which believed that it held the lock")


def takeovers(lines: list[Line], faults: list[Fault]) -> tuple[float, ...]:
    """Milliseconds from the kill of a holder to the next grant, where somebody was waiting already."""
    delays = []
    born: dict[int, int] = {}  # when the current process of a worker was started
    for fault in faults:
        if fault.kind != "kill":
            continue
        since, born[fault.worker] = born.get(fault.worker, 0), fault.done
        mine = [x for x in lines if x.worker == fault.worker and since < x.at <= fault.done]
        if not mine or mine[-1].what not in ("entered", "wrote", "forked"):
            continue
        nxt = next((x for x in lines if x.what == "entered" and x.at > mine[-1].at), None)
        if nxt is not None:
            wanted = max(x.at for x in lines if x.worker == nxt.worker and x.what == "wanted" and x.at < nxt.at)
            if wanted < fault.at:
                delays.append((nxt.at - fault.at) / 1e6)
    return tuple(delays)


def statuses(verdicts: tuple[Verdict, ...]) -> dict[str, Status]:
    """The status of each verdict, by name."""
    return {verdict.name: verdict.status for verdict in verdicts}


def _us(at: int, start: int) -> int:
    return (at - start) // 1000


def _ms(at: int, start: int) -> str:
    return f"{(at - start) / 1e6:.3f}"
