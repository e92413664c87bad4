"""Every change of one event of a trace: dropped, added, swapped, each field changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from vez.core.drawn_view import View
from vez.core.trace import AnyEvent, Trace


class Mutation(msgspec.Struct, frozen=True):
    """A trace with one change, which is at `index` of the original."""

    kind: str
    index: int
    field: str
    trace: Trace


def mutations(trace: Trace) -> Iterator[Mutation]:
    """All of them, except those that change nothing."""
    events = trace.events
    for index, event in enumerate(events):
        yield _made(trace, "drop", index, (*events[:index], *events[index + 1 :]))
        yield _made(trace, "add", index, (*events[: index + 1], event, *events[index + 1 :]))
        if index + 1 < len(events):
            later = events[index + 1]
            pair = (_at(later, event.at), _at(event, later.at))  # the times stay in order
            swapped = (*events[:index], *pair, *events[index + 2 :])
            if swapped != events:
                yield _made(trace, "swap", index, swapped)
        for field in event.__struct_fields__:
            for value in _others(trace, event, field):
                changed = msgspec.structs.replace(event, **{field: value})
                yield _made(trace, "change", index, (*events[:index], changed, *events[index + 1 :]), field)


def _made(trace: Trace, kind: str, index: int, events: tuple[AnyEvent, ...], field: str = "") -> Mutation:
    return Mutation(kind, index, field, Trace(trace.header, events))


def _at(event: AnyEvent, at: int) -> AnyEvent:
    return msgspec.structs.replace(event, at=at)


def _others(trace: Trace, event: AnyEvent, field: str) -> Iterator[Any]:
    """Other values of the same type."""
    value = getattr(event, field)
    if field == "at":
        yield from (at for at in (value - 1, value + 1) if at >= 0)
    elif field in ("process", "to", "sender", "peer", "leader"):
        yield from (process for process in trace.header.ids if process != value)
        if field == "leader" and value is not None:
            yield None
    elif field == "reason":
        yield from (reason for reason in ("loss", "partition", "crash") if reason != value)
    elif field in ("parameters", "fields"):
        for name, part in value.items():
            yield value | {name: _other(part)}
            yield {key: kept for key, kept in value.items() if key != name}
    else:
        yield _other(value)


def _other(value: Any) -> Any:
    """Another value of the same type."""
    if isinstance(value, View):
        return msgspec.structs.replace(value, active=not value.active)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return f"{value}x"
    if isinstance(value, list):
        return [*value, 1]
    if isinstance(value, tuple):  # the places of identifiers in a text
        return (*value, (0, 1))
    return 1 if value is None else None
