"""Events in a few words, for lifelines and lists."""

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
    Paused,
    Recovered,
    Resumed,
    Status,
    Suspected,
    Trusted,
    Wanted,
    Withdrew,
    Wrote,
)
from vez.draw.trace.layout import Arrow, clean


def local(event: AnyEvent) -> str:
    """Words for an event, beside its lifeline; empty for events that are drawn in another way."""
    match event:
        case Status(text=text) | Noted(text=text):
            return clean(text)
        case Fired(name=name):
            return f"timer {clean(name)}"
        case Wanted() | Asked() | Left() | Crashed() | Paused() | Resumed():
            return _PLAIN[type(event)]
        case Withdrew(retracted=retracted):
            return "takes its request back" if retracted else "stops waiting"
        case Entered(token=token):
            return "inside" if token is None else f"inside, token {token}"
        case Wrote(token=token, accepted=accepted):
            return "" if accepted else f"write refused, token {token} is stale"
        case Elected(process=process, leader=leader, term=term):
            whom = "knows no leader" if leader is None else "leads" if process == leader else f"follows {leader}"
            return f"{whom}, term {term}" if term else whom
        case Recovered(memory=memory):
            return "back" if memory else "back without memory"
        case Suspected(peer=peer):
            return f"suspects {peer}"
        case Trusted(peer=peer):
            return f"trusts {peer}"
        case _:
            return ""


_PLAIN: dict[type, str] = {
    Wanted: "wants in",
    Asked: "asked to elect",
    Left: "outside",
    Crashed: "crashed",
    Paused: "stands still",
    Resumed: "goes on",
}


def fate(arrow: Arrow) -> str:
    """Why a message did not arrive, or `copy` for a second delivery."""
    if arrow.fate == "delivered":
        return "copy" if arrow.copy else ""
    return {"loss": "lost", "partition": "cut off", "crash": "nobody there", "flying": "on its way"}[arrow.fate]


def full_label(arrow: Arrow) -> str:
    """The message and its fate: `Request(41) (lost)`."""
    suffix = fate(arrow)
    return f"{arrow.label} ({suffix})" if suffix else arrow.label
