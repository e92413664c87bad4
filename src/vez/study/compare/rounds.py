"""The number of rounds of an election, read from the messages of its trace.

franklin, itai-rodeh, yoyo   the largest round that a message carries; they count from 1
tournament                   the largest phase that a probe carries, and one: phases count from 0
dolev-klawe-rodeh            messages carry no phase, but in each phase every process sends or forwards one `First`:
                             the largest number that one process sent
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from vez.core.trace import Sent, Trace


def rounds(name: str, trace: Trace) -> int | None:
    """Number of rounds, with the last one, in which only the leader is left; None if the algorithm has no rounds."""
    count = _COUNTS.get(name)
    return None if count is None else count([event for event in trace.events if isinstance(event, Sent)])


def _largest(field: str, first: int) -> Callable[[list[Sent]], int]:
    def count(sent: list[Sent]) -> int:
        return max((event.fields[field] + 1 - first for event in sent if field in event.fields), default=0)

    return count


def _laps(kind: str) -> Callable[[list[Sent]], int]:
    def count(sent: list[Sent]) -> int:
        return max(Counter(event.process for event in sent if event.kind == kind).values(), default=0)

    return count


_COUNTS: dict[str, Callable[[list[Sent]], int]] = {
    "franklin": _largest("round", 1),
    "tournament": _largest("phase", 0),
    "dolev-klawe-rodeh": _laps("First"),
    "itai-rodeh": _largest("round", 1),
    "yoyo": _largest("round", 1),
}
