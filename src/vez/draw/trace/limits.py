"""Size limits of graphical pictures. The picture says what was left out."""

from __future__ import annotations

import msgspec

from vez.core.trace import INTERNAL, AnyEvent, Cut, Delivered, Healed, Lost, MessageId, Sent, Trace
from vez.judge.words import Sentence, said

MAX_PROCESSES = 24
MAX_MESSAGES = 1000
MAX_EVENTS = 8000


def limit(trace: Trace) -> tuple[Trace, tuple[Sentence, ...]]:
    """The part of a trace that is drawn, and descriptions of what was left out."""
    gone: list[Sentence] = []
    ids, events = trace.header.ids, trace.events
    if len(ids) > MAX_PROCESSES:
        gone.append(said("drawn_fewer_processes", count=len(ids) - MAX_PROCESSES, all=len(ids)))
        ids = ids[:MAX_PROCESSES]
        events = _among(frozenset(ids), events)
    stop = _stop(events)
    if stop < len(events):
        left_out = [event for event in events[stop:] if not isinstance(event, INTERNAL)]
        sent = sum(isinstance(event, Sent) for event in left_out)
        gone.append(said("drawn_fewer_events", count=len(left_out), start=events[stop].at, sent=sent))
        events = events[:stop]
    if not gone:
        return trace, ()
    ended = events[-1].at if stop < len(trace.events) and events else trace.header.ended_at
    header = msgspec.structs.replace(trace.header, ids=ids, names=trace.header.names[: len(ids)], ended_at=ended)
    return Trace(header, events), tuple(gone)


def _among(ids: frozenset[int], events: tuple[AnyEvent, ...]) -> tuple[AnyEvent, ...]:
    """The events of some processes and the messages between them."""
    known: set[MessageId] = set()
    kept: list[AnyEvent] = []
    for event in events:
        if event.process not in ids or (isinstance(event, Sent | Cut | Healed) and event.to not in ids):
            continue
        if isinstance(event, Delivered | Lost) and event.message not in known:
            continue
        if isinstance(event, Sent):
            known.add(event.message)
        kept.append(event)
    return tuple(kept)


def _stop(events: tuple[AnyEvent, ...]) -> int:
    """Index of the first event beyond the limits. Events that no picture shows do not count."""
    sent = shown = 0
    for index, event in enumerate(events):
        sent += isinstance(event, Sent)
        shown += not isinstance(event, INTERNAL)
        if sent > MAX_MESSAGES or shown > MAX_EVENTS:
            return index
    return len(events)
