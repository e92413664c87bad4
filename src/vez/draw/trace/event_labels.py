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
from vez.draw.trace.layout import Arrow, Picture, clean
from vez.judge.words.events import shared
from vez.judge.words.sentence import Sentence, said


def local(event: AnyEvent, picture: Picture) -> str:
    """Words for an event, beside its lifeline; empty for events that are drawn in another way."""
    if isinstance(event, Status | Noted):
        return picture.remark(event)
    words = _words(event)
    return picture.tell(words) if words else ""


def _words(event: AnyEvent) -> Sentence | None:
    match event:
        case Fired(name=name):
            return said("drawn_fired", timer=clean(name))
        case Asked() | Left() | Crashed():
            return said(_PLAIN[type(event)])
        case Entered(token=token):
            return said("drawn_entered") if token is None else said("drawn_entered_with", token=token)
        case Wrote(token=token, accepted=accepted):
            return None if accepted else said("drawn_refused", token=token)
        case Elected(process=process, leader=leader, term=term):
            key = "drawn_no_leader" if leader is None else "drawn_leads" if process == leader else "drawn_follows"
            whom = said(key, leader=leader)
            return said("drawn_in_term", what=whom, term=term) if term else whom
        case Recovered(memory=memory):
            return said("drawn_recovered" if memory else "drawn_recovered_empty")
        case _:
            return shared(event)


_PLAIN: dict[type, str] = {Asked: "drawn_asked", Left: "drawn_left", Crashed: "drawn_crashed"}


def full_label(arrow: Arrow, picture: Picture) -> str:
    """The message and its fate: `Request(41) (lost)`. A second delivery is a copy."""
    if arrow.fate == "delivered" and not arrow.copy:
        return arrow.label
    return picture.told(f"fate_{'copy' if arrow.fate == 'delivered' else arrow.fate}", what=arrow.label)
