"""Event labels: short texts for events, for lifelines and lists."""

from __future__ import annotations

from vez.core.trace import (
    AnyEvent,
    Asked,
    Crashed,
    Elected,
    Entered,
    Fired,
    Left,
    Noted,
    Recovered,
    Status,
    Wrote,
)
from vez.draw.trace.layout import Arrow, clean
from vez.judge.words.events import shared_words


def local(event: AnyEvent) -> str:
    """Words for an event, beside its lifeline; empty for events that are drawn in another way."""
    match event:
        case Status(text=text) | Noted(text=text):
            return clean(text)
        case Fired(name=name):
            return f"timer {clean(name)}"
        case Asked() | Left() | Crashed():
            return _PLAIN[type(event)]
        case Entered(token=token):
            return "inside" if token is None else f"inside, token {token}"
        case Wrote(token=token, accepted=accepted):
            return "" if accepted else f"write refused, token {token} is stale"
        case Elected(process=process, leader=leader, term=term):
            whom = "knows no leader" if leader is None else "leads" if process == leader else f"follows {leader}"
            return f"{whom}, term {term}" if term else whom
        case Recovered(memory=memory):
            return "back" if memory else "back without memory"
        case _:
            return shared_words(event)


_PLAIN: dict[type, str] = {
    Asked: "asked to elect",
    Left: "outside",
    Crashed: "crashed",
}


def fate(arrow: Arrow) -> str:
    """The reason why a message did not arrive, or `copy` for a second delivery."""
    if arrow.fate == "delivered":
        return "copy" if arrow.copy else ""
    return {"loss": "lost", "partition": "cut off", "crash": "nobody there", "flying": "on its way"}[arrow.fate]


def full_label(arrow: Arrow) -> str:
    """The message and its fate: `Request(41) (lost)`."""
    suffix = fate(arrow)
    return f"{arrow.label} ({suffix})" if suffix else arrow.label
