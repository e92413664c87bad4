"""Places: positions of processes and moments in a diagram, and the free room for labels."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from vez.core.trace import Status
from vez.draw.trace.layout import Picture
from vez.draw.trace.markup import width_of
from vez.draw.trace.scale import Scale

LEFT, RIGHT, GAP = 106.0, 84.0, 8.0
"""Pixels on the left of the first lifeline; on the right of the last, at least; less there than between two."""
NARROWEST, COMFORTABLE = 92.0, 150.0
"""Distances of two lifelines: the least one, and one at which few labels are cut."""
Box = tuple[float, float, float, float]


class Places:
    """The geometry of one diagram."""

    def __init__(
        self, picture: Picture, top: float, added: Mapping[int, float] | None = None, page: float = math.inf
    ) -> None:
        """`page` is the width in which the lifelines should fit."""
        count = len(picture.ids)
        widest = max((width_of(arrow.label, 11) + 56 for arrow in picture.arrows), default=0)
        events = picture.trace.events
        said = (width_of(picture.remark(event), 11) + 44 for event in events if isinstance(event, Status))
        least, most = (132.0, 220.0) if count <= 6 else (116.0, 184.0) if count <= 9 else (100.0, 124.0)
        self.spacing = max(NARROWEST, min(_room(page, count), max(least, min(max(widest, *said, 0), most))))
        self.left = LEFT
        self.top = top
        self.column = picture.column
        self.right = max(RIGHT, self.spacing - GAP)
        self.width = LEFT + self.right + self.spacing * max(count - 1, 0)
        self.unit_us = max(picture.trace.header.message_us, 1)
        times = [*(event.at for event in events), picture.end]
        self.unit = 46.0
        self.scale = Scale(times, self.unit_us, self.unit, top, _crowd(picture), added or {})
        self.bottom = self.scale.y(picture.end + self.unit_us * 0.7)

    def x(self, process: int) -> float:
        """x of the lifeline of a process."""
        return self.left + self.spacing * self.column[process]

    def y(self, at: float) -> float:
        """y of a moment."""
        return self.scale.y(at)


def _room(page: float, count: int) -> float:
    """The distance of the lifelines that fills a page."""
    return min((page - LEFT + GAP) / max(count, 1), (page - LEFT - RIGHT) / max(count - 1, 1))


def pages_for(count: int, pages: Sequence[float]) -> Sequence[float]:
    """Those of some widths in which the lifelines are at a comfortable distance, or only the last."""
    return [page for page in pages if _room(page, count) >= COMFORTABLE] or pages[-1:]


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
    """Boxes of the labels placed so far. A later label needs a free place; those without one are remembered."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._cells: dict[tuple[int, int], list[Box]] = {}
        self._avoided: dict[tuple[int, int], list[tuple[float, float, int]]] = {}
        self.missing: list[tuple[int, int]] = []
        """Start and end of the event or message of each label without a place."""

    def take(self, *boxes: Box) -> bool:
        """Reserve the boxes of one label; False if one overlaps another label or is outside the picture."""
        if not all(map(self._free, boxes)):
            return False
        for box in boxes:
            self.reserve(box)
        return True

    def reserve(self, box: Box) -> None:
        """Keep a box free of labels: something else is drawn there."""
        for cell in _cells(box):
            self._cells.setdefault(cell, []).append(box)

    def avoid(self, point: tuple[float, float], line: int = -1) -> None:
        """Remember that a line, with this number, goes through a point."""
        x, y = point
        self._avoided.setdefault((int(y // 20), int(x // 60)), []).append((x, y, line))

    def is_crossed(self, box: Box, but: int = -2) -> bool:
        """True if a line is known to go through the box, other than the line with the number `but`."""
        left, top, right, bottom = box
        near = (point for cell in _cells(box) for point in self._avoided.get(cell, ()))
        return any(left < x < right and top < y < bottom and line != but for x, y, line in near)

    def _free(self, box: Box) -> bool:
        left, top, right, bottom = box
        if left < self._places.left - 24 or right > self._places.width - 4 or top < self._places.top - 12:
            return False
        near = (other for cell in _cells(box) for other in self._cells.get(cell, ()))
        return not any(left < other[2] and other[0] < right and top < other[3] and other[1] < bottom for other in near)

    def wanted_room(self) -> Counter[int]:
        """The number of labels without a place that would fit if an interval were longer, by the start of the interval.

        For the label of a moment these are the intervals beside it; for the label of a message, the longest interval
        of its way.
        """
        knots = self._places.scale.knots
        found: Counter[int] = Counter()
        for start, end in self.missing:
            first, last = bisect_right(knots, start) - 1, bisect_left(knots, end)
            if first < last:
                found[knots[max(range(first, last), key=lambda place: knots[place + 1] - knots[place])]] += 1
            else:
                found.update(knots[max(first - 1, 0) : first + 1])
        return found


def _cells(box: Box) -> Iterator[tuple[int, int]]:
    left, top, right, bottom = box
    for row in range(int(top // 20), int(bottom // 20) + 1):
        for column in range(int(left // 60), int(right // 60) + 1):
            yield row, column
