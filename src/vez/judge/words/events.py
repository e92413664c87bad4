"""Events and steps of a trace, in English."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vez.core.trace import (
    AnyEvent,
    Asked,
    Chose,
    Crashed,
    Cut,
    Delivered,
    Elected,
    Entered,
    Fired,
    Healed,
    Left,
    Lost,
    MessageId,
    Noted,
    Paused,
    Recovered,
    Resumed,
    Sent,
    Started,
    Status,
    Stored,
    Suspected,
    TimerCancelled,
    TimerSet,
    Trusted,
    Viewed,
    Wanted,
    Withdrew,
    Wrote,
    label,
)
from vez.judge.words.sentence import Sentence, ms, said

Sendings = Mapping[MessageId, Sent]

_PLAIN: dict[type, str] = {
    Started: "starts",
    Asked: "is asked to elect",
    Left: "leaves",
    Crashed: "crashes",
}
_LOST = {"loss": "is lost", "partition": "is lost on a cut channel", "crash": "is lost in a crash"}

_SHARED: dict[type, str] = {Wanted: "drawn_wanted", Paused: "drawn_paused", Resumed: "drawn_resumed"}


def shared(event: AnyEvent) -> Sentence | None:
    """The action of a process, without its name; None for events that pictures and explanations word differently.

    Pictures and explanations use the same words for these events.
    """
    match event:
        case Withdrew(retracted=retracted):
            return said("drawn_retracted" if retracted else "drawn_withdrew")
        case Suspected(peer=peer):
            return said("drawn_suspected", peer=peer)
        case Trusted(peer=peer):
            return said("drawn_trusted", peer=peer)
        case _:
            key = _SHARED.get(type(event))
            return None if key is None else said(key)


def event_words(event: AnyEvent, sendings: Sendings) -> str:
    """An event as a sentence: `process 2 sends Reply(3) to 1`."""
    if isinstance(event, Lost):
        return f"{message_words(event.message, sendings)} from process {event.process} {_LOST[event.reason]}"
    if isinstance(event, Cut | Healed):
        verb = "is cut" if isinstance(event, Cut) else "is healed"
        return f"the channel from process {event.process} to {event.to} {verb}"
    return f"process {event.process} {deed(event, sendings)}"


def deed(event: AnyEvent, sendings: Sendings) -> str:
    """The action of a process, without its name."""
    match event:
        case Sent(to=to):
            return f"sends {label(event)} to {to}"
        case Delivered(sender=sender):
            return f"receives {message_words(event.message, sendings)} from {sender}"
        case Entered(token=token):
            return "enters" if token is None else f"enters with token {token}"
        case Wrote(token=token, accepted=accepted):
            return f"writes with token {token}, {'accepted' if accepted else 'refused'}"
        case Elected(leader=leader, term=term):
            whom = "knows no leader" if leader is None else f"takes {leader} for the leader"
            return f"{whom}, term {term}" if term else whom
        case Recovered(memory=memory):
            return "comes back" if memory else "comes back without memory"
        case _:
            words = shared(event)
            return str(words) if words else _PLAIN.get(type(event)) or _inner(event)


def _inner(event: AnyEvent) -> str:
    """An internal event of a process, which no other process sees."""
    match event:
        case TimerSet(name=name, after_us=after):
            return f"sets timer {name} to {ms(after)} ms"
        case TimerCancelled(name=name):
            return f"cancels timer {name}"
        case Fired(name=name):
            return f"sees timer {name} run out"
        case Chose(options=options, index=index):
            return f"chooses among {options} options" + (f" the one with index {index}" if index >= 0 else "")
        case Stored(fields=fields):
            return "stores " + ", ".join(f"{name} = {value}" for name, value in sorted(fields.items()))
        case Status(text=text):
            return f"has the status {text!r}"
        case Viewed():
            return f"shows {event.view}"
        case Noted(text=text):
            return f"notes {text!r}"
        case _:
            return type(event).__name__.lower()


def message_words(message: MessageId, sendings: Sendings) -> str:
    """A message by its kind and its fields; by its number if the trace has no send of it."""
    sent = sendings.get(message)
    return f"message {message[1]}" if sent is None else label(sent)


def step_words(cause: AnyEvent, outcomes: Sequence[AnyEvent], sendings: Sendings) -> str:
    """A step as a sentence: the event that the process received, and what the process did."""
    deeds = [deed(event, sendings) for event in outcomes if not isinstance(event, Status | Viewed)]
    return event_words(cause, sendings) + (f": {', '.join(deeds)}" if deeds else "")
