"""Network: positions of the processes (ring, grid, star or graph), for the player.

Nothing is random: the same trace has the same layout on any machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Literal

import msgspec

from vez.core.trace import Header
from vez.draw.trace.stress import Point, lay_out

Shape = Literal["circle", "ring", "star", "grid", "graph"]
SHAPES: dict[str, Shape] = {"ring": "ring", "ring2": "ring", "star": "star", "grid": "grid", "graph": "graph"}
RADIUS = 205.0
"""Radius for up to eight processes; more get a larger circle and less distance, so that it fits a screen."""
STEP = 165.0
"""Distance between two neighbours in a grid or on a graph."""
TOP = -math.pi / 2
SIDES = tuple(math.radians(degrees) for degrees in (90, -90, 0, 180, 45, 135, -45, -135))
"""Directions for the words at a process, the best first: below, above, right, left, a corner."""


class Node(msgspec.Struct, frozen=True):
    """Position of a process, and the direction in which there is room for words."""

    x: float
    y: float
    side: tuple[float, float]


class Network(msgspec.Struct, frozen=True):
    """The picture of a network, in pixels around (0, 0). Processes are columns, as everywhere in the player."""

    shape: Shape
    radius: float
    """Radius of the circle of processes; 0 if they are not on a circle."""
    directed: bool
    """True if channels carry messages in only one direction."""
    nodes: tuple[Node, ...]
    edges: tuple[tuple[int, int], ...]
    missing: int
    """Number of processes that are not drawn. A ring shows where they would be."""


def network(header: Header, total: int) -> Network:
    """Positions of the processes of a trace. The header names those that are drawn, the first of `total`."""
    count = len(header.ids)
    missing = total - count
    shape = SHAPES.get(header.topology, "circle")
    edges = _edges(header, shape, closed=not missing)
    radius = 0.0
    if shape == "ring" or shape == "circle":
        slots = count + (1 if missing else 0)
        radius = _radius(slots)
        points = _circle(slots, radius)[:count]
    elif shape == "star":
        radius = _radius(count - 1)
        points = [(0.0, 0.0), *_circle(count - 1, radius)][:count]
    elif shape == "grid":
        points = _grid(count, math.isqrt(max(total - 1, 0)) + 1)
    else:
        points = lay_out(count, edges, STEP)
    nodes = tuple(
        Node(round(x, 1), round(y, 1), _side(place, points, edges, radius > 0)) for place, (x, y) in enumerate(points)
    )
    return Network(shape, round(radius, 1), header.topology == "ring", nodes, edges, missing)


def _edges(header: Header, shape: Shape, *, closed: bool) -> tuple[tuple[int, int], ...]:
    """Channels between drawn processes; a two-way channel is listed once. The trace is untrusted."""
    count = len(header.ids)
    if shape == "circle":
        return tuple(combinations(range(count), 2))
    if shape == "star":
        return tuple((0, place) for place in range(1, count))
    if shape == "ring":
        back = [(count - 1, 0)] if closed and (count > 2 or header.topology == "ring") else []
        return tuple([*pairwise(range(count)), *back][: count if count > 1 else 0])
    column = {process: place for place, process in enumerate(header.ids)}
    known = ((column[one], column[other]) for one, other in header.edges if one in column and other in column)
    return tuple(sorted({(min(pair), max(pair)) for pair in known if pair[0] != pair[1]}))


def _radius(count: int) -> float:
    return RADIUS + 8 * max(count - 8, 0)


def _circle(count: int, radius: float) -> list[Point]:
    """Positions on a circle, clockwise from the top; two processes stand side by side."""
    start = TOP if count != 2 else math.pi
    angles = (start + math.tau * place / max(count, 1) for place in range(count))
    return [(radius * math.cos(angle), radius * math.sin(angle)) for angle in angles]


def _grid(count: int, columns: int) -> list[Point]:
    rows = (count + columns - 1) // columns
    wide = min(columns, count)
    return [
        (STEP * (place % columns - (wide - 1) / 2), STEP * 0.86 * (place // columns - (rows - 1) / 2))
        for place in range(count)
    ]


def _side(place: int, points: Sequence[Point], edges: Sequence[tuple[int, int]], outward: bool) -> tuple[float, float]:
    """Direction of the words: away from the centre of a circle; elsewhere away from the edges."""
    x, y = points[place]
    if outward and (x or y):
        length = math.hypot(x, y)
        return (round(x / length, 3), round(y / length, 3))
    ends = [points[other] for pair in edges for other in pair if place in pair and other != place]
    angles = [math.atan2(end[1] - y, end[0] - x) for end in ends]
    best = max(SIDES, key=lambda side: (min(_apart(side, angles), math.radians(60)), -SIDES.index(side)))
    return (round(math.cos(best), 3), round(math.sin(best), 3))


def _apart(side: float, angles: Sequence[float]) -> float:
    """The angle to the nearest edge, in steps coarse enough to be the same on any machine."""
    nearest = min((abs(math.remainder(side - angle, math.tau)) for angle in angles), default=math.pi)
    return round(nearest, 2)
