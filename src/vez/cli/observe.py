"""`vez observe`: prints each new leader of an election."""

from __future__ import annotations

import sys

import click
import msgspec

from vez.cli.parameters.engine_url import engine_url
from vez.cli.parameters.numbers import Number
from vez.cli.parameters.option_checks import not_together
from vez.locks.turns.client import connect


@click.command(short_help="Print each new leader of an election.")
@click.argument("name")
@click.option("--url", help="The engine.  [default: VEZ_URL, or the files of this machine]")
@click.option("--once", is_flag=True, help="Print the current leader and exit; exit code 1 if there is none.")
@click.option("--for", "seconds", type=Number(min=0), metavar="S", help="End after S seconds without a new leader.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines.")
def observe(name: str, url: str | None, once: bool, seconds: float | None, as_json: bool) -> int:
    """Print the leader of the election NAME, and then each new leader, until interrupted."""
    not_together("once", "seconds")
    with connect(engine_url(url)) as client:
        for leader in client.election(name).observe(seconds):
            if as_json:
                click.echo(msgspec.json.encode({"name": name, "leader": leader}).decode())
            elif leader is None:
                click.echo("nobody leads")
            else:
                click.echo(f"{leader.label} (process {leader.pid} on {leader.host}) leads, term {leader.term}")
            sys.stdout.flush()
            if once:
                return 0 if leader else 1
    return 0
