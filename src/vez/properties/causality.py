"""Happened-before, read off a trace (Lamport, CACM 21(7), 1978).

An event of a process happened before its later events; a sending happened before its delivery. Each event
knows, for every process, how many of that process's events happened before it: a vector clock.
"""

from __future__ import annotations

from vez.core.trace import Delivered, Sent, Trace


def vector_clocks(trace: Trace, wanted: frozenset[int]) -> dict[int, tuple[int, tuple[int, ...]]]:
    """For each wanted index of the trace: the event's own count at its process, and its vector."""
    position = {process: place for place, process in enumerate(trace.header.ids)}
    clocks = [[0] * len(position) for _ in position]
    sent: dict[int, tuple[int, ...]] = {}
    stamps: dict[int, tuple[int, tuple[int, ...]]] = {}
    for index, event in enumerate(trace.events):
        place = position[event.process]
        clock = clocks[place]
        if isinstance(event, Delivered):
            clocks[place] = clock = list(map(max, clock, sent[event.number]))
        clock[place] += 1
        if isinstance(event, Sent):
            sent[event.number] = tuple(clock)
        if index in wanted:
            stamps[index] = (clock[place], tuple(clock))
    return stamps


def path(trace: Trace, until: int, process: int, length: int = 6) -> tuple[int, ...]:
    """The last messages that led a process to where it was at an index of the trace, latest first.

    Walks back: the delivery before that moment, its sender's delivery before the sending, and so on.
    """
    sendings = {event.number: index for index, event in enumerate(trace.events) if isinstance(event, Sent)}
    found: list[int] = []
    index = until
    while index > 0 and len(found) < length:
        index -= 1
        event = trace.events[index]
        if isinstance(event, Delivered) and event.process == process:
            found.append(event.number)
            index = sendings[event.number]
            process = trace.events[index].process
    return tuple(found)
