"""A trace as one HTML file that plays it, without a server, network access or installation.

The page holds the space-time diagram (the same as `svg`), the network, the events as data, and a player. Text from the
trace reaches the page only as escaped SVG text or as JSON that the player puts into text nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

import msgspec

from vez.core.trace import (
    AnyEvent,
    Cut,
    Delivered,
    Elected,
    Healed,
    Lost,
    MessageId,
    Noted,
    Sent,
    Status,
    Trace,
    Viewed,
    Withdrew,
)
from vez.draw.trace.layout import Picture, clean, shown
from vez.draw.trace.limits import limit
from vez.draw.trace.messages import colours
from vez.draw.trace.network import network
from vez.draw.trace.steps import steps
from vez.draw.trace.svg import Drawing, draw
from vez.judge.properties.verdict import Verdict
from vez.judge.words import LANGUAGES, property_name, scenario_title, status_words, topology_name

SCRIPTS = ("strings.js", "state.js", "spacetime.js", "paths.js", "labels.js", "network.js", "panels.js", "player.js")


def html(trace: Trace, verdicts: Sequence[Verdict] = ()) -> str:
    """The trace as a page to be opened in a browser."""
    kept, left_out = limit(shown(trace))
    pictures = {language: Picture(kept, verdicts, language) for language in LANGUAGES}
    drawings = {language: draw(picture, left_out, heading=False) for language, picture in pictures.items()}
    total = len(trace.header.ids)
    parts = {
        "title": escape(pictures["en"].title),
        "style": _file("player.css") + _file("network.css"),
        "diagram": "\n".join(f'<div lang="{language}" hidden>{one.svg}</div>' for language, one in drawings.items()),
        "data": embed(merged(*(_data(pictures[language], drawings[language], total) for language in LANGUAGES))),
        "script": "\n".join(map(_file, SCRIPTS)),
    }
    return fill(_file("page.html"), parts)


def fill(page: str, parts: Mapping[str, str]) -> str:
    """A page with its {{parts}} filled in. The text of a part is not searched for further parts."""
    head, *rest = page.split("{{")
    return head + "".join(parts[name] + text for name, _, text in (piece.partition("}}") for piece in rest))


def merged(english: Any, portuguese: Any) -> Any:
    """Data in two languages as one value: what differs is `{"en": …, "pt": …}`, at the smallest part."""
    if english == portuguese:
        return english
    if isinstance(english, dict) and english.keys() == portuguese.keys():
        return {name: merged(value, portuguese[name]) for name, value in english.items()}
    if isinstance(english, list) and len(english) == len(portuguese) and not isinstance(english[0], int | float):
        return [merged(*pair) for pair in zip(english, portuguese, strict=True)]
    return {"en": english, "pt": portuguese}


@cache
def _file(name: str) -> str:
    return files("vez.draw.trace").joinpath("player", name).read_text(encoding="utf-8")


def embed(data: dict[str, Any]) -> str:
    """The data as JSON that cannot end the script element that contains it."""
    text = msgspec.json.encode(data).decode()
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _data(picture: Picture, drawing: Drawing, total: int) -> dict[str, Any]:
    header, places = picture.trace.header, drawing.places
    sent = picture.trace.messages()
    return {
        "algorithm": clean(header.algorithm),
        "title": clean(scenario_title(header.title, picture.language)),
        "role": header.role,
        "topology": clean(topology_name(header.topology, picture.language)),
        "seed": str(header.seed),
        "ids": [str(process) for process in picture.ids],
        "names": list(picture.names.values()),
        "called": [picture.called.get(process, str(process)) for process in picture.ids],
        "end": picture.end,
        "messages": len(sent),
        "leftOut": [picture.tell(words) for words in drawing.left_out],
        "events": [_event(event, picture, sent) for event in picture.trace.events],
        "arrows": _arrows(picture),
        "network": network(header, total),
        "steps": steps(picture.trace),
        "partitions": [{"index": one.index, "words": one.words} for one in picture.partitions],
        "cycle": [picture.column[process] for process in picture.cycle],
        "verdicts": [_verdict(verdict, picture) for verdict in picture.verdicts],
        "places": {
            "xs": [round(places.x(process), 1) for process in picture.ids],
            "knots": places.scale.knots,
            "ys": [round(place, 2) for place in places.scale.places],
            "unit": places.scale.tail,
            "unitUs": places.unit_us,
            "bottom": round(places.bottom, 1),
        },
    }


def _event(event: AnyEvent, picture: Picture, sent: dict[MessageId, Sent]) -> dict[str, Any]:
    """An event for the player: processes as columns, texts cleaned, and numbers that may be large as text."""
    column = picture.column
    told: dict[str, Any] = {"e": type(event).__name__.lower(), "at": event.at, "p": column[event.process]}
    if isinstance(event, Sent | Delivered | Lost):
        message = sent[event.message]
        told |= {"from": column[message.process], "to": column[message.to], "label": picture.label(message)}
    for name in ("reason", "accepted", "memory"):
        if hasattr(event, name):
            told[name] = getattr(event, name)
    for name in ("token", "term", "name"):
        value = getattr(event, name, None)
        if value is not None:
            told[name] = clean(str(value))
    for name in ("leader", "peer"):
        process = getattr(event, name, None)
        if process is not None:
            told[name] = picture.called.get(process, str(process))
    if isinstance(event, Withdrew):
        told["retracted"] = event.retracted
    if isinstance(event, Elected):
        told["self"] = event.leader == event.process
    if isinstance(event, Status | Noted):
        told["text"] = picture.remark(event)
    if isinstance(event, Cut | Healed):
        told["to"] = column.get(event.to, -1)
    if isinstance(event, Viewed):
        told["active"] = event.view.active
        told["pointsTo"] = [column[peer] for peer in event.view.points_to if peer in column]
        told["pruned"] = [column[peer] for peer in event.view.pruned if peer in column]
        told["waitsFor"] = [column[peer] for peer in event.view.waits_for if peer in column]
    return told


def _arrows(picture: Picture) -> list[dict[str, Any]]:
    """The messages for the player, with their fates, in the order of sending."""
    colour, column = colours(picture), picture.column
    return [
        {
            "i": arrow.sent_index,
            "end": arrow.end_index,
            "from": column[arrow.sender],
            "to": column[arrow.to],
            "label": arrow.label,
            "colour": colour[arrow.kind],
            "at": arrow.sent_at,
            "until": arrow.end_at,
            "fate": arrow.fate,
            "copy": arrow.copy,
        }
        for arrow in sorted(picture.arrows, key=lambda arrow: (arrow.sent_index, arrow.end_index))
    ]


def _verdict(verdict: Verdict, picture: Picture) -> dict[str, Any]:
    violation = next((one for one in picture.violations if one.name == verdict.name), None)
    start = None if violation is None else violation.start
    if violation is not None and start is None and violation.spans:
        start = min(span.start for span in violation.spans)
    return {
        "name": clean(verdict.name),
        "title": clean(property_name(verdict.name, picture.language)),
        "status": str(verdict.status),
        "words": status_words(verdict.status, verdict.runs, picture.language),
        "evidence": picture.evidence(verdict),
        "promised": verdict.promised,
        "at": start,
        "spans": [
            (picture.column[span.process], span.start, span.end)
            for span in (violation.spans if violation else ())
            if span.process in picture.column
        ],
    }
