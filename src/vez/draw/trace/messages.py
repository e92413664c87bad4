"""Messages of a space-time diagram: slanted arrows, which end where the message was lost, with labels that do not
overlap."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from vez.draw.trace.event_labels import full_label
from vez.draw.trace.layout import Arrow, Picture
from vez.draw.trace.markup import ASCENT, Markup, box_of, shortened, width_of
from vez.draw.trace.places import Box, Labels, Places

COLOURS = 5
STEEPEST = 34
"""Largest slope, in degrees, at which a label is rotated with its arrow; on steeper arrows it is horizontal."""
SIZE = 11
BESIDE = 6.0
CLEAR = 11
"""Distance that a label keeps from the lifelines: half of the widest bar and a little."""
PARTS = (0.5, 0.36, 0.64, 0.22, 0.78, 0.12, 0.88)
PIECE = 14
STEP = 9
"""Distance of the points by which a text knows a line."""
ABOVE, ON, BELOW = -4, 3, 12
"""Distances from the line to the baseline of a label."""
Point = tuple[float, float]
Text = tuple[float, float, str, float, str]
"""A label: its place, the shown text, its rotation, and the whole text."""


def draw_messages(out: Markup, picture: Picture, places: Places, labels: Labels) -> None:
    """All messages, in the order in which they were sent."""
    colour = colours(picture)
    led = {message for verdict in picture.broken for message in verdict.messages}
    arrows = _in_order(picture)
    courses = _courses(arrows, places)
    texts = _texts(picture, arrows, courses, places, labels)
    for place, arrow in enumerate(arrows):
        classes = ["message", f"k{colour[arrow.kind]}"]
        classes += ["copy"] if arrow.copy else []
        classes += ["lost"] if arrow.fate not in ("delivered", "flying") else []
        classes += ["flying"] if arrow.fate == "flying" else []
        classes += ["evidence"] if arrow.message in led else []
        what = full_label(arrow, picture)
        ends = {"start": arrow.sent_at, "end": arrow.end_at}
        out.open(
            " ".join(classes),
            title=picture.told("drawn_course", what=what, one=arrow.sender, to=arrow.to, **ends),
            i=arrow.sent_index,
            end=arrow.end_index,
            sender=arrow.sender,
            number=arrow.number,
        )
        (_loop if arrow.sender == arrow.to else _slant)(out, arrow, *courses[place])
        if place in texts:
            x, y, shown, turn, full = texts[place]
            out.text(x, y, shown, "", turn=turn, full=full)
        out.close()


def _in_order(picture: Picture) -> list[Arrow]:
    return sorted(picture.arrows, key=lambda arrow: (arrow.sent_index, arrow.end_index))


def _courses(arrows: Sequence[Arrow], places: Places) -> list[tuple[Point, Point]]:
    """Start and end of each line; moved down a little if an earlier message has the same line."""
    same: Counter[tuple[int, int, int, int]] = Counter()
    found = []
    for arrow in arrows:
        (x1, y1), (x2, y2) = _ends(arrow, places)
        course = (arrow.sender, arrow.to, arrow.sent_at, arrow.end_at)
        lower = BESIDE * min(same[course], 3) if arrow.sender != arrow.to else 0
        same[course] += 1
        found.append(((x1, y1 + lower), (x2, y2 + lower)))
    return found


def _texts(
    picture: Picture, arrows: Sequence[Arrow], courses: Sequence[tuple[Point, Point]], places: Places, labels: Labels
) -> dict[int, Text]:
    """The labels, by the place of their arrow. A broadcast has one: at the first of its arrows that has room."""
    broadcasts: dict[tuple[int, int, str], list[int]] = {}
    for place, arrow in enumerate(arrows):
        text = picture.told("drawn_again", what=arrow.label) if arrow.copy else arrow.label
        broadcasts.setdefault((arrow.sender, arrow.sent_at, text), []).append(place)
    found: dict[int, Text] = {}
    for (sender, _, text), members in broadcasts.items():

        def preference(place: int, sender: int = sender) -> tuple[bool, int, int]:
            far = abs(places.column[arrows[place].to] - places.column[sender]) or len(places.column)
            return arrows[place].fate != "delivered", far, place

        members.sort(key=preference)
        for place, strict in ((place, strict) for strict in (True, False) for place in members):
            if arrows[place].to == sender:
                spot = _beside_loop(text, *courses[place], places, labels)
            else:
                spot = _beside_line(text, *courses[place], places, labels, place if strict else None)
            if spot:
                found[place] = spot
                break
        else:
            first = arrows[members[0]]
            labels.missing.append((first.sent_at, first.end_at))
    return found


def mark_lines(picture: Picture, places: Places, labels: Labels) -> None:
    """Reserve the heads of arrows and the crosses of lost messages, so that no label covers them. Texts avoid lines."""
    for number, arrow in enumerate(_in_order(picture)):
        if arrow.sender == arrow.to:
            continue
        (x, y), (tip, low) = _ends(arrow, places)
        side = math.copysign(1, tip - x)
        if arrow.fate != "flying":
            labels.reserve((min(tip, tip - 9 * side), low - 4, max(tip, tip - 9 * side), low + 4))
        slope = (low - y) / (abs(tip - x) or 1)
        for piece in range(0, int(abs(tip - x)), STEP):
            labels.avoid((x + side * (piece + STEP / 2), y + slope * (piece + STEP / 2)), number)


def colours(picture: Picture) -> dict[str, int]:
    """A colour for each kind of message; further kinds share the last colour."""
    kinds = sorted({arrow.kind for arrow in picture.arrows})
    return {kind: min(place, COLOURS - 1) for place, kind in enumerate(kinds)}


def _slant(out: Markup, arrow: Arrow, start: Point, end: Point) -> None:
    """A line from sending to arrival."""
    out.line(*start, *end, "")
    length = math.dist(start, end) or 1
    if arrow.fate == "delivered":
        _head(out, end, ((end[0] - start[0]) / length, (end[1] - start[1]) / length))
    elif arrow.fate != "flying":
        out.cross(end[0], end[1], 4.5)


def _loop(out: Markup, arrow: Arrow, start: Point, end: Point) -> None:
    """A message from a process to itself."""
    (x, y1), (_, y2) = start, end
    out.path(f"M{x:.1f} {y1:.1f} C{x + 34:.1f} {y1:.1f} {x + 34:.1f} {y2:.1f} {x + 8:.1f} {y2:.1f}", "")
    _head(out, (x + 7, y2), (-1, 0))


def _ends(arrow: Arrow, places: Places) -> tuple[Point, Point]:
    """Start and end of the line. A message that does not arrive ends between the lifelines."""
    x1, x2 = places.x(arrow.sender), places.x(arrow.to)
    if x1 == x2:
        return (x1, places.y(arrow.sent_at)), (x1, places.y(arrow.end_at))
    side = 1 if x2 > x1 else -1
    y1 = places.y(arrow.sent_at)
    if arrow.fate == "delivered":
        return (x1, y1), (x2 - side * 7, places.y(arrow.end_at))
    known = arrow.fate == "flying" or arrow.end_at > arrow.sent_at
    end_at = arrow.end_at if known else arrow.sent_at + places.unit_us
    part = 0.8 if arrow.end_at > arrow.sent_at and arrow.fate != "flying" else 0.55
    y2 = places.y(end_at if arrow.fate != "flying" else arrow.sent_at + places.unit_us)
    reach = abs(x2 - x1) * part
    reach = max(reach, abs(x2 - x1) - places.spacing * 0.4)  # close to the receiver, at any distance
    part = reach / abs(x2 - x1)
    return (x1, y1), (x1 + (x2 - x1) * part, y1 + (y2 - y1) * part)


def _head(out: Markup, tip: Point, along: Point) -> None:
    (x, y), (dx, dy) = tip, along
    out.polygon((x, y), (x - 9 * dx - 4 * dy, y - 9 * dy + 4 * dx), (x - 9 * dx + 4 * dy, y - 9 * dy - 4 * dx))


def _beside_line(
    text: str, start: Point, end: Point, places: Places, labels: Labels, number: int | None
) -> Text | None:
    """A place beside the line, the first free one between two lifelines. With the number of the line, only a place
    that no other line crosses."""
    shown = shortened(text, max(places.spacing - 22, 40), SIZE)
    wide = width_of(shown, SIZE)
    rise = math.degrees(math.atan2(end[1] - start[1], abs(end[0] - start[0]) or 1))
    turn = rise * (1 if end[0] > start[0] else -1) if rise <= STEEPEST else 0
    for part, middle in _spots(abs(end[0] - start[0]), wide * math.cos(math.radians(turn)), places.spacing):
        x, y = start[0] + (end[0] - start[0]) * middle, start[1] + (end[1] - start[1]) * (middle if turn else part)
        for down in (ABOVE, BELOW) if turn else (ON,):
            boxes = _boxes(x, y + down, wide, turn)
            if number is not None and any(labels.is_crossed(box, number) for box in boxes):
                continue
            if labels.take(*boxes):
                return x, y + down, shown, turn, text
    return None


def _beside_loop(text: str, start: Point, end: Point, places: Places, labels: Labels) -> Text | None:
    """A place beside the line of a message from a process to itself."""
    (x, top), (_, bottom) = start, end
    shown = shortened(text, max(places.spacing - 44, 40), SIZE)
    wide = width_of(shown, SIZE)
    for y in (*(top + (bottom - top) * part + 4 for part in PARTS), bottom + 14, bottom + 24):
        if labels.take(box_of(x + 30, y, wide, SIZE)):
            return x + 30 + wide / 2, y, shown, 0, text
    return None


def _spots(long: float, wide: float, spacing: float) -> list[tuple[float, float]]:
    """The possible places of a label on the line, the best first: near an end, with its middle away from lifelines."""
    gaps = max(1, round(long / spacing))
    edge = min((wide / 2 + CLEAR) / (long / gaps), 0.5) if long else 0.5
    order = sorted(range(gaps), key=lambda gap: min(gap, gaps - 1 - gap))
    return [((gap + part) / gaps, (gap + min(max(part, edge), 1 - edge)) / gaps) for part in PARTS for gap in order]


def _boxes(x: float, y: float, wide: float, turn: float) -> list[Box]:
    """The boxes of a label with its middle at a point. A rotated label is a row of short boxes, not one tall box."""
    if not turn:
        return [box_of(x - wide / 2, y, wide, SIZE)]
    angle, count = math.radians(turn), max(1, math.ceil(wide / PIECE))
    half = wide / count / 2
    reach = half * math.cos(angle) + ASCENT * SIZE * abs(math.sin(angle)) / 2
    found: list[Box] = []
    for place in range(count):
        along = (2 * place + 1 - count) * half
        _, top, _, bottom = box_of(0, y + along * math.sin(angle), 0, SIZE)
        tall, middle = half * abs(math.sin(angle)), x + along * math.cos(angle)
        found.append((middle - reach, top - tall, middle + reach, bottom + tall))
    return found
