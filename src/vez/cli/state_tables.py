"""The output of `vez state`: a table for each experiment."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from vez.cli.printing.table_files import markdown_table
from vez.cli.printing.tables import Column, Rows, print_table
from vez.draw.chart.svg import svg
from vez.draw.report import Section, report
from vez.servers.paging.measure.changes import Seen
from vez.servers.paging.measure.experiments import TABLE, Found
from vez.servers.paging.measure.failures import After
from vez.servers.paging.measure.pages import cost_chart
from vez.servers.paging.measure.table import comparison

Table = tuple[str, Sequence[Column], Rows]


def show(out: Console, found: Found) -> None:
    """Print every table for which there is a measurement."""
    out.print(f"[bold]a paged query[/]  {_setting(found)}")
    for title, columns, rows in _tables(found):
        print_table(out, columns, rows, title=f"\n[bold]{title}[/]", split=columns[-1].right)


def markdown(found: Found) -> str:
    """Every table as Markdown."""
    parts = [f"## {title}\n\n{markdown_table([column.title for column in columns], rows)}"
             for title, columns, rows in _tables(found)]  # fmt: skip
    return "\n".join(parts)


def page(found: Found) -> str:
    """Every table, and the chart of the pages, as an HTML page."""
    sections = [
        Section(title=title, columns=[column.title for column in columns],
                rows=[[Text.from_markup(cell).plain for cell in row] for row in rows])
        for title, columns, rows in _tables(found)
    ]  # fmt: skip
    if found.costs:
        sections.append(Section(title="each page", pictures=[svg(cost_chart(found.costs, found.page))]))
    return report(f"Stateless and stateful: {_setting(found)}", sections)


def _setting(found: Found) -> str:
    return f"{found.rows:,} rows in pages of {found.page}, {found.database}, servers of the model {found.model}"


def _tables(found: Found) -> list[Table]:
    makers: list[tuple[Any, Callable[[Found], Table]]] = [
        (all(getattr(found, name) for name in TABLE), _comparison),
        (found.costs, _costs),
        (found.changes, _changes),
        (found.killed, lambda found: _after("server killed in the middle, and started again", found.killed)),
        (found.moved, lambda found: _after("client sent to another server in the middle", found.moved)),
        (found.alternated, _alternated),
        (found.lost_replies, _lost),
        (found.vanished, _vanished),
        (found.identities, _identities),
        (found.notices, _notices),
    ]
    if makers[0][0] and not (found.moved or found.vanished):
        return [_comparison(found)]
    return [make(found) for present, make in makers if present]


def _columns(first: str, *figures: str) -> list[Column]:
    return [Column(first), *(Column(title, right=True) for title in figures)]


def _comparison(found: Found) -> Table:
    rows = [
        [line.subject, *(f"{side.claim}\n[dim]{side.measured}[/]" for side in (line.stateless, line.stateful))]
        for line in comparison(found)
    ]
    return "what the text says, and what was measured", [Column(), Column("stateless"), Column("stateful")], rows


def _costs(found: Found) -> Table:
    rows = [
        [
            cost.way,
            f"{sum(cost.visited):,}",
            f"{max(cost.visited):,}",
            f"{statistics.median(cost.milliseconds):.2f}",
            f"{statistics.median(cost.milliseconds[-3:]):.2f}",
            f"{cost.kept_rows:,}",
            "–" if cost.bytes_per_client is None else f"{cost.bytes_per_client / 1000:,.0f}",
        ]
        for cost in found.costs
    ]
    titles = ("rows visited", "most for a page", "ms per page", "ms, last pages", "rows kept", "kB per client")
    return "the cost of each way", _columns("way", *titles), rows


def _changes(found: Found) -> Table:
    ways = list(dict.fromkeys(one.way for one in found.changes))
    by = {(one.way, one.change): one for one in found.changes}
    changes = dict.fromkeys(one.change for one in found.changes)
    rows = [[change, *(_seen(by[way, change]) for way in ways)] for change in changes]
    return "a row inserted or removed after each page", [Column("each time"), *map(Column, ways)], rows


def _seen(one: Seen) -> str:
    """The repeated, missed and stale rows, in words; for new rows ahead, how many of them were seen."""
    counts = {"twice": one.repeated, "missed": one.missed, "stale": one.stale}
    if wrong := [f"{count} {word}" for word, count in counts.items() if count]:
        return f"[yellow]{', '.join(wrong)}[/]"
    return f"{one.new} of {one.times} new" if one.change == "insert ahead" else "[green]all right[/]"


def _after(title: str, found: Sequence[After]) -> Table:
    rows = [
        [one.way, *map(str, (one.refused, one.log_ins, one.repeated, one.missed)), f"{one.visited:,}",
         f"{one.milliseconds:.0f}"]
        for one in found
    ]  # fmt: skip
    titles = ("refused", "log-ins", "rows again", "missed", "rows visited", "ms to go on")
    return title, _columns("way", *titles), rows


def _alternated(found: Found) -> Table:
    rows = [[one.way, str(one.requests), str(one.refused)] for one in found.alternated]
    return "two servers in turn", _columns("way", "requests", "refused"), rows


def _lost(found: Found) -> Table:
    rows = [[one.way, str(one.missed)] for one in found.lost_replies]
    return "a reply is lost, and the client asks again", _columns("way", "rows missed"), rows


def _vanished(found: Found) -> Table:
    rows = [
        [one.when_full, str(one.clients), f"{one.kept_rows:,}", "refused" if one.refused else "served",
         str(one.dropped), f"{one.kept_after_expiry:,}", "served" if one.served_after_expiry else "refused"]
        for one in found.vanished
    ]  # fmt: skip
    titles = ("clients gone", "rows kept", "next client", "views dropped", "kept after expiry", "next client then")
    return "clients that never come back", _columns("a full map", *titles), rows


def _identities(found: Found) -> Table:
    rows = [
        [one.kind, *map(str, (one.passwords, one.signatures, one.look_ups)), f"{one.milliseconds:.2f}",
         *(("yes" if value else "no") for value in (one.at_another_server, one.after_a_kill, one.after_log_out))]
        for one in found.identities
    ]  # fmt: skip
    titles = ("passwords", "signatures", "look-ups", "ms", "good at another server", "after a kill", "after log-out")
    return f"who is asking, {found.identities[0].requests} requests", _columns("kind", *titles), rows


def _notices(found: Found) -> Table:
    told = found.notices
    if told is None:
        raise ValueError("there are no notices")
    rows = [
        ["new rows", str(told.rows)],
        ["told of them, in their order", str(told.told)],
        ["requests of the session meanwhile", str(told.requests_while_waiting)],
        ["requests of a client that asks", f"{told.asked}, {told.in_vain} in vain"],
        ["lost datagrams, found by their number", f"{told.recovered} of 1"],
        ["told after the server was killed", f"{told.told_after_a_kill} of 1"],
        ["renewal after that", "refused" if told.renewal_refused else "accepted"],
    ]
    return "a session that is told of new rows", [Column(), Column(right=True)], rows
