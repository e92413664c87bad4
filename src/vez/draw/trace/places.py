"""Places: positions of processes and moments in a diagram, and the free room for labels."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

from vez.core.trace import Status
from vez.draw.trace.layout import Picture
from vez.draw.trace.markup import width_of
from vez.draw.trace.scale import Scale

LEFT = 106.0
Box = tuple[float, float, float, float]


class Places:
    """The geometry of one diagram."""

    def __init__(self, picture: Picture, top: float) -> None:
        count = len(picture.ids)
        widest = max((width_of(arrow.label, 11) + 56 for arrow in picture.arrows), default=0)
        said = (width_of(event.text, 10.5) + 44 for event in picture.trace.events if isinstance(event, Status))
        least, most = (132.0, 220.0) if count <= 6 else (116.0, 160.0) if count <= 9 else (100.0, 124.0)
        self.spacing = max(least, min(max(widest, *said, 0), most))
        self.left = LEFT
        self.top = top
        self.column = picture.column
        self.right = max(84.0, min(0.85 * self.spacing, 150))
        self.width = LEFT + self.right + self.spacing * max(count - 1, 0)
        self.unit_us = max(picture.trace.header.message_us, 1)
        times = [*(event.at for event in picture.trace.events), picture.end]
        self.unit = 46.0
        self.scale = Scale(times, self.unit_us, self.unit, top, _crowd(picture))
        self.bottom = self.scale.y(picture.end + self.unit_us * 0.7)

    def x(self, process: int) -> float:
        """x of the lifeline of a process."""
        return self.left + self.spacing * self.column[process]

    def y(self, at: float) -> float:
        """y of a moment."""
        return self.scale.y(at)


def _crowd(picture: Picture) -> Callable[[int, int], float]:
    """Crowding of each interval of time: messages in flight per gap between two lifelines."""
    starts = sorted(arrow.sent_at for arrow in picture.arrows)
    ends = sorted(arrow.end_at for arrow in picture.arrows if arrow.fate != "flying")
    gaps = max(len(picture.ids) - 1, 1)

    def crowd(start: int, end: int) -> float:
        under_way = bisect_right(starts, start) - bisect_right(ends, start)
        return max(1.0, 0.6 + under_way / gaps / 2.5)

    return crowd


class Labels:
    """Boxes of the labels placed so far. A later label needs a free place, or is left out."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._rows: dict[int, list[Box]] = {}

    def take(self, box: Box) -> bool:
        """Reserve a box; False if it overlaps another or is outside the picture."""
        left, top, right, bottom = box
        if left < self._places.left - 24 or right > self._places.width - 4 or top < self._places.top - 12:
            return False
        rows = range(int(top // 20), int(bottom // 20) + 1)
        for row in rows:
            for other in self._rows.get(row, ()):
                if left < other[2] and other[0] < right and top < other[3] and other[1] < bottom:
                    return False
        for row in rows:
            self._rows.setdefault(row, []).append(box)
        return True
