"""Measurements of a run: messages, delays, bypasses and waits, in the words of the papers.

Client delay is the time from the request to the entry, if no other process wants in or is inside.
Synchronization delay is the time from the exit of one process to the entry of the next, if the next one was waiting.
Messages of a process to itself are not counted. Messages to dead processes are.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from itertools import pairwise

import msgspec

from vez.core.trace import Delivered, Sent, Trace
from vez.judge.properties.history import History, Stay


class Summary(msgspec.Struct, frozen=True):
    """Count, mean and range of some values; times are in milliseconds."""

    count: int
    mean: float | None = None
    least: float | None = None
    most: float | None = None


class Measurements(msgspec.Struct, frozen=True):
    """The costs of a run."""

    messages: int
    by_kind: dict[str, int]
    sent: dict[int, int]
    received: dict[int, int]
    entries: int
    messages_per_entry: float | None
    client_delay: Summary
    synchronization_delay: Summary
    waits: Summary
    bypasses: Summary


def measure(trace: Trace | History) -> Measurements:
    """Measure a trace."""
    history = trace if isinstance(trace, History) else History(trace)
    trace = history.trace
    messages = {event.message: event for event in trace if isinstance(event, Sent) and event.to != event.process}
    entered = [stay for stay in history.stays if stay.served]
    ids = trace.header.ids
    sent = Counter(message.process for message in messages.values())
    received = Counter(e.process for e in trace if isinstance(e, Delivered) and e.message in messages)
    return Measurements(
        messages=len(messages),
        by_kind=dict(sorted(Counter(message.kind for message in messages.values()).items())),
        sent={process: sent[process] for process in ids},
        received={process: received[process] for process in ids},
        entries=len(entered),
        messages_per_entry=len(messages) / len(entered) if entered else None,
        client_delay=_summary([_wait(stay) for stay in _alone(entered, history.stays) if not stay.withdrawn]),
        synchronization_delay=_summary(_hand_overs(entered)),
        waits=_summary([_wait(stay) for stay in entered if not stay.withdrawn]),
        bypasses=_summary(
            [count for stay, count in zip(history.stays, history.bypasses, strict=True) if stay.served], unit=1
        ),
    )


def _wait(stay: Stay) -> int:
    return (stay.entered_at or 0) - stay.wanted_at


def _alone(entered: list[Stay], stays: list[Stay]) -> list[Stay]:
    """The stays during whose wait no other process wanted in or was inside."""
    wanted = sorted(stay.wanted_index for stay in stays)
    left = sorted(stay.left_index for stay in stays if stay.left_index is not None)

    def others(stay: Stay) -> int:
        """The number of other stays that overlap the wait: those begun before its end, minus those ended before its
        start, minus one for the stay itself."""
        return bisect_left(wanted, stay.entered_index or 0) - bisect_left(left, stay.wanted_index) - 1

    return [stay for stay in entered if others(stay) <= 0]


def _hand_overs(entered: list[Stay]) -> list[int]:
    """Time from each exit to the next entry, if the entering process was already waiting."""
    entries = sorted(entered, key=lambda stay: stay.entered_index or 0)
    delays = []
    for before, after in pairwise(entries):
        left = before.left_index
        if left is not None and after.wanted_index < left < (after.entered_index or 0) and not before.crashed:
            delays.append((after.entered_at or 0) - (before.left_at or 0))
    return delays


def _summary(values: list[int], unit: float = 1000) -> Summary:
    if not values:
        return Summary(0)
    numbers = [value / unit for value in values]
    return Summary(len(numbers), round(sum(numbers) / len(numbers), 6), min(numbers), max(numbers))
