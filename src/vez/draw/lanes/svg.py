"""Lanes as SVG: time goes to the right. A lane with several requests at once has a row for each."""

from __future__ import annotations

from html import escape

from vez.draw.lanes.lanes import Lanes, Stay, Tone, limited
from vez.draw.trace.markup import width_of

WIDTH, LEFT_GAP, RIGHT, TOP = 820, 14, 24, 86
ROW, THIN, GAP = 20, 7, 10
"""Pixels: the height of a single row, the height of each of several rows in a lane, and the gap between lanes."""
COLOURS = {
    Tone.WAIT: "#e69f00", Tone.READ: "#56b4e9", Tone.WORK: "#009e73", Tone.SEND: "#0072b2", Tone.BLOCKED: "#b2182b",
}  # fmt: skip
"""Colours after Okabe and Ito, as in the charts."""
_STYLE = """
text{font:12px system-ui,sans-serif;fill:#222}.title{font-size:15px;font-weight:600}
.grid{stroke:#888;stroke-opacity:.25}.in{font-size:11px;fill:#fff}.paper{fill:#fff}.arrow{stroke:#555;fill:none}
.soft{fill:#666}.head{fill:#555}@media(prefers-color-scheme:dark){text{fill:#ddd}.in{fill:#fff}.paper{fill:#181a1f}
.arrow{stroke:#bbb}.head{fill:#bbb}.soft{fill:#aaa}}
""".replace("\n", "")


def svg(lanes: Lanes) -> str:
    """The picture as an SVG document."""
    return _Drawing(limited(lanes)).document()


class _Drawing:
    def __init__(self, lanes: Lanes) -> None:
        self.lanes = lanes
        self.left = LEFT_GAP + 14 + max((width_of(lane, 12) for lane in lanes.lanes), default=0)
        self.middles: dict[str, float] = {}
        self.gap = 3 * GAP if lanes.arrows else GAP
        self.parts: list[str] = []
        self.end = lanes.end_ms
        y = float(TOP)
        for lane in lanes.lanes:
            y = self._lane(lane, y)
        self.height = y + 14

    def document(self) -> str:
        title = escape(self.lanes.title, quote=False)
        width = self.left + WIDTH + RIGHT
        size = f'viewBox="0 0 {width:.0f} {self.height:.0f}" width="{width:.0f}" height="{self.height:.0f}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img"><title>{title}</title>'
        paper = f'<style>{_STYLE}</style><rect class="paper" width="100%" height="100%"/>'
        heading = f'<text class="title" x="{LEFT_GAP}" y="26">{title}</text>'
        return "\n".join(
            (head + paper, heading, *self._legend(), *self._axis(), *self.parts, *self._arrows(), "</svg>\n")
        )

    def across(self, ms: float) -> float:
        return self.left + WIDTH * ms / self.end

    def _lane(self, lane: str, y: float) -> float:
        rows = self.lanes.rows(lane)
        step = ROW if len(rows) == 1 else THIN
        height = step * len(rows)
        middle = self.middles[lane] = y + height / 2
        self.parts.append(f'<text x="{LEFT_GAP}" y="{middle + 4:.1f}">{escape(lane, quote=False)}</text>')
        base = y + height + self.gap / 2
        self.parts.append(f'<line class="grid" x1="{LEFT_GAP}" y1="{base}" x2="{self.left + WIDTH:.0f}" y2="{base}"/>')
        for number, row in enumerate(rows):
            for stay in row:
                self._stay(stay, y + step * number, step)
        return y + height + self.gap

    def _stay(self, stay: Stay, y: float, step: float) -> None:
        x, end = self.across(stay.begin_ms), self.across(stay.end_ms)
        wide = max(0.8, end - x)
        note = f"{stay.note or stay.label}: {stay.begin_ms:.1f} to {stay.end_ms:.1f} ms"
        shape = f'x="{x:.1f}" y="{y + 1:.1f}" width="{wide:.1f}" height="{step - 2:.1f}" rx="2"'
        self.parts.append(
            f'<rect {shape} fill="{COLOURS[stay.tone]}"><title>{escape(note, quote=False)}</title></rect>'
        )
        if stay.label and step == ROW and width_of(stay.label, 11) + 6 < wide:
            words = escape(stay.label, quote=False)
            self.parts.append(
                f'<text class="in" x="{x + wide / 2:.1f}" y="{y + 14:.1f}" text-anchor="middle">{words}</text>'
            )

    def _legend(self) -> list[str]:
        parts, x = [], float(LEFT_GAP)
        used = {stay.tone for stay in self.lanes.stays}
        for tone, name in self.lanes.names:
            if tone in used:
                parts.append(f'<rect x="{x:.1f}" y="38" width="20" height="10" rx="2" fill="{COLOURS[tone]}"/>')
                parts.append(f'<text x="{x + 26:.1f}" y="47">{escape(name, quote=False)}</text>')
                x += 46 + width_of(name, 12)
        return parts

    def _axis(self) -> list[str]:
        unit = _unit(self.end)
        parts = []
        for number in range(int(self.end / unit) + 1):
            x = self.across(number * unit)
            parts.append(f'<line class="grid" x1="{x:.1f}" y1="{TOP - 12}" x2="{x:.1f}" y2="{self.height - 12:.1f}"/>')
            words = f"{number * unit:g}{' ms' if not number else ''}"
            parts.append(f'<text class="soft" x="{x:.1f}" y="{TOP - 16}" text-anchor="middle">{words}</text>')
        return parts

    def _arrows(self) -> list[str]:
        parts = []
        for arrow in self.lanes.arrows:
            x1, x2 = self.across(arrow.sent_ms), self.across(arrow.taken_ms)
            y1, y2 = self.middles[arrow.source], self.middles[arrow.target]
            down = 1 if y2 > y1 else -1
            y1, y2 = y1 + down * ROW / 2, y2 - down * ROW / 2
            parts.append(f'<line class="arrow" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')
            tip = f"{x2:.1f},{y2:.1f} {x2 - 4:.1f},{y2 - 7 * down:.1f} {x2 + 4:.1f},{y2 - 7 * down:.1f}"
            parts.append(f'<polygon class="head" points="{tip}"/>')
            if arrow.label:
                words = escape(arrow.label, quote=False)
                parts.append(
                    f'<text class="soft" x="{(x1 + x2) / 2 + 6:.1f}" y="{(y1 + y2) / 2 + 4:.1f}">{words}</text>'
                )
        return parts


def _unit(end: float) -> float:
    """The distance of two ticks: 1, 2 or 5 times a power of ten, so that there are about ten."""
    unit = 0.01
    while end / unit > 12:
        unit *= 10
    return next(unit * part / 10 for part in (2, 5, 10) if end / (unit * part / 10) <= 12)
