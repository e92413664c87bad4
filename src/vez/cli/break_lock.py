"""`vez break`: take a lock from its holder by force."""

from __future__ import annotations

import getpass
from typing import get_args

import click
import msgspec

from vez.cli.parameters.engine_url import engine_url
from vez.locks.engines.base import Kind
from vez.locks.turns.client import connect


@click.command("break", short_help="Take a lock from its holder by force.")
@click.argument("name")
@click.option("--url", help="The engine.  [default: VEZ_URL, or the files of this machine]")
@click.option("--kind", type=click.Choice(["lock", "semaphore", "election"]), default="lock", show_default=True,
              help="What kind of lock NAME is.")  # fmt: skip
@click.option("--reason", metavar="TEXT", help="Shown by `vez status`.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def break_lock(name: str, url: str | None, kind: Kind, reason: str | None, as_json: bool) -> int:
    """Take the lock NAME from its holder by force, and grant it to the next waiter.

    The holder is told first, and gets the grace time that it asked for. A holder that cannot be told (a paused
    process) still believes that it holds the lock; its token is then too old, so that whoever checks tokens refuses
    it. The reason is recorded. Exit code 1 if nobody holds the lock.
    """
    with connect(engine_url(url)) as client:
        record = client.break_lock(name, reason or f"by {getpass.getuser()} with vez break", kind)
        others = [] if record else [other for other in get_args(Kind) if client.inspect(name, other).holders]
    if as_json:
        click.echo(msgspec.json.encode(record).decode())
    elif record is None:
        click.echo(f"nobody holds {kind} {name}")
        for other in others:
            click.echo(f"somebody holds the {other} of that name: vez break {name} --kind {other}", err=True)
    else:
        click.echo(f"broke {kind} {name}: token {', '.join(map(str, record.tokens))} is void")
    return 0 if record else 1
