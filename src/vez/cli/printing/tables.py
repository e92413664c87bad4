"""Tables that fit the terminal: nothing is cut, whatever the width.

Columns are side by side if they fit. If not, their text folds at spaces; a table of figures is split into several
tables instead. If even single words do not fit, each row becomes a block of its own. Words are never broken: rich alone
would break or cut them ("nothi…"), because it distributes the width without looking at words.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from rich import box
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

PROSE, PROSE_LEAST = 30, 24
"""A column whose widest line is longer than PROSE is prose, and gets at least PROSE_LEAST: less is tiring to read."""

MANY = 100
"""Number of rows above which a table without rules is formatted here: rich takes half a second for a thousand."""


class Column(msgspec.Struct, frozen=True):
    """One column: its title, how it is aligned, the style of its cells."""

    title: str = ""
    right: bool = False
    style: str = ""


Rows = Sequence[Sequence[str]]
"""Cells are rich markup and may have several lines."""


def print_table(
    out: Console, columns: Sequence[Column], rows: Rows, *, title: str = "", ruled: bool = True, split: bool = False
) -> None:
    """Print a table so that it fits the console."""
    out.print(fitted(out.width, columns, rows, title=title, ruled=ruled, split=split))


def fitted(
    width: int, columns: Sequence[Column], rows: Rows, *, title: str = "", ruled: bool = True, split: bool = False
) -> Group:
    """The table, at most `width` characters wide.

    `ruled` draws a line below the titles. `split` is for figures: cells do not fold, titles do, and the columns that do
    not fit go into further tables, which repeat the first column.
    """
    heading: list[RenderableType] = [Text.from_markup(title)] if title else []
    cells = [_texts(column, rows, place) for place, column in enumerate(columns)]
    natural = [_widest(texts) for texts in cells]
    words = [_widest(_words(texts)) for texts in cells]
    room = _room(width, len(columns), ruled)
    if sum(natural) <= room:
        if len(rows) > MANY and not ruled and not any("\n" in text for texts in cells for text in texts):
            return Group(*heading, _lines(columns, rows, natural))
        return Group(*heading, _table(columns, rows, natural, ruled))
    figures = [_widest(_words([column.title]) + texts[1:]) for column, texts in zip(columns, cells, strict=True)]
    if split and (groups := _groups(figures, width, ruled)):
        return Group(*heading, *(_part(columns, rows, figures, group, ruled) for group in groups))
    least = [max(word, PROSE_LEAST) if line > PROSE else word for word, line in zip(words, natural, strict=True)]
    if sum(least) <= room:
        return Group(*heading, _table(columns, rows, _shared_out(least, natural, room), ruled))
    return Group(*heading, *_blocks(columns, rows))


def _texts(column: Column, rows: Rows, place: int) -> list[str]:
    """The title and all cells of a column, without markup."""
    cells = (row[place] for row in rows)
    return [column.title, *(Text.from_markup(cell).plain if "[" in cell or "\\" in cell else cell for cell in cells)]


def _words(texts: list[str]) -> list[str]:
    return [word for text in texts for word in text.split()]


def _widest(texts: list[str]) -> int:
    """Width of the longest line."""
    return max((cell_len(line) for text in texts for line in text.split("\n")), default=0) or 1


def _room(width: int, columns: int, ruled: bool) -> int:
    """Characters left for cells: rich puts 3 between ruled columns and 1 at each edge, 2 between others."""
    return width - (3 * columns - 1 if ruled else 2 * (columns - 1))


def _shared_out(least: list[int], natural: list[int], room: int) -> list[int]:
    """Widths between the least and the natural ones that use the available width: the narrowest columns grow first."""
    widths = list(least)
    for _ in range(room - sum(least)):
        growing = [place for place, width in enumerate(widths) if width < natural[place]]
        if not growing:
            break
        widths[min(growing, key=lambda place: widths[place])] += 1
    return widths


def _groups(natural: list[int], width: int, ruled: bool) -> list[list[int]]:
    """The columns of each table; the first column is in every table. Empty if not even two fit side by side."""
    groups: list[list[int]] = [[0]]
    for place in range(1, len(natural)):
        group = [*groups[-1], place]
        if sum(natural[one] for one in group) > _room(width, len(group), ruled):
            if len(group) == 2 or natural[0] + natural[place] > _room(width, 2, ruled):
                return []
            groups.append([0, place])
        else:
            groups[-1] = group
    return groups


def _part(columns: Sequence[Column], rows: Rows, widths: list[int], group: list[int], ruled: bool) -> Table:
    chosen = [[row[place] for place in group] for row in rows]
    return _table([columns[place] for place in group], chosen, [widths[place] for place in group], ruled)


def _table(columns: Sequence[Column], rows: Rows, widths: list[int], ruled: bool) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD if ruled else None,
        show_header=any(column.title for column in columns),
        header_style="bold" if ruled else "dim",
        pad_edge=False,
        padding=(0, 1) if ruled else (0, 2, 0, 0),
    )
    for column, width in zip(columns, widths, strict=True):
        table.add_column(column.title, justify="right" if column.right else "left", style=column.style, width=width)
    for row in rows:
        table.add_row(*row)
    return table


def _lines(columns: Sequence[Column], rows: Rows, widths: list[int]) -> Text:
    """Render a table without rules as text. Every cell must have one line."""
    found = [[Text(column.title, style="dim") for column in columns]] if any(one.title for one in columns) else []
    found += [[Text.from_markup(cell, style=of.style) for of, cell in zip(columns, row, strict=True)] for row in rows]
    text = Text(no_wrap=True, end="")
    for cells in found:
        for column, width, cell in zip(columns, widths, cells, strict=True):
            room = " " * (width - cell.cell_len)
            text.append(room if column.right else "").append_text(cell).append("  " if column.right else f"{room}  ")
        text.right_crop(2)
        text.append("\n")
    return text


def _blocks(columns: Sequence[Column], rows: Rows) -> list[RenderableType]:
    """One block a row: the first cell, then the others below it with their titles. Empty cells are left out."""
    blocks: list[RenderableType] = []
    for row in rows:
        if row[0]:
            blocks.append(Text.from_markup(row[0], style=columns[0].style or "bold"))
        for column, cell in zip(columns[1:], row[1:], strict=True):
            if cell:
                text = Text(f"{column.title}: " if column.title else "", style="dim")
                text.append_text(Text.from_markup(cell, style=column.style))
                blocks.append(Padding(text, (0, 0, 0, 2)))
    return blocks
