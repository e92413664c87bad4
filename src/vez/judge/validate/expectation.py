"""Expectation: the events that the trace must hold for a step, given the outcome of its handler."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from vez.core.effects import CancelTimer, Choose, Elect, Enter, Note, Send, SetTimer, spurious_state
from vez.core.message import Message, fields_of, plain_values
from vez.core.process import DURABLE, Process, marked
from vez.core.process_ids import unmarked
from vez.core.recorder import durable_changes
from vez.core.trace import (
    AnyEvent,
    Chose,
    Elected,
    Entered,
    Noted,
    Sent,
    Status,
    Stored,
    TimerCancelled,
    TimerSet,
    Viewed,
)
from vez.judge.validate.context import encoded
from vez.judge.validate.handler_call import INSIDE, NO_VIEW, WAITING, WITHDRAWN, Candidate, HandlerCall, Outcome


class Expected(NamedTuple):
    """The events that the trace must hold for a step, and the state after it."""

    events: list[AnyEvent | str]
    """The events in order. A text stands where the handler fails; no event matches it."""
    effects: list[AnyEvent | None]
    """The event of each effect; None if the effect leaves no event in this trace."""
    messages: list[Message]
    after: Candidate


def expected(call: HandlerCall, candidate: Candidate, outcome: Outcome, phase: int, sent: int) -> Expected:
    """The expected events of an outcome. `sent` is the number of messages that the process has sent before."""
    context, at, me = call.context, call.step.cause.at, call.step.cause.process
    events: list[AnyEvent | str] = []
    effects: list[AnyEvent | None] = []
    messages: list[Message] = []
    timers = dict(candidate.timers)
    whole = not outcome.failed and not outcome.asked
    changed = durable_changes(candidate.body, outcome.body) if whole and "stored" not in context.unseen else None
    if changed:
        events.append(Stored(at, me, plain_values(changed)))
    hidden = ("timers" in context.unseen, "choices" in context.unseen)
    for effect in outcome.effects:
        event: AnyEvent | None = None
        match effect:
            case Send(to, message):
                messages.append(message)
                number = sent + len(messages)
                event = Sent(at, me, number, to, message.__class__.__name__, fields_of(message))
            case SetTimer(name, after_ms):
                after_us = round(after_ms * 1000)
                timers[name] = at + max(1, int(after_us * context.promises.time_scale))
                if not hidden[0]:
                    event = TimerSet(at, me, name, after_us)
            case CancelTimer(name):
                timers.pop(name, None)
                if not hidden[0]:
                    event = TimerCancelled(at, me, name)
            case Choose(options, index):
                if not hidden[1]:
                    event = Chose(at, me, len(options), index)
            case Enter(token) if phase in (WAITING, WITHDRAWN):
                phase = INSIDE
                event = Entered(at, me, token)
            case Enter():
                event = Noted(at, me, f"was let in, but {spurious_state(inside=phase == INSIDE)}")
            case Elect(leader, term):
                event = Elected(at, me, leader, term)
            case Note(text):
                plain, places = unmarked(text)
                event = Noted(at, me, plain, () if "names" in context.unseen else places)
        effects.append(event)
    events += [event for event in effects if event is not None]
    if not whole:
        events.append(outcome.failed or Chose(at, me, outcome.asked, -1))
        return Expected(events, effects, messages, candidate)
    status, view = outcome.body.status(), outcome.body.view() or NO_VIEW
    if "names" in context.unseen:
        status, view = unmarked(status)[0], msgspec.structs.replace(view, waits_for=())
    if status != candidate.status:
        events.append(Status(at, me, *unmarked(status)))
    if view != candidate.view:
        events.append(Viewed(at, me, view))
    return Expected(events, effects, messages, Candidate(outcome.body, timers, status, view, candidate.guesses))


def stopped(
    call: HandlerCall, candidate: Candidate, outcome: Outcome, wanted: Expected
) -> Iterator[tuple[list[Any], Process]]:
    """The events and the stored fields if a crash stopped the handler, for each moment at which it may have.

    Writes of durable fields are in the order of the program here, unlike those of a handler that ended.
    """
    at, me = call.step.cause.at, call.step.cause.process
    names = marked(call.context.algorithm, DURABLE)
    hidden = "stored" in call.context.unseen
    events: list[Any] = []
    done, body = 0, msgspec.structs.replace(candidate.body)
    for point in outcome.points:
        events += [event for event in wanted.effects[done : point.effects] if event is not None]
        done, before = point.effects, msgspec.structs.replace(body)
        for name, value in zip(names, point.durable, strict=True):
            setattr(body, name, value)
        changed = durable_changes(before, body)
        if changed and not hidden:
            events.append(Stored(at, me, plain_values(changed)))
        yield list(events), msgspec.structs.replace(body)


def same(one: AnyEvent | str, other: AnyEvent) -> bool:
    """True if two events of the same process are equal except for their times."""
    if type(one) is not type(other):
        return False
    if isinstance(one, Sent) and isinstance(other, Sent):
        heads = (one.number, one.to, one.kind) == (other.number, other.to, other.kind)
        return heads and encoded(one.fields) == encoded(other.fields)
    if isinstance(one, Stored) and isinstance(other, Stored):
        return encoded(one.fields) == encoded(other.fields)
    return msgspec.structs.astuple(one)[2:] == msgspec.structs.astuple(other)[2:]
