"""Stress: positions for a small graph, so that distances resemble the number of edges between processes.

It uses stress majorization (Gansner, Koren and North, 2004) from a few fixed initial layouts, and takes the result with
the fewest crossing edges. A force model would be as good, but needs randomness to escape from bad initial layouts.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from itertools import combinations

Point = tuple[float, float]
Edges = Sequence[tuple[int, int]]
ROUNDS = 120
ROOM = 0.42
"""The smallest distance of an edge to a process that is not its end, in lengths of an edge. Closer is a crossing."""
FLATTEST = 0.66
"""Least ratio of height to width; a flatter picture is stretched, to use the screen."""
MOST_STRETCH = 1.4


def lay_out(count: int, edges: Edges, length: float) -> list[Point]:
    """Points around (0, 0), wider than high, with edges of about the given length."""
    if count < 2:
        return [(0.0, 0.0)] * count
    near: list[list[int]] = [[] for _ in range(count)]
    for one, other in edges:
        near[one].append(other)
        near[other].append(one)
    apart = _distances(near)
    best: tuple[tuple[float, float], list[Point]] | None = None
    for order in _beginnings(near, apart):
        points = _majorize(_round_table(order, count), apart)
        score = (_crossings(points, edges), round(_stress(points, apart), 6))
        if best is None or score < best[0]:
            best = (score, points)
    if best is None:
        raise AssertionError("there is always a beginning")
    level = _level(best[1])
    wide, high = (max(values) - min(values) for values in zip(*level, strict=True))
    tall = min(max(FLATTEST * wide / (high or wide), 1.0), MOST_STRETCH)
    return [(x * length, y * length * tall) for x, y in level]


def _distances(near: Sequence[Sequence[int]]) -> list[list[float]]:
    """Number of edges between any two processes; between unconnected parts, one more than the largest number."""
    found: list[list[float]] = []
    for start in range(len(near)):
        row = [math.inf] * len(near)
        row[start] = 0
        queue = deque([start])
        while queue:
            one = queue.popleft()
            for other in near[one]:
                if row[other] == math.inf:
                    row[other] = row[one] + 1
                    queue.append(other)
        found.append(row)
    far = 1 + max(value for row in found for value in row if value != math.inf)
    return [[min(value, far) for value in row] for row in found]


def _beginnings(near: Sequence[Sequence[int]], apart: Sequence[Sequence[float]]) -> list[list[int]]:
    """Initial orders on a circle: as given, and by the distance from each of a few processes."""
    count = len(near)
    orders = [list(range(count))]
    starts = sorted(range(count), key=lambda one: (-max(apart[one]), one))[:8]
    for start in starts:
        far = max(range(count), key=lambda one: (apart[start][one], -one))
        orders.append(sorted(range(count), key=lambda one: (apart[start][one] - apart[far][one], one)))
        orders.append(_walk(near, start))
    return orders


def _walk(near: Sequence[Sequence[int]], start: int) -> list[int]:
    """Order of a depth-first search, so that neighbours are side by side."""
    seen: dict[int, None] = {}
    for begin in (start, *range(len(near))):
        stack = [begin]
        while stack:
            one = stack.pop()
            if one not in seen:
                seen[one] = None
                stack += sorted(near[one], reverse=True)
    return list(seen)


def _round_table(order: Sequence[int], count: int) -> list[Point]:
    points: list[Point] = [(0.0, 0.0)] * count
    for place, one in enumerate(order):
        angle = math.tau * place / count
        points[one] = (math.cos(angle) * count / math.tau, math.sin(angle) * count / math.tau)
    return points


def _majorize(points: list[Point], apart: Sequence[Sequence[float]]) -> list[Point]:
    count = len(points)
    for _ in range(ROUNDS):
        for one in range(count):
            x = y = total = 0.0
            for other in range(count):
                if other == one:
                    continue
                wanted = apart[one][other]
                weight = 1 / (wanted * wanted)
                dx, dy = points[one][0] - points[other][0], points[one][1] - points[other][1]
                stretch = wanted / (math.hypot(dx, dy) or 1e-9)
                x += weight * (points[other][0] + dx * stretch)
                y += weight * (points[other][1] + dy * stretch)
                total += weight
            points[one] = (x / total, y / total)
    return points


def _stress(points: Sequence[Point], apart: Sequence[Sequence[float]]) -> float:
    return sum(
        (math.dist(points[one], points[other]) / apart[one][other] - 1) ** 2
        for one, other in combinations(range(len(points)), 2)
    )


def _crossings(points: Sequence[Point], edges: Edges) -> float:
    """Number of crossing pairs of edges, plus processes that lie on an edge."""
    found = 0
    for (a, b), (c, d) in combinations(edges, 2):
        if len({a, b, c, d}) == 4:
            p, q, r, s = points[a], points[b], points[c], points[d]
            found += _turn(p, q, r) * _turn(p, q, s) < 0 and _turn(r, s, p) * _turn(r, s, q) < 0
    for a, b in edges:
        for one, point in enumerate(points):
            found += one not in (a, b) and _beside(point, points[a], points[b]) < ROOM
    return found


def _turn(p: Point, q: Point, r: Point) -> float:
    return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])


def _beside(point: Point, start: Point, end: Point) -> float:
    """Distance of a point from the line between two others."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    part = ((point[0] - start[0]) * dx + (point[1] - start[1]) * dy) / (dx * dx + dy * dy or 1e-9)
    part = min(max(part, 0.0), 1.0)
    return math.dist(point, (start[0] + part * dx, start[1] + part * dy))


def _level(points: Sequence[Point]) -> list[Point]:
    """The points, centred and rotated so that the width is largest; the first process is in the upper half."""
    count = len(points)
    mx, my = sum(x for x, _ in points) / count, sum(y for _, y in points) / count
    moved = [(x - mx, y - my) for x, y in points]
    xx, yy = sum(x * x for x, _ in moved), sum(y * y for _, y in moved)
    angle = 0.5 * math.atan2(2 * sum(x * y for x, y in moved), xx - yy)
    cos, sin = math.cos(angle), math.sin(angle)
    turned = [(x * cos + y * sin, y * cos - x * sin) for x, y in moved]
    flip = -1 if turned[0][1] > 0 else 1
    mirror = -1 if turned[0][0] > 0 else 1
    return [(x * mirror, y * flip) for x, y in turned]
