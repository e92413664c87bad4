"""Lanes as text: a line for each lane, with a character for each moment; a number if several requests are there."""

from __future__ import annotations

from vez.draw.lanes.lanes import Lanes, Stay, Tone, limited
from vez.draw.trace.canvas import Row, cells, fit

SIGNS = {Tone.WAIT: "░", Tone.READ: "r", Tone.WORK: "█", Tone.SEND: "s", Tone.BLOCKED: "x"}
STYLES = {Tone.WAIT: "yellow", Tone.READ: "blue", Tone.WORK: "green", Tone.SEND: "blue", Tone.BLOCKED: "red"}
MANY = "+"
"""The character for more than nine requests."""


def text(lanes: Lanes, width: int = 110, *, color: bool = False) -> str:
    """The picture, at most `width` characters wide."""
    shown = limited(lanes)
    left = min(max((cells(lane) for lane in shown.lanes), default=0), width // 3) + 2
    room = max(1, width - left)
    end = f"{shown.end_ms:.4g} ms"
    rows = [
        Row(width).put(0, fit(shown.title, width), "bold"),
        Row(width).put(left, "0", "dim").put(max(0, width - len(end)), end, "dim"),
    ]
    for lane in shown.lanes:
        row = Row(width).put(0, fit(lane, left - 1))
        stays = [stay for stay in shown.stays if stay.lane == lane]
        alone = len(shown.rows(lane)) == 1
        for place in range(room):
            here = _at(stays, shown.end_ms, place, room)
            if here and alone:
                longest = max(here, key=lambda stay: stay.end_ms - stay.begin_ms)
                row.put(left + place, SIGNS[longest.tone], STYLES[longest.tone])
            elif here:
                row.put(left + place, str(len(here)) if len(here) < 10 else MANY, STYLES[here[0].tone])
        rows.append(row)
    return "\n".join(row.render(color) for row in [*rows, *_legend(shown, width)]) + "\n"


def _at(stays: list[Stay], end: float, place: int, room: int) -> list[Stay]:
    """The stays that overlap this place of the line."""
    begin, until = place * end / room, (place + 1) * end / room
    return [stay for stay in stays if stay.begin_ms < until and stay.end_ms > begin]


def _legend(shown: Lanes, width: int) -> list[Row]:
    rows, place = [Row(width)], 0
    used = {stay.tone for stay in shown.stays}
    several = {
        stay.tone for lane in shown.lanes if len(shown.rows(lane)) > 1 for stay in shown.stays if stay.lane == lane
    }
    for tone, name in shown.names:
        if tone in used:
            sign = "1-9" if tone in several else SIGNS[tone]
            if place and place + len(name) + len(sign) + 1 > width:
                rows.append(Row(width))
                place = 0
            rows[-1].put(place, sign, STYLES[tone]).put(place + len(sign) + 1, fit(name, width - place), "dim")
            place += len(sign) + len(name) + 4
    return rows
