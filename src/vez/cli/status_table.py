"""The table and the JSON of `vez status`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import click
import msgspec
from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape

from vez.cli.printing.output import console
from vez.cli.printing.table_files import markdown_table, write_table
from vez.cli.printing.tables import Column, fitted
from vez.cli.printing.waiting import duration
from vez.cli.status import nothing
from vez.locks.engines.base import Contestant, Done, Inspection, Kind
from vez.locks.engines.urls import without_password
from vez.locks.engines.wording import elsewhere
from vez.locks.turns.client import Client

COLUMNS = (
    Column("name"), Column("kind"), Column("who"), Column("token", right=True), Column("since", right=True),
    Column("state"),
)  # fmt: skip


class Damaged(msgspec.Struct, frozen=True):
    """A name into which one cannot look."""

    name: str
    kind: Kind
    damaged: str


Found = list[Inspection | Damaged]


def show(client: Client, found: Found, name: str | None, output: Path | None, *, as_json: bool) -> None:
    """Print what was found, and write it to the file, if there is one."""
    if output is not None:
        write_table(
            output,
            lambda out: _print(out, client, found, name),
            lambda: markdown_table([column.title for column in COLUMNS], _all_rows(found)),
            lambda: _value(client, found),
        )
    if as_json:
        click.echo(_json(client, found))
    else:
        _print(console(), client, found, name)


def _print(out: Console, client: Client, found: Found, name: str | None) -> None:
    out.print(_title(client), soft_wrap=True)  # a URL to copy stays in one piece
    out.print(table(found, name, out.width))


def _value(client: Client, found: Found) -> dict[str, Any]:
    return {"url": without_password(client.url), "names": found}


def _json(client: Client, found: Found) -> str:
    return msgspec.json.encode(_value(client, found)).decode()


def watch_json(client: Client, look: Callable[[], Found], name: str | None, interval: float) -> NoReturn:
    """Print what is found as one line of JSON at each change, until interrupted."""
    last = None
    while True:
        found = look()
        if found != last:
            click.echo(_json(client, found))
            last = found
        time.sleep(interval)


def watch(client: Client, look: Callable[[], Found], name: str | None, interval: float) -> NoReturn:
    """Show what is found, refreshed until interrupted; in a file or a pipe, the whole table again at each change."""
    out = console()
    out.print(_title(client), soft_wrap=True)  # not in the live part, which would break a long URL to count its lines
    last = None
    while not out.is_terminal or out.is_dumb_terminal:
        found = look()
        if found != last:
            out.print(table(found, name, out.width))
            sys.stdout.flush()
            last = found
        time.sleep(interval)
    with Live(console=out, auto_refresh=False) as live:
        while True:
            live.update(table(look(), name, out.width), refresh=True)
            time.sleep(interval)


def _standing(who: Contestant, word: str) -> str:
    if who.lost:
        return f"[red]{word}, but it was broken[/]"
    if who.ended:
        return f"[yellow]{word}: it has ended, and what it started keeps the turn[/]"
    return f"[green]{word}[/]"


def _title(client: Client) -> str:
    return f"[italic]{escape(without_password(client.url))}[/]"


def table(found: Found, name: str | None, width: int) -> Group:
    """One row for each holder, waiter, candidate, periodic job, forced release and damaged name."""
    if not found:
        return Group(f"[dim]{escape(nothing(name))}[/]")
    return fitted(width, COLUMNS, _all_rows(found), ruled=False)


def _all_rows(found: Found) -> list[list[str]]:
    return [row for seen in found for row in (_damaged(seen) if isinstance(seen, Damaged) else _rows(seen))]


def _damaged(seen: Damaged) -> list[list[str]]:
    return [[escape(seen.name), seen.kind, "", "", "", f"[red]damaged: {escape(seen.damaged)}[/]"]]


def _rows(seen: Inspection) -> list[list[str]]:
    """Rows of one name, which only the first of them shows."""
    rows = []
    for who in seen.holders:
        word = "leads" if seen.kind == "election" else "reads" if who.shared else "holds"
        rows.append(_row(who, _standing(who, word)))
    for place, who in enumerate(seen.queue, 1):
        rows.append(_row(who, "candidate" if seen.kind == "election" else f"waits, {place}. in line"))
    rows += [["", "", "", "", "", _noted(one)] for one in seen.done]
    if not rows:
        rows.append(["", "", "", str(seen.last_token), "", "free; the last token"])
    kind = f"{seen.kind} {seen.limit}" if seen.kind == "semaphore" else seen.kind
    rows[0][:2] = [escape(seen.name), kind]
    for done in seen.breaks[-3:]:
        words = f"[yellow]broken by process {done.by_pid}: {escape(done.reason)}[/]"
        rows.append(["", "", "", "", ago(done.at), words])
    return rows


def _noted(one: Done) -> str:
    """The end of the last run of a job, and when it may run again."""
    late = time.time() - one.next_at
    if one.due and late < 0:
        return f"[yellow]due, every {one.every}; noted as done by a clock that was ahead[/]"
    done = f"done {ago(one.at)} ago, every {one.every}"
    if one.due:
        return f"{done}; due since {duration(late)}"
    return f"[green]{done}; next period begins in {duration(max(0.0, -late))}[/]"


def _row(who: Contestant, word: str) -> list[str]:
    shown = f"{who.label} (process {who.pid}{elsewhere(who)})" if who.pid else who.label
    return ["", "", escape(shown), str(who.token), ago(who.since) if who.since else "", word]


def ago(at: float) -> str:
    """The time since `at` in words."""
    return duration(max(0.0, time.time() - at))
