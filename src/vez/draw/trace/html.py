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
    label,
)
from vez.draw.trace.layout import Picture, clean, shown
from vez.draw.trace.limits import limit
from vez.draw.trace.messages import colours, kind_of
from vez.draw.trace.network import network
from vez.draw.trace.steps import steps
from vez.draw.trace.svg import Drawing, draw
from vez.judge.properties.verdict import Verdict
from vez.judge.words import LANGUAGES, property_name, scenario_title, status_words, topology_name

SCRIPTS = ("strings.js", "state.js", "spacetime.js", "paths.js", "network.js", "panels.js", "player.js")


def html(trace: Trace, verdicts: Sequence[Verdict] = ()) -> str:
    """The trace as a page to be opened in a browser."""
    kept, left_out = limit(shown(trace))
    picture = Picture(kept, verdicts)
    drawing = draw(picture, left_out, heading=False)
    parts = {
        "title": escape(picture.title),
        "style": _file("player.css") + _file("network.css"),
        "diagram": drawing.svg,
        "data": embed(_data(picture, drawing, len(trace.header.ids))),
        "script": "\n".join(map(_file, SCRIPTS)),
    }
    return fill(_file("page.html"), parts)


def fill(page: str, parts: Mapping[str, str]) -> str:
    """A page with its {{parts}} filled in. The text of a part is not searched for further parts."""
    head, *rest = page.split("{{")
    return head + "".join(parts[name] + text for name, _, text in (piece.partition("}}") for piece in rest))


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
        "title": {language: clean(scenario_title(header.title, language)) for language in LANGUAGES},
        "role": header.role,
        "topology": {language: clean(topology_name(header.topology, language)) for language in LANGUAGES},
        "seed": str(header.seed),
        "ids": [str(process) for process in picture.ids],
        "names": list(picture.names.values()),
        "end": picture.end,
        "messages": len(sent),
        "leftOut": drawing.left_out,
        "events": [_event(event, picture, sent) for event in picture.trace.events],
        "arrows": _arrows(picture),
        "network": network(header, total),
        "steps": steps(picture.trace),
        "partitions": [(one.index, one.words) for one in picture.partitions],
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
        told |= {"from": column[message.process], "to": column[message.to], "label": clean(label(message))}
    for name in ("reason", "accepted", "memory"):
        if hasattr(event, name):
            told[name] = getattr(event, name)
    for name in ("token", "leader", "term", "peer", "name"):
        value = getattr(event, name, None)
        if value is not None:
            told[name] = clean(str(value))
    if isinstance(event, Withdrew):
        told["retracted"] = event.retracted
    if isinstance(event, Elected):
        told["self"] = event.leader == event.process
    if isinstance(event, Status | Noted):
        told["text"] = clean(event.text)
    if isinstance(event, Cut | Healed):
        told["to"] = column.get(event.to, -1)
    if isinstance(event, Viewed):
        told["active"] = event.view.active
        told["pointsTo"] = [column[peer] for peer in event.view.points_to if peer in column]
        told["pruned"] = [column[peer] for peer in event.view.pruned if peer in column]
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
            "colour": colour[kind_of(arrow)],
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
        "title": {language: clean(property_name(verdict.name, language)) for language in LANGUAGES},
        "status": str(verdict.status),
        "words": {language: status_words(verdict.status, verdict.runs, language) for language in LANGUAGES},
        "evidence": {language: clean(verdict.said.told(language, picture.names), 400) for language in LANGUAGES},
        "promised": verdict.promised,
        "at": start,
        "spans": [
            (picture.column[span.process], span.start, span.end)
            for span in (violation.spans if violation else ())
            if span.process in picture.column
        ],
    }
