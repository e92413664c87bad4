"""Report: one HTML page with sentences, tables and pictures, without scripts, for light and dark screens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

import msgspec

_STYLE = """
:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:75rem;padding:0 1rem}
h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .3rem}.question{color:gray;margin:.2rem 0 1rem}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:1rem 0}
th,td{padding:.2rem .7rem;text-align:right}th{border-bottom:1px solid gray;vertical-align:bottom}
td.words,th.words{text-align:left}td{white-space:pre-line}tr:nth-child(even){background:#8881}
figure{margin:1.2rem 0;overflow-x:auto}svg{max-width:100%;height:auto}.scroll{overflow-x:auto}
"""
_CODE = re.compile("`([^`]+)`")
LONG = 15
"""The number of rows from which a table is placed below the pictures."""


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a report."""

    title: str
    question: str = ""
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    words: Sequence[str] = ()
    pictures: Sequence[str] = ()
    """SVG documents."""


def report(title: str, sections: Sequence[Section]) -> str:
    """The page. A single section needs no heading of its own."""
    alone = len(sections) == 1
    parts = [_section(section, "" if alone and section.title == title else section.title) for section in sections]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    body = f"<h1>{escape(title)}</h1>{''.join(parts)}"
    return f'<!doctype html><html lang="en">{head}<style>{_STYLE}</style><body>{body}</body></html>\n'


def _section(section: Section, title: str) -> str:
    parts = [f"<h2>{escape(title)}</h2>" if title else ""]
    if section.question:
        parts.append(f'<p class="question">{escape(section.question)}</p>')
    table = _table(section.columns, section.rows) if section.rows else ""
    long = len(section.rows) > LONG
    parts.append("" if long else table)
    parts += ["<p>" + _CODE.sub(r"<code>\1</code>", escape(words)) + "</p>" for words in section.words]
    parts += [f"<figure>{picture}</figure>" for picture in section.pictures]
    parts.append(table if long else "")
    return "\n".join(parts)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    left = [all(not is_figure(row[place]) for row in rows) for place in range(len(columns))]
    kinds = [' class="words"' if words else "" for words in left]
    head = "".join(f"<th{kind}>{escape(column)}</th>" for column, kind in zip(columns, kinds, strict=True))
    lines = []
    for row in rows:
        cells = "".join(f"<td{kind}>{escape(cell)}</td>" for cell, kind in zip(row, kinds, strict=True))
        lines.append(f"<tr>{cells}</tr>")
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'


def is_figure(cell: str) -> bool:
    """True if a cell is a number, which is aligned to the right."""
    return cell[:1].isdigit() or cell in ("–", "")
