"""A timeline as one HTML file: the picture, the printed lines, and a slider that moves through the run."""

from __future__ import annotations

from functools import cache
from html import escape
from importlib.resources import files

from vez.draw.timeline.svg import svg
from vez.draw.timeline.timeline import LASTING, Timeline, limited
from vez.draw.trace.html import embed, fill
from vez.draw.trace.layout import clean


def html(timeline: Timeline) -> str:
    """The timeline as a page to be opened in a browser."""
    shown = limited(timeline)
    printed = [{"at": bar.start_us, "who": clean(bar.lane), "line": clean(bar.words, 400)} for bar in shown.printed]
    states = [
        {"who": clean(bar.lane), "kind": bar.kind, "from": bar.start_us, "to": bar.end_us, "words": clean(bar.words)}
        for bar in shown.bars
        if bar.kind in LASTING
    ]
    data = {
        "start": shown.start_us,
        "end": shown.end_us,
        "lanes": [clean(lane) for lane in shown.lanes],
        "printed": printed,
        "states": states,
    }
    return fill(
        _file("timeline.html"),
        {
            "title": escape(clean(shown.title)), "style": _file("page.css"), "picture": svg(timeline),
            "data": embed(data), "script": _file("timeline.js"),
        },
    )  # fmt: skip


@cache
def _file(name: str) -> str:
    return files("vez.draw.timeline").joinpath("page", name).read_text(encoding="utf-8")
