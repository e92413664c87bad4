"""A chart in the characters of a terminal."""

from __future__ import annotations

import textwrap
from itertools import pairwise

from vez.draw.chart.chart import Chart, Panels, Scale, Series, places, scales

SIGNS = "●×+○*▲□◆#▽%@&=~^"


def text(chart: Chart | Panels, columns: int = 78, rows: int = 16) -> str:
    """The chart as lines of text, without trailing blanks; panels below each other."""
    if isinstance(chart, Panels):
        title = "\n".join(_filled(chart.title, columns)) + "\n"
        return "\n".join([title, *(text(panel, columns, rows) for panel in chart.charts)])
    x, y = scales(chart, x_ticks=max(2, columns // 12), y_ticks=max(3, rows // 2))
    y_ticks = {round((1 - tick.place) * (rows - 1)): tick.label for tick in y.ticks()}
    margin = max(len(label) for label in y_ticks.values()) + 1
    wide = max(16, columns - margin - 2)
    cells = [[" "] * wide for _ in range(rows)]
    for mark in chart.marks:
        place = x.place(mark.x)
        if place is not None:
            for row in cells:
                row[round(place * (wide - 1))] = "┊"
    for number, series in reversed(list(enumerate(chart.series))):  # the first is drawn on top
        _draw(cells, series, SIGNS[number % len(SIGNS)], x, y)
    lines = [*_filled(chart.title, columns), ""]
    for number, row in enumerate(cells):
        label = y_ticks.get(number, "")
        lines.append(f"{label:>{margin}} {'┤' if label else '│'}{''.join(row)}")
    lines += _below(x, margin, wide, chart.x.label)
    lines += _filled(f"y: {chart.y.label}{' (logarithmic)' if y.log else ''}", columns, margin + 1)
    if len(chart.series) > 1:
        names = [f"{SIGNS[number % len(SIGNS)]} {series.name}" for number, series in enumerate(chart.series)]
        lines += _wrapped(names, columns - margin - 1, f"{'':>{margin}} ")
    for mark in chart.marks:
        lines += _filled(f"┊ {mark.label}", columns, margin + 1)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _draw(cells: list[list[str]], series: Series, sign: str, x: Scale, y: Scale) -> None:
    rows, columns = len(cells), len(cells[0])

    def put(across: float, up: float) -> None:
        cells[round((1 - up) * (rows - 1))][round(across * (columns - 1))] = sign

    for run in places(series, x, y):
        for across, up in run:
            put(across, up)
        if series.style == "points":
            continue
        for (one, low), (other, high) in pairwise(run):
            steps = max(1, round(max(abs(other - one) * columns, abs(high - low) * rows)))
            for step in range(1, steps):
                part = step / steps
                put(one + (other - one) * part, low + (high - low) * part)


def _below(x: Scale, margin: int, wide: int, label: str) -> list[str]:
    line, words = ["─"] * wide, [" "] * (wide + 12)
    free = 0
    for tick in x.ticks():
        at = round(tick.place * (wide - 1))
        line[at] = "┬"
        start = max(0, at - len(tick.label) // 2)
        if start >= free and start + len(tick.label) <= len(words):
            words[start : start + len(tick.label)] = tick.label
            free = start + len(tick.label) + 1
    pad = " " * (margin + 2)
    name = f"{label} (logarithmic)" if x.log else label
    return [f"{'':>{margin}} └{''.join(line)}", pad + "".join(words), f"{pad}{name:^{wide}}"]


def _filled(words: str, columns: int, indent: int = 0) -> list[str]:
    """The words in lines that are at most as wide as the chart."""
    blank = " " * indent
    return textwrap.wrap(
        words, columns, initial_indent=blank, subsequent_indent=blank, break_long_words=False, break_on_hyphens=False
    )


def _wrapped(words: list[str], width: int, indent: str) -> list[str]:
    lines = [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + len(word) + 3 > width:
            lines.append("")
        lines[-1] += ("   " if lines[-1] else "") + word
    return [indent + line for line in lines]
