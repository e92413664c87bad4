"""Frame of a text picture: the legend above it, and the broken properties below it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from vez.draw.trace.canvas import Row
from vez.draw.trace.layout import Picture

MAX_LINES = 1000
TAIL_LINES = 200


def legend(picture: Picture, wide: int, line: Mapping[str, str], style_of: Mapping[str, str]) -> list[Row]:
    """Legend of the signs that occur in this picture."""
    history = picture.history
    kinds = [
        ("waiting", bool(history.stays)),
        ("inside", any(stay.served for stay in history.stays)),
        ("leads", bool(history.reigns)),
        ("paused", bool(history.pauses)),
    ]
    row, place = Row(wide), 0
    names = {"waiting": "waiting", "inside": "inside", "leads": "leader", "paused": "paused"}
    parts = [(line[kind], names[kind], style_of[kind]) for kind, occurs in kinds if occurs]
    parts += [("✗", "crashed", "red")] if history.downs else []
    parts += (
        [("─✗", "lost", "red")] if any(arrow.fate not in ("delivered", "flying") for arrow in picture.arrows) else []
    )
    parts += [("!", "broken", "bold red")] if any(one.start is not None for one in picture.violations) else []
    for sign, key, style in parts:
        name = picture.told(f"sign_{key}")
        row.put(place, sign, style).put(place + len(sign) + 1, name, "dim")
        place += len(sign) + len(name) + 4
    return [row] if parts else []


def cap(picture: Picture, rows: list[Row], wide: int) -> list[Row]:
    """The lines; if there are more than MAX_LINES, without the middle."""
    if len(rows) <= MAX_LINES:
        return rows
    left_out = len(rows) - MAX_LINES
    gap = Row(wide).put(2, picture.told("drawn_fewer_lines", count=left_out), "bold yellow")
    return [*rows[: MAX_LINES - TAIL_LINES], Row(wide), gap, Row(wide), *rows[-TAIL_LINES:]]


def footer(picture: Picture, wide: int) -> list[Row]:
    """The broken properties, repeated at the end, which the reader of a terminal sees first."""
    rows = [Row(wide)] if picture.broken else []
    for violation in picture.violations:
        rows += [
            Row(wide).put(0, part, "red")
            for part in textwrap.wrap(f"✗ {violation.words}", wide, subsequent_indent="  ")
        ]
    return rows
