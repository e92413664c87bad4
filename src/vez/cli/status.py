"""`vez status`: who holds what, who waits, and for how long."""

from __future__ import annotations

import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape

from vez.cli.engine import engine_url
from vez.cli.given import not_together, only_with
from vez.cli.numbers import Number
from vez.cli.output import console
from vez.cli.progress import progress
from vez.cli.table_files import markdown_table, table_option, write_table
from vez.cli.tables import MANY, Column, fitted
from vez.cli.waiting import duration
from vez.engines.base import Contestant, Inspection, Kind
from vez.engines.names import check_name
from vez.engines.urls import without_password
from vez.engines.wording import elsewhere
from vez.errors import CorruptState, EngineUnavailable, Misuse
from vez.turns.client import Client, connect

EXIT_DAMAGED = CorruptState.exit_code
KINDS: tuple[Kind, ...] = ("lock", "semaphore", "election")
COLUMNS = (
    Column("name"), Column("kind"), Column("who"), Column("token", right=True), Column("since", right=True), Column(),
)  # fmt: skip


@click.command(short_help="Show who holds what, who waits, and for how long.")
@click.argument("name", required=False)
@click.option("--url", help="The engine.  [default: VEZ_URL, or the files of this machine]")
@click.option("--all", "everything", is_flag=True, help="Also show names that nobody holds or waits for.")
@click.option("--watch", is_flag=True, help="Refresh until interrupted.")
@click.option("--interval", type=Number(min=0.05), default=0.5, show_default=True, metavar="S",
              help="With --watch: seconds between two looks.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON; with --watch, one line at each change.")
@table_option
def status(
    name: str | None, url: str | None, everything: bool, watch: bool, interval: float, as_json: bool,
    output: Path | None,
) -> int:  # fmt: skip
    """Show the holders, waiters and forced releases of NAME, or of all names in use.

    A name whose files cannot be read is shown as damaged; the exit code is then 65.
    """
    only_with("--watch", watch, "interval")
    not_together("name", "everything")
    not_together("watch", "output")
    if name is not None:
        check_name(name)
    with connect(engine_url(url)) as client:
        if not watch:
            found = look(client, name, everything=everything, shown=True)
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
            return EXIT_DAMAGED if any(isinstance(seen, Damaged) for seen in found) else 0
        if as_json:
            _watch_json(client, name, interval, everything=everything)
        else:
            _watch(client, name, interval, everything=everything)
        return 0


class Damaged(msgspec.Struct, frozen=True):
    """A name into which one cannot look."""

    name: str
    kind: Kind
    damaged: str


def look(client: Client, name: str | None, *, everything: bool, shown: bool = False) -> list[Inspection | Damaged]:
    """What is known of the names asked for. `shown` shows how far it is, if there are many."""
    found: list[Inspection | Damaged] = []
    known = [(kind, one) for kind in KINDS for one in client.locks(kind=kind) if name is None or one == name]
    with progress("looking", len(known)) if shown and len(known) > MANY else nullcontext(str) as step:
        for kind, one in known:
            step()
            try:
                seen = client.inspect(one, kind)
            except (CorruptState, EngineUnavailable, Misuse) as error:  # one of them must not hide the others
                found.append(Damaged(one, kind, str(error)))
                continue
            if everything or name is not None or seen.holders or seen.queue:
                found.append(seen)
    return found


def _print(out: Console, client: Client, found: list[Inspection | Damaged], name: str | None) -> None:
    out.print(_title(client), soft_wrap=True)  # a URL to copy stays in one piece
    out.print(table(found, name, out.width))


def _value(client: Client, found: list[Inspection | Damaged]) -> dict[str, Any]:
    return {"url": without_password(client.url), "names": found}


def _json(client: Client, found: list[Inspection | Damaged]) -> str:
    return msgspec.json.encode(_value(client, found)).decode()


def _watch_json(client: Client, name: str | None, interval: float, *, everything: bool) -> None:
    last = None
    while True:
        found = look(client, name, everything=everything)
        if found != last:
            click.echo(_json(client, found))
            last = found
        time.sleep(interval)


def _watch(client: Client, name: str | None, interval: float, *, everything: bool) -> None:
    out = console()
    out.print(_title(client), soft_wrap=True)  # not in the live part, which would break a long URL to count its lines
    with Live(console=out, auto_refresh=False) as live:
        while True:
            found = look(client, name, everything=everything)
            live.update(table(found, name, out.width), refresh=True)
            time.sleep(interval)


def _standing(who: Contestant, word: str) -> str:
    if who.lost:
        return f"[red]{word}, but it was broken[/]"
    if who.ended:
        return f"[yellow]{word}: it has ended, and what it started keeps the turn[/]"
    return f"[green]{word}[/]"


def _title(client: Client) -> str:
    return f"[italic]{escape(without_password(client.url))}[/]"


def table(found: list[Inspection | Damaged], name: str | None, width: int) -> Group:
    """One row for each holder, waiter, candidate, forced release and damaged name."""
    if not found:
        what = "anything" if name is None else repr(name)
        return Group(f"[dim]nobody holds or waits for {escape(what)}[/]")
    return fitted(width, COLUMNS, _all_rows(found), ruled=False)


def _all_rows(found: list[Inspection | Damaged]) -> list[list[str]]:
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
    if not rows:
        rows.append(["", "", "", str(seen.last_token), "", "free; the last token"])
    kind = f"{seen.kind} {seen.limit}" if seen.kind == "semaphore" else seen.kind
    rows[0][:2] = [escape(seen.name), kind]
    for done in seen.breaks[-3:]:
        words = f"[yellow]broken by process {done.by_pid}: {escape(done.reason)}[/]"
        rows.append(["", "", "", "", ago(done.at), words])
    return rows


def _row(who: Contestant, word: str) -> list[str]:
    shown = f"{who.label} (process {who.pid}{elsewhere(who)})" if who.pid else who.label
    return ["", "", escape(shown), str(who.token), ago(who.since) if who.since else "", word]


def ago(at: float) -> str:
    """How long ago."""
    return duration(max(0.0, time.time() - at))
