"""Lanes, as a value: stays of requests in lanes, and arrows between lanes. Times are milliseconds."""

from __future__ import annotations

from enum import StrEnum

import msgspec

MOST_STAYS = 3000
"""The largest number of stays in a picture: a larger one is hard to read and slow to open."""


class Tone(StrEnum):
    """The kind of a stay, which decides how it is drawn."""

    WAIT = "wait"
    READ = "read"
    WORK = "work"
    SEND = "send"
    BLOCKED = "blocked"


class Stay(msgspec.Struct, frozen=True):
    """The time that a request spent in a lane."""

    lane: str
    tone: Tone
    begin_ms: float
    end_ms: float
    label: str = ""
    """Text inside the stay, drawn if there is room."""
    note: str = ""
    """Shown when the mouse is over it."""


class Arrow(msgspec.Struct, frozen=True):
    """A message from lane to lane."""

    source: str
    target: str
    sent_ms: float
    taken_ms: float
    label: str = ""


class Lanes(msgspec.Struct, frozen=True):
    """The contents of the picture."""

    title: str
    lanes: tuple[str, ...]
    stays: tuple[Stay, ...]
    names: tuple[tuple[Tone, str], ...]
    """The meanings of the tones, in the order of the legend."""
    arrows: tuple[Arrow, ...] = ()
    until_ms: float = 0.0
    """The time axis ends at this time or later, so that several pictures can have the same axis."""

    @property
    def end_ms(self) -> float:
        """The end of the time axis: the end of the last stay, or `until_ms` if that is later."""
        return max((self.until_ms, *(stay.end_ms for stay in self.stays))) or 1.0

    def rows(self, lane: str) -> list[list[Stay]]:
        """The stays of a lane in rows without overlaps. Each stay is in the first free row."""
        rows: list[list[Stay]] = []
        for stay in sorted((one for one in self.stays if one.lane == lane), key=lambda one: (one.begin_ms, one.end_ms)):
            free = next((row for row in rows if row[-1].end_ms <= stay.begin_ms), None)
            if free is None:
                rows.append([stay])
            else:
                free.append(stay)
        return rows or [[]]


def limited(lanes: Lanes) -> Lanes:
    """The picture, or its beginning if there are more than MOST_STAYS stays; the title says so."""
    if len(lanes.stays) <= MOST_STAYS:
        return lanes
    first = sorted(lanes.stays, key=lambda stay: stay.begin_ms)[:MOST_STAYS]
    title = f"{lanes.title} (the first {MOST_STAYS:,} of {len(lanes.stays):,} stays)"
    return msgspec.structs.replace(lanes, title=title, stays=tuple(first))
