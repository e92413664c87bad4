"""A timeline as text: a line for each thread."""

from __future__ import annotations

from vez.draw.timeline.timeline import LASTING, Kind, Timeline, limited
from vez.draw.trace.canvas import Row, cells, fit
from vez.draw.trace.layout import clean

SIGNS = {"runs": "─", "works": "■", "sleeps": "·", "holds": "█", "waits": "▒", "does": "╷", "says": "●", "planned": "│"}
STYLES = {
    "runs": "dim", "works": "green", "waits": "yellow", "holds": "green", "sleeps": "dim", "does": "", "says": "blue",
    "planned": "red",
}  # fmt: skip
NAMES: dict[Kind, str] = {
    "works": "works", "holds": "holds a lock", "waits": "is blocked", "sleeps": "sleeps", "says": "prints",
    "planned": "planned start",
}  # fmt: skip

ORDER: tuple[Kind, ...] = (*LASTING, "does", "planned", "says")


def text(timeline: Timeline, width: int = 110, *, color: bool = False) -> str:
    """The timeline, at most `width` characters wide."""
    shown = limited(timeline)
    rows = [Row(width).put(0, fit(clean(shown.title), width), "bold")]
    rows += [Row(width).put(0, fit(shown.verdict, width), "red" if shown.broken else "")] if shown.verdict else []
    rows += [Row(width).put(0, fit(note, width), "yellow") for note in shown.notes]
    left = min(max((cells(clean(lane)) for lane in shown.lanes), default=0), width // 3) + 2
    room = width - left
    end = f"{shown.end_us / 1000:.4g} ms"
    rows.append(Row(width).put(left, f"{shown.start_us / 1000:.4g}", "dim").put(width - len(end), end, "dim"))
    for lane in shown.lanes:
        row = Row(width).put(0, fit(clean(lane), left - 1))
        for kind in ORDER:
            for bar in shown.of(lane, kind):
                first, last = (min(room - 1, int(room * shown.part(us))) for us in (bar.start_us, bar.end_us))
                row.put(left + first, SIGNS[kind] * (last - first + 1 if kind in LASTING else 1), STYLES[kind])
        rows.append(row)
    legend, place = Row(width), 0
    occurring = shown.kinds()
    for kind, name in NAMES.items():
        if kind in occurring and place + len(name) + 2 <= width:
            legend.put(place, SIGNS[kind], STYLES[kind]).put(place + 2, name, "dim")
            place += len(name) + 5
    return "\n".join(row.render(color) for row in [*rows, legend]) + "\n"
