"""Processes of a space-time diagram: lifelines, bars of waiting, being inside and leading, and marks of faults."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, product

from vez.core.assumptions import Property
from vez.core.trace import (
    AnyEvent,
    Asked,
    Crashed,
    Cut,
    Elected,
    Entered,
    Fired,
    Healed,
    Left,
    Paused,
    Recovered,
    Resumed,
    Sent,
    Status,
    Wanted,
    Wrote,
)
from vez.draw.trace import event_labels
from vez.draw.trace.layout import Picture
from vez.draw.trace.markup import Markup, box_of, shortened, width_of
from vez.draw.trace.places import Labels, Places

SIZE = 11
LEADING = 13
MOST_LINES = 4
NEAR = (4, 15, -6, 10, 20, 26, -11)
FURTHER = tuple(range(32, 100, 6))
"""Distances from a moment to its text, the best first; further away only if the process has no other moment there."""
OUTLINED = frozenset(set(Property) - {Property.AGREEMENT, Property.TERMINATION, Property.BOUNDED_WAITING})
"""The properties whose violations are outlined. The others concern all processes, or repeat another property."""


def draw_bars(out: Markup, picture: Picture, places: Places) -> None:
    """Draw the lifelines, with bars for leading, waiting, inside and paused, and outlines of violations."""
    for process in picture.ids:
        _lifeline(out, picture, places, process)
    history = picture.history
    for reign in history.reigns:
        _bar(out, places, reign.leader, reign.start, reign.end, 7, "reign", reign.start_index)
    for stay in history.stays:
        left = history.end if stay.left_at is None else stay.left_at
        waited = left if stay.entered_at is None else stay.entered_at
        waited = waited if stay.withdrawn_at is None else stay.withdrawn_at
        _bar(out, places, stay.process, stay.wanted_at, waited, 8, "waiting", stay.wanted_index)
        if stay.entered_at is not None:
            _bar(out, places, stay.process, stay.entered_at, left, 14, "inside", stay.entered_index or 0)
    for pause in history.pauses:
        _bar(out, places, pause.process, pause.start, pause.end, 14, "paused", None)
    for violation in picture.violations:
        for span in violation.spans if violation.name in OUTLINED else ():
            if span.process in picture.column:
                kind = "wrong" if violation.start is not None else "wrong missing"
                _bar(out, places, span.process, span.start, min(span.end, picture.end), 19, kind, None)


def _lifeline(out: Markup, picture: Picture, places: Places, process: int) -> None:
    x, y = places.x(process), places.top - 15
    for down in picture.history.downs:
        if down.process == process:
            out.line(x, y, x, places.y(down.start), "life")
            y = places.bottom if down.open else places.y(down.end)
            out.line(x, places.y(down.start), x, y, "down")
    if y < places.bottom:
        out.line(x, y, x, places.bottom, "life")


def _bar(
    out: Markup, places: Places, process: int, start: int, end: int, wide: float, kind: str, index: int | None
) -> None:
    x, top = places.x(process), places.y(start)
    out.rect(x - wide / 2, top, wide, max(places.y(end) - top, 2), kind, round_=min(wide / 2, 4), index=index)


def draw_marks(out: Markup, picture: Picture, places: Places, labels: Labels) -> None:
    """Draw marks of crashes, recoveries, timers, refused writes and new leaders, and the texts of partitions."""
    for index, event in enumerate(picture.trace.events):
        x, y = places.x(event.process), places.y(event.at)
        match event:
            case Crashed():
                out.cross(x, y, 8, title=picture.told("drawn_crashed"), index=index)
            case Recovered():
                out.circle(x, y, 6, "back", title=event_labels.local(event, picture), index=index)
            case Fired():
                out.circle(x, y, 5, "timer", title=event_labels.local(event, picture), index=index)
                out.path(f"M{x:.1f} {y - 3:.1f} V{y:.1f} H{x + 2.5:.1f}", "timer", index=index)
            case Wrote(accepted=False):
                out.circle(x, y, 7, "refused", title=event_labels.local(event, picture), index=index)
                out.cross(x, y, 3)
            case Elected(process=process, leader=leader) if leader == process:
                out.path(_crown(x, y), "crown", title=event_labels.local(event, picture), index=index)
            case _:
                continue
        labels.reserve((x - 8, y - 8, x + 8, y + 8))
    for partition in picture.partitions:
        y, wide = places.y(partition.at), width_of(partition.words, 11, bold=True)
        for x in range(int(places.left), int(places.width), 14):
            labels.avoid((x, y))
        style = "cut-words" if partition.cut else "healed-words"
        for beside, down in product((places.width - 18 - wide, places.left + 12), (-4, 13)):
            if labels.take(box_of(beside, y + down, wide, 11)):
                out.text(beside, y + down, partition.words, style, index=partition.index)
                break
        else:
            labels.missing.append((partition.at, partition.at))


def _crown(x: float, y: float) -> str:
    return f"M{x - 9:.1f} {y:.1f} l-2 -12 l6 5 l5 -8 l5 8 l6 -5 l-2 12 z"


SILENT = (Sent, Cut, Healed, Wanted, Left, Paused, Resumed)


def draw_words(out: Markup, picture: Picture, places: Places, labels: Labels) -> None:
    """Draw the status texts of each process beside its lifeline; texts of one moment share a line."""
    events = [(index, event) for index, event in enumerate(picture.trace.events) if not isinstance(event, SILENT)]
    before: dict[int, float] = {}
    spoken = [(told, said) for told in _moments(events) if (said := _said(told, picture))]
    after = _next_moments([(told[0][1].process, told[0][1].at) for told, _ in spoken])
    for (told, said), following in zip(spoken, after, strict=True):
        process = told[0][1].process
        style = _style([event for _, event in told])
        within = before.get(process, 0.0), places.y(following) if following is not None else math.inf
        before[process] = _place(out, places, labels, told[0], said, style, within)


def _moments(events: Iterable[tuple[int, AnyEvent]]) -> Iterator[list[tuple[int, AnyEvent]]]:
    """The events of one process, grouped by time, in the order of time."""
    for _, group in groupby(sorted(events, key=_moment), key=_moment):
        yield list(group)


def _next_moments(moments: list[tuple[int, int]]) -> list[int | None]:
    """For each moment of a process, its next one."""
    found: list[int | None] = []
    following: dict[int, int] = {}
    for process, at in reversed(moments):
        found.append(following.get(process))
        following[process] = at
    return found[::-1]


def _said(told: list[tuple[int, AnyEvent]], picture: Picture) -> list[str]:
    last = max((index for index, event in told if isinstance(event, Status)), default=-1)
    spoken = [event for index, event in told if index == last or not isinstance(event, Status)]
    return list(dict.fromkeys(filter(None, (_words(event, picture) for event in spoken))))


def _lines(said: Sequence[str], room: float, bold: bool) -> list[str]:
    """Texts as lines of so many pixels: several in a line if they fit, a long one broken."""
    lines: list[str] = []
    for part in said:
        for place, piece in enumerate(_pieces(part, room, bold)):
            joint = " · " if place == 0 else " "
            if lines and width_of(lines[-1] + joint + piece, SIZE, bold=bold) <= room:
                lines[-1] += joint + piece
            else:
                lines.append(shortened(piece, room, SIZE, bold=bold))
    return lines if len(lines) <= MOST_LINES else [*lines[: MOST_LINES - 1], lines[MOST_LINES - 1] + " …"]


def _pieces(text: str, room: float, bold: bool) -> Iterator[str]:
    """The parts of a text between which a line may end: its phrases, or their words if a phrase is too long."""
    for phrase in re.split("(?<=,) ", text):
        yield from [phrase] if width_of(phrase, SIZE, bold=bold) <= room else phrase.split(" ")


def _moment(item: tuple[int, AnyEvent]) -> tuple[int, int]:
    return item[1].at, item[1].process


def _words(event: AnyEvent, picture: Picture) -> str:
    match event:
        case Entered(token=token):
            return "" if token is None else picture.told("drawn_token", token=token)
        case Asked():
            return picture.told("drawn_asked_briefly")
        case Wrote(accepted=False):
            return picture.told("drawn_refused_briefly")
        case Fired(name=name):
            return event_labels.local(event, picture) if name else ""
        case _:
            return event_labels.local(event, picture)


def _style(events: list[AnyEvent]) -> str:
    if any(isinstance(event, Crashed) or (isinstance(event, Wrote) and not event.accepted) for event in events):
        return "words bad"
    if any(isinstance(event, Elected) and event.leader == event.process for event in events):
        return "words leads"
    return "words in" if any(isinstance(event, Entered) for event in events) else "words"


def _place(
    out: Markup,
    places: Places,
    labels: Labels,
    item: tuple[int, AnyEvent],
    said: list[str],
    style: str,
    within: tuple[float, float],
) -> float:
    """Draw a text to the right of the lifeline, to the left, or slightly lower; in several lines if it is long.

    It is placed between the previous text of this process and its next moment. Returns the end of this text.
    """
    index, event = item
    bold = style != "words"
    lines = _lines(said, max(places.spacing - 26, 48), bold)
    x, y, wide = places.x(event.process), places.y(event.at), max(width_of(line, SIZE, bold=bold) for line in lines)
    tall = LEADING * (len(lines) - 1)
    spots = [(left, y + down) for down in NEAR for left in (x + 12, x - 12 - wide) if y + down > within[0]]
    spots.sort(key=lambda spot: labels.is_crossed((spot[0], spot[1] - 10, spot[0] + wide, spot[1] + tall + 2)))
    spots += [(left, y + down) for down in FURTHER for left in (x + 12, x - 12 - wide) if y + down + tall < within[1]]
    for left, first in spots:
        _, top, right, _ = box_of(left, first, wide, SIZE)
        if labels.take((left, top, right, box_of(left, first + tall, wide, SIZE)[3])):
            for place, line in enumerate(lines):
                beside = left if left > x else x - 12 - width_of(line, SIZE, bold=bold)
                out.text(beside, first + LEADING * place, line, style, full=" · ".join(said), index=index)
            return first + tall
    labels.missing.append((event.at, event.at))
    return within[0]
