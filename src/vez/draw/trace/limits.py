"""Size limits of graphical pictures. The picture says what was left out."""

from __future__ import annotations

import msgspec

from vez.core.trace import INTERNAL, AnyEvent, Cut, Delivered, Healed, Lost, MessageId, Sent, Trace

MAX_PROCESSES = 24
MAX_MESSAGES = 1000
MAX_EVENTS = 8000


def limit(trace: Trace) -> tuple[Trace, tuple[str, ...]]:
    """The part of a trace that is drawn, and descriptions of what was left out."""
    said: list[str] = []
    ids, events = trace.header.ids, trace.events
    if len(ids) > MAX_PROCESSES:
        said.append(f"{len(ids) - MAX_PROCESSES:,} of {len(ids):,} processes and their messages are left out")
        ids = ids[:MAX_PROCESSES]
        events = _among(frozenset(ids), events)
    stop = _stop(events)
    if stop < len(events):
        left_out = [event for event in events[stop:] if not isinstance(event, INTERNAL)]
        sent = sum(isinstance(event, Sent) for event in left_out)
        what = f"the {len(left_out):,} events from {events[stop].at / 1000:g} ms on, with {sent:,} messages"
        said.append(f"{what}, are left out")
        events = events[:stop]
    if not said:
        return trace, ()
    ended = events[-1].at if stop < len(trace.events) and events else trace.header.ended_at
    header = msgspec.structs.replace(trace.header, ids=ids, names=trace.header.names[: len(ids)], ended_at=ended)
    return Trace(header, events), tuple(said)


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
