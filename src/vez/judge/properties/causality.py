"""Happened-before order of the events of a trace (Lamport, CACM 21(7), 1978).

An event happened before the later events of its process; sending a message happened before its delivery. The vector
clock of an event holds, for every process, the number of its events that happened before that event.
"""

from __future__ import annotations

from vez.core.trace import Delivered, MessageId, Sent, Trace


def vector_clocks(trace: Trace, wanted: frozenset[int]) -> dict[int, tuple[int, tuple[int, ...]]]:
    """For each index in `wanted`: the count of the event at its own process, and its vector clock."""
    position = {process: place for place, process in enumerate(trace.header.ids)}
    clocks = [[0] * len(position) for _ in position]
    sent: dict[MessageId, tuple[int, ...]] = {}
    stamps: dict[int, tuple[int, tuple[int, ...]]] = {}
    for index, event in enumerate(trace.events):
        place = position[event.process]
        clock = clocks[place]
        if isinstance(event, Delivered):
            clocks[place] = clock = list(map(max, clock, sent[event.message]))
        clock[place] += 1
        if isinstance(event, Sent):
            sent[event.message] = tuple(clock)
        if index in wanted:
            stamps[index] = (clock[place], tuple(clock))
    return stamps


def path(trace: Trace, until: int, process: int, length: int = 6) -> tuple[MessageId, ...]:
    """The last messages, latest first, that led to the state of a process at an index of the trace.

    It goes backwards: the last delivery before that index, the last delivery to its sender before the sending, and so
    on.
    """
    sendings = {event.message: index for index, event in enumerate(trace.events) if isinstance(event, Sent)}
    found: list[MessageId] = []
    index = until
    while index > 0 and len(found) < length:
        index -= 1
        event = trace.events[index]
        if isinstance(event, Delivered) and event.process == process:
            found.append(event.message)
            index = sendings[event.message]
            process = trace.events[index].process
    return tuple(found)
