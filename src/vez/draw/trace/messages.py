"""Messages of a space-time diagram: slanted arrows, which end where the message was lost, with labels that do not
overlap."""

from __future__ import annotations

import math
from collections import Counter

from vez.draw.trace.event_labels import full_label
from vez.draw.trace.layout import Arrow, Picture
from vez.draw.trace.markup import Markup, width_of
from vez.draw.trace.places import Box, Labels, Places
from vez.judge.words.sentence import ms

COLOURS = 5
STEEPEST = 34
"""Largest slope, in degrees, at which a label is rotated with its arrow; on steeper arrows it is horizontal."""
SIZE = 11
BESIDE = 6.0
CLEAR = 11
"""Distance that a label keeps from the lifelines: half of the widest bar and a little."""
PARTS = (0.5, 0.36, 0.64, 0.22, 0.78, 0.12, 0.88)
PIECE = 14
NEAR_END = 84
ABOVE, ON, BELOW = -4, 3, 12
"""Distances from the line to the baseline of a label."""
Point = tuple[float, float]


def draw_messages(out: Markup, picture: Picture, places: Places, labels: Labels) -> None:
    """All messages, in the order in which they were sent."""
    colour = colours(picture)
    led = {message for verdict in picture.broken for message in verdict.messages}
    same: Counter[tuple[int, int, int, int]] = Counter()
    for arrow in sorted(picture.arrows, key=lambda arrow: (arrow.sent_index, arrow.end_index)):
        classes = ["message", f"k{colour[kind_of(arrow)]}"]
        classes += ["copy"] if arrow.copy else []
        classes += ["lost"] if arrow.fate not in ("delivered", "flying") else []
        classes += ["flying"] if arrow.fate == "flying" else []
        classes += ["evidence"] if arrow.message in led else []
        title = f"{full_label(arrow)}: {arrow.sender} → {arrow.to}, {ms(arrow.sent_at)} to {ms(arrow.end_at)} ms"
        out.open(
            " ".join(classes),
            title=title,
            i=arrow.sent_index,
            end=arrow.end_index,
            sender=arrow.sender,
            number=arrow.number,
        )
        if arrow.sender == arrow.to:
            _loop(out, arrow, places, labels)
        else:
            course = (arrow.sender, arrow.to, arrow.sent_at, arrow.end_at)
            _slant(out, arrow, places, labels, BESIDE * min(same[course], 3))
            same[course] += 1
        out.close()


def mark_lines(picture: Picture, places: Places, labels: Labels) -> None:
    """Reserve the heads of arrows and the crosses of lost messages, so that no label covers them. Status texts avoid
    the ends of lines."""
    for arrow in picture.arrows:
        if arrow.sender == arrow.to:
            continue
        (x, y), (tip, low) = _ends(arrow, places)
        side = math.copysign(1, tip - x)
        if arrow.fate != "flying":
            labels.reserve((min(tip, tip - 9 * side), low - 4, max(tip, tip - 9 * side), low + 4))
        slope = (low - y) / (abs(tip - x) or 1)
        for piece in range(0, int(min(NEAR_END, abs(tip - x))), PIECE):
            drop = slope * (piece + PIECE / 2)
            labels.avoid((x + side * (piece + PIECE / 2), y + drop))
            labels.avoid((tip - side * (piece + PIECE / 2), low - drop))


def colours(picture: Picture) -> dict[str, int]:
    """A colour for each kind of message; further kinds share the last colour."""
    kinds = sorted({kind_of(arrow) for arrow in picture.arrows})
    return {kind: min(place, COLOURS - 1) for place, kind in enumerate(kinds)}


def kind_of(arrow: Arrow) -> str:
    """The kind of a message."""
    return arrow.label.partition("(")[0]


def _slant(out: Markup, arrow: Arrow, places: Places, labels: Labels, lower: float) -> None:
    """A line from sending to arrival; moved down a little if another message has the same line."""
    (x1, y1), (x2, y2) = _ends(arrow, places)
    start, end = (x1, y1 + lower), (x2, y2 + lower)
    out.line(*start, *end, "")
    length = math.dist(start, end) or 1
    along = ((end[0] - start[0]) / length, (end[1] - start[1]) / length)
    if arrow.fate == "delivered":
        _head(out, end, along)
    elif arrow.fate != "flying":
        out.cross(end[0], end[1], 4.5)
    _label(out, arrow, places, labels, start, end)


def _ends(arrow: Arrow, places: Places) -> tuple[Point, Point]:
    """Start and end of the line. A message that does not arrive ends between the lifelines."""
    x1, x2 = places.x(arrow.sender), places.x(arrow.to)
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


def _label(out: Markup, arrow: Arrow, places: Places, labels: Labels, start: Point, end: Point) -> None:
    """Put the label beside the line, in the first free place between two lifelines."""
    text = arrow.label if not arrow.copy else f"{arrow.label} again"
    room = max(int((places.spacing - 22) / (SIZE * 0.56)), 4)
    shown = text if len(text) <= room else text[: room - 1] + "…"
    wide = width_of(shown, SIZE)
    rise = math.degrees(math.atan2(end[1] - start[1], abs(end[0] - start[0]) or 1))
    turn = rise * (1 if end[0] > start[0] else -1) if rise <= STEEPEST else 0
    for part, middle in _spots(abs(end[0] - start[0]), wide * math.cos(math.radians(turn)), places.spacing):
        x, y = start[0] + (end[0] - start[0]) * middle, start[1] + (end[1] - start[1]) * (middle if turn else part)
        for down in (ABOVE, BELOW) if turn else (ON,):
            if labels.take(*_boxes(x, y + down, wide, turn)):
                out.text(x, y + down, shown, "", turn=turn, full=text)
                return
    labels.missing.append((arrow.sent_at, arrow.end_at))


def _spots(long: float, wide: float, spacing: float) -> list[tuple[float, float]]:
    """The possible places of a label on the line, the best first: near an end, with its middle away from lifelines."""
    gaps = max(1, round(long / spacing))
    edge = min((wide / 2 + CLEAR) / (long / gaps), 0.5) if long else 0.5
    order = sorted(range(gaps), key=lambda gap: min(gap, gaps - 1 - gap))
    return [((gap + part) / gaps, (gap + min(max(part, edge), 1 - edge)) / gaps) for part in PARTS for gap in order]


def _boxes(x: float, y: float, wide: float, turn: float) -> list[Box]:
    """The boxes of a label with its middle at a point. A rotated label is a row of short boxes, not one tall box."""
    angle = math.radians(turn)
    count = max(1, math.ceil(wide / PIECE)) if turn else 1
    half = wide / count / 2
    reach, tall = half * math.cos(angle), half * abs(math.sin(angle)) + SIZE / 2
    found: list[Box] = []
    for place in range(count):
        along = (2 * place + 1 - count) * half
        middle = (x + along * math.cos(angle), y + along * math.sin(angle) - 4)
        found.append((middle[0] - reach, middle[1] - tall, middle[0] + reach, middle[1] + tall))
    return found


def _loop(out: Markup, arrow: Arrow, places: Places, labels: Labels) -> None:
    """A message from a process to itself."""
    x, y1, y2 = places.x(arrow.sender), places.y(arrow.sent_at), places.y(arrow.end_at)
    out.path(f"M{x:.1f} {y1:.1f} C{x + 34:.1f} {y1:.1f} {x + 34:.1f} {y2:.1f} {x + 8:.1f} {y2:.1f}", "")
    _head(out, (x + 7, y2), (-1, 0))
    middle, wide = (y1 + y2) / 2, width_of(arrow.label, SIZE)
    if labels.take((x + 28, middle - 7, x + 32 + wide, middle + 7)):
        out.text(x + 30 + wide / 2, middle + 4, arrow.label, "", full=full_label(arrow))
    else:
        labels.missing.append((arrow.sent_at, arrow.end_at))
