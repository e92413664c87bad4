"""Kinds of tampering with a trace: each makes another trace by chance, or None if it finds nothing to change."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import msgspec

from vez.core import trace as e
from vez.core.trace import AnyEvent, Trace

Events = list[AnyEvent]
Kind = Callable[[Random, Trace, Trace], Trace | None]


def over(change: Callable[[Random, Events, Trace], Events | None]) -> Kind:
    """A kind that changes the events."""

    def kind(chance: Random, trace: Trace, other: Trace) -> Trace | None:
        events = change(chance, list(trace.events), other)
        return None if events is None or tuple(events) == trace.events else Trace(trace.header, in_time(events))

    return kind


def in_time(events: Events) -> tuple[AnyEvent, ...]:
    """The events with the times in order, so that the reader does not refuse them for that alone."""
    at, found = 0, []
    for event in events:
        at = max(at, event.at)
        found.append(event if event.at == at else msgspec.structs.replace(event, at=at))
    return tuple(found)


def put(change: Callable[[Random, Any, Trace], dict[str, Any] | None], *kinds: type) -> Kind:
    """A kind that changes fields of one event of these kinds."""

    def apply(chance: Random, trace: Trace, other: Trace) -> Trace | None:
        places = [index for index, event in enumerate(trace.events) if isinstance(event, kinds)]
        if not places or not (fields := change(chance, trace.events[index := chance.choice(places)], trace)):
            return None
        events = list(trace.events)
        events[index] = msgspec.structs.replace(events[index], **fields)
        return None if tuple(events) == trace.events else Trace(trace.header, in_time(events))

    return apply


def process(name: str) -> Callable[[Random, Any, Trace], dict[str, Any]]:
    return lambda chance, event, trace: {name: chance.choice(trace.header.ids)}


def number(name: str) -> Callable[[Random, Any, Trace], dict[str, Any]]:
    return lambda chance, event, trace: {name: max(0, (getattr(event, name) or 0) + chance.choice((-2, -1, 1, 2)))}


def value(name: str) -> Callable[[Random, Any, Trace], dict[str, Any] | None]:
    """Change one entry of a table."""

    def change(chance: Random, event: Any, trace: Trace) -> dict[str, Any] | None:
        table = dict(getattr(event, name))
        if not table:
            return None
        key = chance.choice(sorted(table))
        one = table[key]
        table[key] = (
            not one
            if isinstance(one, bool)
            else one + 1
            if isinstance(one, int | float)
            else chance.choice((None, 1, "x", [1]))
        )
        return {name: table}

    return change


def anywhere(chance: Random, events: Events) -> int:
    return chance.randrange(len(events))


def drop(chance: Random, events: Events, _: Trace) -> Events:
    del events[anywhere(chance, events)]
    return events


def drop_range(chance: Random, events: Events, _: Trace) -> Events:
    at = anywhere(chance, events)
    del events[at : at + chance.randint(2, 6)]
    return events


def drop_step(chance: Random, events: Events, _: Trace) -> Events:
    """All that one process did at one moment."""
    one = chance.choice(events)
    return [event for event in events if (event.process, event.at) != (one.process, one.at)]


def drop_rest_of_process(chance: Random, events: Events, _: Trace) -> Events:
    at = anywhere(chance, events)
    return events[:at] + [event for event in events[at:] if event.process != events[at].process]


def cut_the_end(chance: Random, events: Events, _: Trace) -> Events:
    return events[: anywhere(chance, events)]


def again(chance: Random, events: Events, _: Trace) -> Events:
    at = anywhere(chance, events)
    events.insert(at, events[at])
    return events


def again_later(chance: Random, events: Events, _: Trace) -> Events:
    at = anywhere(chance, events)
    events.insert(chance.randint(at, len(events)), events[at])
    return events


def swap(chance: Random, events: Events, _: Trace) -> Events:
    at = chance.randrange(len(events) - 1)
    events[at], events[at + 1] = events[at + 1], events[at]
    return events


def swap_far(chance: Random, events: Events, _: Trace) -> Events:
    one, other = chance.sample(range(len(events)), 2)
    events[one], events[other] = events[other], events[one]
    return events


def move(chance: Random, events: Events, _: Trace) -> Events:
    event = events.pop(anywhere(chance, events))
    events.insert(chance.randint(0, len(events)), event)
    return events


def reverse(chance: Random, events: Events, _: Trace) -> Events:
    at = anywhere(chance, events)
    events[at : at + 4] = events[at : at + 4][::-1]
    return events


def splice(chance: Random, events: Events, other: Trace) -> Events:
    """The end of another run of the same algorithm."""
    return events[: anywhere(chance, events)] + list(other.events[chance.randrange(len(other.events)) :])


def exchange(chance: Random, events: Events, _: Trace) -> Events | None:
    """Two processes take each other's place from some moment on."""
    ids = sorted({event.process for event in events})
    if len(ids) < 2:
        return None
    one, other = chance.sample(ids, 2)
    at, names = anywhere(chance, events), {one: other, other: one}
    return events[:at] + [
        msgspec.structs.replace(event, process=names.get(event.process, event.process)) for event in events[at:]
    ]


def exchange_contents(chance: Random, events: Events, _: Trace) -> Events | None:
    places = [index for index, event in enumerate(events) if isinstance(event, e.Sent)]
    if len(places) < 2:
        return None
    one, other = chance.sample(places, 2)
    first, second = events[one], events[other]
    assert isinstance(first, e.Sent)
    assert isinstance(second, e.Sent)
    events[one] = msgspec.structs.replace(first, kind=second.kind, fields=second.fields)
    events[other] = msgspec.structs.replace(second, kind=first.kind, fields=first.fields)
    return events


def forge(make: Callable[[Random, Events, AnyEvent], AnyEvent | None]) -> Kind:
    def change(chance: Random, events: Events, _: Trace) -> Events | None:
        at = anywhere(chance, events)
        made = make(chance, events[:at], events[at])
        return None if made is None else [*events[:at], made, *events[at:]]

    return over(change)


def a_delivery(chance: Random, before: Events, at: AnyEvent) -> AnyEvent | None:
    sent = [one for one in before if isinstance(one, e.Sent)]
    one = chance.choice(sent) if sent else None
    return None if one is None else e.Delivered(at.at, one.to, one.process, one.number)


def a_loss(chance: Random, before: Events, at: AnyEvent) -> AnyEvent | None:
    sent = [one for one in before if isinstance(one, e.Sent)]
    one = chance.choice(sent) if sent else None
    return (
        None if one is None else e.Lost(at.at, one.process, one.number, chance.choice(("loss", "crash", "partition")))
    )


def a_timer(chance: Random, before: Events, at: AnyEvent) -> AnyEvent | None:
    sets = [one for one in before if isinstance(one, e.TimerSet)]
    one = chance.choice(sets) if sets else None
    return None if one is None else e.Fired(at.at, one.process, one.name)


PLAIN: tuple[Callable[[int, int, int], AnyEvent], ...] = (
    lambda at, me, peer: e.Entered(at, me),
    lambda at, me, peer: e.Left(at, me),
    lambda at, me, peer: e.Wanted(at, me),
    lambda at, me, peer: e.Asked(at, me),
    lambda at, me, peer: e.Elected(at, me, peer),
    lambda at, me, peer: e.Crashed(at, me),
    lambda at, me, peer: e.Suspected(at, me, peer),
    lambda at, me, peer: e.Noted(at, me, "a remark"),
    lambda at, me, peer: e.Recovered(at, me),
)


def something(chance: Random, before: Events, at: AnyEvent) -> AnyEvent | None:
    ids = sorted({event.process for event in before})
    return chance.choice(PLAIN)(at.at, chance.choice(ids), chance.choice(ids)) if ids else None


def other_parameters(chance: Random, events: Events, _: Trace) -> Events | None:
    """One parameter has another value, the same at all processes."""
    starts = [one for one in events if isinstance(one, e.Started) and one.parameters]
    if not starts:
        return None
    name = chance.choice(sorted(starts[0].parameters))
    old = starts[0].parameters[name]
    if isinstance(old, bool) or not isinstance(old, int | float):
        return None
    return [
        msgspec.structs.replace(one, parameters={**one.parameters, name: old * 2 + 1})
        if isinstance(one, e.Started)
        else one
        for one in events
    ]


def other_end(chance: Random, trace: Trace, other: Trace) -> Trace | None:
    end: Any = chance.choice(("quiet", "finished", "time", "interrupted", "raised"))
    header = msgspec.structs.replace(trace.header, end=end)
    return None if header == trace.header else Trace(header, trace.events)


def twice(chance: Random, trace: Trace, other: Trace) -> Trace | None:
    """Two kinds at once."""
    names = sorted(set(KINDS) - {"two of these"})
    first = KINDS[chance.choice(names)](chance, trace, other)
    return None if first is None or len(first.events) < 2 else KINDS[chance.choice(names)](chance, first, other)


KINDS: dict[str, Kind] = {
    "an event is dropped": over(drop),
    "some events are dropped": over(drop_range),
    "a step is dropped": over(drop_step),
    "a process does nothing more": over(drop_rest_of_process),
    "the end is cut off": over(cut_the_end),
    "an event is doubled": over(again),
    "an event is repeated later": over(again_later),
    "neighbours are swapped": over(swap),
    "two events are swapped": over(swap_far),
    "an event is moved": over(move),
    "some events are reversed": over(reverse),
    "the end is that of another run": over(splice),
    "two processes are exchanged": over(exchange),
    "two messages exchange contents": over(exchange_contents),
    "a delivery is forged": forge(a_delivery),
    "a loss is forged": forge(a_loss),
    "the end of a timer is forged": forge(a_timer),
    "another event is forged": forge(something),
    "it happened elsewhere": put(process("process"), e.Event),
    "another receiver": put(process("to"), e.Sent, e.Cut, e.Healed),
    "another sender": put(process("sender"), e.Delivered),
    "another number": put(number("number"), e.Sent, e.Delivered, e.Lost),
    "another kind of message": put(lambda chance, event, _: {"kind": event.kind + "x"}, e.Sent),
    "another content": put(value("fields"), e.Sent),
    "another initial field": put(value("fields"), e.Started),
    "another parameter": put(value("parameters"), e.Started),
    "other parameters": over(other_parameters),
    "another token": put(number("token"), e.Entered, e.Wrote),
    "another leader": put(process("leader"), e.Elected),
    "another term": put(number("term"), e.Elected),
    "another timer": put(lambda chance, event, _: {"name": event.name + "x"}, e.TimerSet, e.TimerCancelled, e.Fired),
    "another duration": put(number("after_us"), e.TimerSet),
    "another choice": put(number("index"), e.Chose),
    "other options": put(number("options"), e.Chose),
    "another durable field": put(value("fields"), e.Stored, e.Recovered),
    "another memory": put(lambda chance, event, _: {"memory": not event.memory}, e.Recovered),
    "another peer": put(process("peer"), e.Suspected, e.Trusted),
    "another time": put(number("at"), e.Event),
    "another end": other_end,
    "two of these": twice,
}
