"""`vez status`: who holds what, who waits, and for how long."""

from __future__ import annotations

import time

import click
import msgspec
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from vez.cli.engine import engine_url
from vez.cli.numbers import Number
from vez.cli.output import console
from vez.cli.waiting import duration
from vez.engines.base import Contestant, Inspection, Kind
from vez.engines.names import check_name
from vez.errors import CorruptState, EngineUnavailable, Misuse
from vez.turns.client import Client, connect

EXIT_DAMAGED = CorruptState.exit_code
KINDS: tuple[Kind, ...] = ("lock", "semaphore", "election")


@click.command(short_help="Who holds what, who waits, and for how long.")
@click.argument("name", required=False)
@click.option("--url", help="The engine.  [default: VEZ_URL, or the files of this machine]")
@click.option("--all", "everything", is_flag=True, help="Show names too that nobody holds or waits for.")
@click.option("--watch", is_flag=True, help="Keep looking until interrupted.")
@click.option("--interval", type=Number(min=0.05), default=0.5, show_default=True, help="With --watch.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON; with --watch a line at each change.")
def status(name: str | None, url: str | None, everything: bool, watch: bool, interval: float, as_json: bool) -> int:
    """Show holders, queues and forced releases: of NAME, or of all names in use.

    Names whose files cannot be read are shown as damaged, and the exit code is 65 then.
    """
    if name is not None:
        check_name(name)
    with connect(engine_url(url)) as client:
        if not watch:
            found = look(client, name, everything=everything)
            if as_json:
                click.echo(_json(client, found))
            else:
                console().print(table(client, found, name))
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


def look(client: Client, name: str | None, *, everything: bool) -> list[Inspection | Damaged]:
    """What is known of the names asked for."""
    found: list[Inspection | Damaged] = []
    for kind in KINDS:
        for known in client.locks(kind=kind):
            if name is None or known == name:
                try:
                    seen = client.inspect(known, kind)
                except (CorruptState, EngineUnavailable, Misuse) as error:  # one of them must not hide the others
                    found.append(Damaged(known, kind, str(error)))
                    continue
                if everything or name is not None or seen.holders or seen.queue:
                    found.append(seen)
    return found


def _json(client: Client, found: list[Inspection | Damaged]) -> str:
    return msgspec.json.encode({"url": client.url, "names": found}).decode()


def _watch_json(client: Client, name: str | None, interval: float, *, everything: bool) -> None:
    last = None
    while True:
        found = look(client, name, everything=everything)
        if found != last:
            click.echo(_json(client, found))
            last = found
        time.sleep(interval)


def _watch(client: Client, name: str | None, interval: float, *, everything: bool) -> None:
    with Live(console=console(), auto_refresh=False) as live:
        while True:
            live.update(table(client, look(client, name, everything=everything), name), refresh=True)
            time.sleep(interval)


def _standing(who: Contestant, word: str) -> str:
    if who.lost:
        return f"[red]{word}, but it was broken[/]"
    if who.ended:
        return f"[yellow]{word}: it has ended, and what it started keeps the turn[/]"
    return f"[green]{word}[/]"


def table(client: Client, found: list[Inspection | Damaged], name: str | None) -> Table:
    """One row for each who holds or waits."""
    made = Table(title=escape(client.url), title_justify="left", box=None, header_style="bold")
    for heading in ("name", "kind", "who", "token", "since", ""):
        made.add_column(heading, justify="right" if heading in ("token", "since") else "left", overflow="fold")
    for seen in found:
        if isinstance(seen, Damaged):
            made.add_row(escape(seen.name), seen.kind, "", "", "", f"[red]damaged: {escape(seen.damaged)}[/]")
            continue
        title = seen.name
        kind = f"{seen.kind} {seen.limit}" if seen.kind == "semaphore" else seen.kind
        for who in seen.holders:
            word = "leads" if seen.kind == "election" else "reads" if who.shared else "holds"
            _row(made, title, kind, who, _standing(who, word))
            title = kind = ""
        for place, who in enumerate(seen.queue, 1):
            _row(made, title, kind, who, f"waits, {place}. in line" if seen.kind != "election" else "candidate")
            title = kind = ""
        if not seen.holders and not seen.queue:
            made.add_row(title, kind, "", str(seen.last_token), "", "free; the last token")
        for done in seen.breaks[-3:]:
            made.add_row(
                "", "", "", "", ago(done.at), f"[yellow]broken by process {done.by_pid}: {escape(done.reason)}[/]"
            )
    if not found:
        what = "anything" if name is None else repr(name)
        made.add_row(f"[dim]nobody holds or waits for {escape(what)}[/]", "", "", "", "", "")
    return made


def _row(made: Table, title: str, kind: str, who: Contestant, word: str) -> None:
    made.add_row(title, kind, escape(f"{who.label} (process {who.pid})"), str(who.token), ago(who.since), word)


def ago(at: float) -> str:
    """How long ago."""
    return duration(max(0.0, time.time() - at))
