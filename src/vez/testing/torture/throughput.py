"""Throughput: the number of turns in a calm phase, compared with turns without the engine in the same run.

Before and after the faults, short slices of two kinds alternate. In one kind the workers run a relay, without the
engine (`relay.py`), which shows what this machine can do at this moment, with all its noise. In the other they have
turns of the same length, with the engine. The best slice with the engine is compared with the worst relay, so noise
matters only if it spared every relay and disturbed all other slices. A slow engine is slow in all of them. The turns
between the faults are compared in the same way.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from vez.judge.properties.verdict import Verdict, broken, holds, not_judged
from vez.judge.words import Sentence, said
from vez.testing.torture.history import Fault
from vez.testing.torture.record import Line
from vez.testing.torture.relay import STAY
from vez.testing.torture.speed import Slack

NAME = "throughput"
RATIO = 3.5
"""Largest ratio of a turn's time to that of a turn in the relay. Both have one sleep and one wake-up of another
process. The file engine takes 1.1 to 1.5 times as long, an engine that wakes no waiter 10 to 40 times."""
BETWEEN = 2.0
"""Additional factor for turns between faults: there are few such times, and workers wait with timeouts then."""
_AFTER_MS, _SHORTEST_MS = 30.0, 10.0
"""Milliseconds after a fault that count as disturbed, and the shortest undisturbed time in milliseconds."""
FEWEST = 8
"""Smallest number of undisturbed times between the faults; with fewer, they are not judged."""


class Slice(NamedTuple):
    """A slice of a calm phase."""

    relay: bool
    begin: int
    end: int


def judge(lines: list[Line], faults: list[Fault], slices: list[Slice], slack: Slack, *, steady: bool = True) -> Verdict:
    """Judge that a turn takes no longer than some turns of a relay, in the calm phases and between the faults. The
    latter is judged only with `steady`: if no file is created or synced between faults, which takes an unpredictable
    time on the disk."""
    relays = [_turn_ms(lines, one) for one in slices if one.relay]
    calm = [_turn_ms(lines, one) for one in slices if not one.relay]
    if not relays or not calm:
        return not_judged(NAME, said("too_few_to_judge", count=len(calm)))
    bound = RATIO * max(relays) + slack.hand_over_ms
    found = min(calm)
    between = _between(lines, faults, slices, _AFTER_MS + slack.takeover_ms) if steady else None
    words = {"turn": f"{found:.1f}", "bare": f"{max(relays):.1f}", "bound": f"{bound:.1f}",
             "between": _told(between, steady)}  # fmt: skip
    if found > bound or (between is not None and between[0] > BETWEEN * max(bound, RATIO * between[1])):
        return broken(NAME, said("turns_slow", **words))
    return holds(NAME, said("turns_quick", **words))


def _told(between: tuple[float, float] | None, steady: bool) -> Sentence:
    """The time of a turn between faults, or the reason why it was not judged."""
    if between is not None:
        return said("turns_between", ms=f"{between[0]:.1f}")
    return said("turns_between_few", least=FEWEST) if steady else said("turns_between_disk")


def late_ms(lines: list[Line], slices: list[Slice]) -> float:
    """Milliseconds by which a turn in the slowest relay takes longer than its stay."""
    return max((_turn_ms(lines, one) - 1000 * STAY for one in slices if one.relay), default=0.0)


def _within(lines: list[Line], begin: int, end: int) -> list[Line]:
    low = bisect_left(lines, begin, key=lambda line: line.at)
    return lines[low : bisect_left(lines, end, key=lambda line: line.at)]


def _turn_ms(lines: list[Line], one: Slice) -> float:
    """Milliseconds from one turn to the next, of any worker; the whole time if there was none."""
    what = "bare" if one.relay else "entered"
    return (one.end - one.begin) / max(1, sum(line.what == what for line in _within(lines, one.begin, one.end))) / 1e6


def _between(
    lines: list[Line], faults: list[Fault], slices: list[Slice], after_ms: float
) -> tuple[float, float] | None:
    """Median of the milliseconds from one turn to the next while no fault had any effect, and the milliseconds of a
    stay, which are long if the machine is busy at that moment. None if there were too few such times."""
    turns, stays = [], []
    for begin, end in _quiet(faults, slices, after_ms):
        if end - begin >= _SHORTEST_MS * 1e6:
            there = _within(lines, begin, end)
            turns.append((end - begin) / 1e6 / max(1, sum(line.what == "entered" for line in there)))
            stays += _stays_ms(there)
    if len(turns) < FEWEST:
        return None
    return sorted(turns)[len(turns) // 2], sum(stays) / max(1, len(stays))


def _quiet(faults: list[Fault], slices: list[Slice], after_ms: float) -> list[tuple[int, int]]:
    """The times between the faults in which none of them had any effect."""
    begun, lasting, found = 0, set[tuple[str, int]](), []
    for fault in sorted(faults, key=lambda fault: fault.at):
        if not lasting and begun and fault.at > begun:
            found.append((begun, fault.at))
        if fault.kind in _LASTING:
            lasting.add((fault.kind, fault.worker))
        elif fault.kind in _ENDS:
            lasting.discard((_ENDS[fault.kind], fault.worker))
        elif fault.kind == "kill":
            lasting -= {("pause", fault.worker), ("descriptors", fault.worker)}
        begun = max(fault.at, fault.done) + int(after_ms * 1e6)
    return [pair for pair in found if not any(one.begin < pair[1] and pair[0] < one.end for one in slices)]


_LASTING = ("pause", "descriptors", "disk", "fsync")
_ENDS = {"resume": "pause", **{f"end of {kind}": kind for kind in _LASTING}}


def _stays_ms(lines: list[Line]) -> list[float]:
    """The stays whose beginning and end are among the lines."""
    inside: dict[int, int] = {}
    found = []
    for line in lines:
        if line.what == "entered":
            inside[line.worker] = line.at
        elif line.what == "left" and line.worker in inside:
            found.append((line.at - inside.pop(line.worker)) / 1e6)
    return found
