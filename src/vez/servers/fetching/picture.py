"""The waterfall: a line for each file, in the order in which the page names them, on one axis of time."""

from __future__ import annotations

import re
from collections.abc import Sequence

from vez.draw.lanes import Lanes, Stay, Tone
from vez.draw.lanes.svg import svg as lanes_svg
from vez.servers.fetching.client import Fetch, Load

NAMES = (
    (Tone.WAIT, "waits for a free connection"),
    (Tone.SEND, "connects and asks"),
    (Tone.WORK, "waits for the server"),
    (Tone.READ, "arrives"),
)


def waterfall(load: Load, until_ms: float = 0.0) -> Lanes:
    """One load as a picture. With `until_ms`, several pictures have the same axis."""
    stays = tuple(stay for fetch in load.fetches for stay in _stays(fetch))
    names = tuple(fetch.name for fetch in load.fetches)
    return Lanes(f"{load.title}: {load.milliseconds:.0f} ms", names, stays, NAMES, until_ms=until_ms)


def waterfalls(loads: Sequence[Load]) -> list[Lanes]:
    """Several loads on the same axis."""
    until = max(load.milliseconds for load in loads)
    return [waterfall(load, until) for load in loads]


def _stays(fetch: Fetch) -> list[Stay]:
    parts = (
        (Tone.WAIT, fetch.queued, fetch.begin),
        (Tone.SEND, fetch.begin, fetch.sent),
        (Tone.WORK, fetch.sent, fetch.first),
        (Tone.READ, fetch.first, fetch.end),
    )
    words = dict(NAMES)
    return [
        Stay(fetch.name, tone, begin, end, note=f"{fetch.name} {words[tone]}")
        for tone, begin, end in parts
        if end > begin
    ]


def svg(loads: Sequence[Load]) -> str:
    """All loads in one SVG document, below each other."""
    pictures = [lanes_svg(lanes) for lanes in waterfalls(loads)]
    sizes = [_size(picture) for picture in pictures]
    width, height = max(wide for wide, _ in sizes), sum(high for _, high in sizes)
    parts, y = [], 0
    for picture, (_, high) in zip(pictures, sizes, strict=True):
        parts.append(picture.replace("<svg ", f'<svg y="{y}" ', 1))
        y += high
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n{"".join(parts)}</svg>\n'


def _size(picture: str) -> tuple[int, int]:
    found = re.search(r'width="(\d+)" height="(\d+)"', picture)
    if found is None:
        raise ValueError("a picture without a size")
    return int(found[1]), int(found[2])
