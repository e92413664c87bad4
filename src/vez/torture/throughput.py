"""Throughput: how many turns there are in a calm phase, beside turns without the engine in the same run.

Before and after the faults, short slices of two kinds alternate. In the one kind the workers run a relay, without the
engine (`relay.py`): that is what this machine can do at this moment, with all its noise. In the other they have turns
of the same length, with the engine. The best of these is compared with the worst relay, so that noise does not matter
unless it spared every relay and struck all the others; an engine that is slow is slow in all of them. What happens
between the faults is compared in the same way.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from vez.properties.verdict import Verdict, broken, holds, not_judged
from vez.torture.history import Fault
from vez.torture.record import Line
from vez.torture.relay import STAY
from vez.torture.speed import Slack
from vez.words import Sentence, said

NAME = "throughput"
RATIO = 3.5
"""A turn may take so many times one of a relay. Both have one sleep and one wake-up of another process; the engine of
files takes 1.1 to 1.5 times as long, one that wakes nobody 10 to 40 times."""
BETWEEN = 2.0
"""Between faults a turn may take so many times longer than in a calm phase: there are few such times, and workers wait
with timeouts then."""
_AFTER_MS, _SHORTEST_MS = 30.0, 10.0
"""What follows a fault for so long is not undisturbed; an undisturbed time has at least this length."""
FEWEST = 8
"""With fewer undisturbed times between the faults these are not judged."""


class Slice(NamedTuple):
    """A slice of a calm phase."""

    relay: bool
    begin: int
    end: int


def judge(lines: list[Line], faults: list[Fault], slices: list[Slice], slack: Slack, *, steady: bool = True) -> Verdict:
    """A turn takes no longer than some turns of a relay, in the calm phases and between the faults. The latter only if
    it is `steady`: if no file is made and nothing is synced there, which takes as long as the disk wants."""
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
    """How long a turn takes between faults, or why that was not judged."""
    if between is not None:
        return said("turns_between", ms=f"{between[0]:.1f}")
    return said("turns_between_few", least=FEWEST) if steady else said("turns_between_disk")


def late_ms(lines: list[Line], slices: list[Slice]) -> float:
    """How much longer than its stay a turn takes in the slowest relay, in milliseconds."""
    return max((_turn_ms(lines, one) - 1000 * STAY for one in slices if one.relay), default=0.0)


def _within(lines: list[Line], begin: int, end: int) -> list[Line]:
    low = bisect_left(lines, begin, key=lambda line: line.at)
    return lines[low : bisect_left(lines, end, key=lambda line: line.at)]


def _turn_ms(lines: list[Line], one: Slice) -> float:
    """Milliseconds from one turn to the next, whoever has it; the whole time if there was none."""
    what = "bare" if one.relay else "entered"
    return (one.end - one.begin) / max(1, sum(line.what == what for line in _within(lines, one.begin, one.end))) / 1e6


def _between(
    lines: list[Line], faults: list[Fault], slices: list[Slice], after_ms: float
) -> tuple[float, float] | None:
    """Milliseconds from one turn to the next while no fault had any effect, the median of all such times, and those of
    a stay, which are long if the machine is busy at that moment; None if there were too few."""
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
