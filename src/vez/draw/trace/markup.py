"""Markup: SVG elements, with every text and attribute escaped in one place."""

from __future__ import annotations

import math
from html import escape

from vez.draw.trace.canvas import cells
from vez.draw.trace.layout import clean

WIDTHS = {
    **dict.fromkeys("ijlI'J|", 0.3),
    **dict.fromkeys(" .,·/\\:;!-()[]ftr", 0.41),
    **dict.fromkeys("mwMW@%#&→+<>=~^…", 1.0),
}
"""Widths of characters that differ from most, in parts of the size of the font."""
USUAL, CAPITAL, BOLD = 0.64, 0.76, 1.13
ASCENT, DESCENT = 0.95, 0.25
"""Reach of a text above and below its baseline, in parts of the size of the font."""


def width_of(text: str, size: float, *, bold: bool = False) -> float:
    """Width of a text in pixels in DejaVu Sans. The font of the reader is not known; common ones are narrower."""
    wide = math.fsum(WIDTHS.get(char, (CAPITAL if char.isupper() else USUAL) * cells(char)) for char in text)
    return wide * size * (BOLD if bold else 1)


def shortened(text: str, room: float, size: float, *, bold: bool = False) -> str:
    """The text, or its beginning and an ellipsis, in so many pixels."""
    while width_of(text, size, bold=bold) > room and len(text) > 2:
        text = text[:-2] + "…"
    return text


def box_of(x: float, y: float, wide: float, size: float) -> tuple[float, float, float, float]:
    """The box of a text whose baseline begins at a point."""
    return (x, y - ASCENT * size, x + wide, y + DESCENT * size)


class Markup:
    """SVG elements, collected in order."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    def __str__(self) -> str:
        return "\n".join(self._parts)

    def add(self, others: Markup) -> Markup:
        """Put other elements on top of these."""
        self._parts += others._parts
        return self

    @staticmethod
    def element(name: str, text: str) -> str:
        """An element that holds text only."""
        return f"<{name}>{escape(clean(text, 400), quote=False)}</{name}>"

    def open(self, kind: str, *, title: str = "", **data: int) -> Markup:
        """Begin a group."""
        self._parts.append(f"<g{_class(kind)}{_data(data)}>{self.element('title', title) if title else ''}")
        return self

    def close(self) -> Markup:
        self._parts.append("</g>")
        return self

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str, *, index: int | None = None) -> Markup:
        self._parts.append(
            f'<line{_class(kind)}{_index(index)} x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'
        )
        return self

    def rect(
        self, x: float, y: float, width: float, height: float, kind: str, *,
        round_: float = 0, title: str = "", index: int | None = None,
    ) -> Markup:  # fmt: skip
        shape = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{round_:g}"'
        self._closing(f"rect{_class(kind)}{_index(index)} {shape}", "rect", title)
        return self

    def circle(
        self, x: float, y: float, radius: float, kind: str, *, title: str = "", index: int | None = None
    ) -> Markup:
        self._closing(f'circle{_class(kind)}{_index(index)} cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"', "circle", title)
        return self

    def path(self, data: str, kind: str, *, title: str = "", index: int | None = None) -> Markup:
        self._closing(f'path{_class(kind)}{_index(index)} d="{data}"', "path", title)
        return self

    def polygon(self, *points: tuple[float, float]) -> Markup:
        self._parts.append(f'<polygon points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>')
        return self

    def cross(self, x: float, y: float, arm: float, *, title: str = "", index: int | None = None) -> Markup:
        size = f"{2 * arm:.1f}"
        data = f"M{x - arm:.1f} {y - arm:.1f} l{size} {size} m0 -{size} l-{size} {size}"
        return self.path(data, "cross", title=title, index=index)

    def text(
        self, x: float, y: float, text: str, kind: str, *, turn: float = 0, full: str = "", index: int | None = None
    ) -> Markup:
        """Text at a position, rotated by some degrees; `full` is shown when the mouse is over it."""
        turned = f' transform="rotate({turn:.1f} {x:.1f} {y:.1f})"' if turn else ""
        title = self.element("title", full) if full and full != text else ""
        inner = escape(clean(text, 400), quote=False)
        place = f'x="{x:.1f}" y="{y:.1f}"{turned} xml:space="preserve"'
        self._parts.append(f"<text{_class(kind)}{_index(index)} {place}>{inner}{title}</text>")
        return self

    def _closing(self, start: str, name: str, title: str) -> None:
        inner = f">{self.element('title', title)}</{name}>" if title else "/>"
        self._parts.append(f"<{start}{inner}")


def _class(kind: str) -> str:
    return f' class="{escape(kind)}"' if kind else ""


def _index(index: int | None) -> str:
    return "" if index is None else f' data-i="{index}"'


def _data(data: dict[str, int]) -> str:
    return "".join(f' data-{name}="{value}"' for name, value in data.items())
