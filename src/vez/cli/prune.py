"""`vez prune`: removes the stored data of names that nobody uses."""

from __future__ import annotations

from typing import get_args

import click
import msgspec

from vez.cli.parameters.engine_url import engine_url
from vez.errors import CorruptState, VezError
from vez.locks.engines.base import Kind
from vez.locks.engines.urls import without_password
from vez.locks.turns.client import Client, connect


@click.command(short_help="Remove what is kept of names that nobody uses.")
@click.argument("prefix", required=False, default="")
@click.option("--url", help="The engine.  [default: VEZ_URL, or the files of this machine]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def prune(prefix: str, url: str | None, as_json: bool) -> int:
    """Remove what is kept of names that nobody holds, waits for or watches; with PREFIX, of those that begin with it.

    On file: that is the file of a name, on etcd: the records of its forced releases, and on both what was noted of
    jobs (`vez run --every`) in periods that are past. It is safe at any time. A name that is used again starts with a
    higher token than any that was issued before; only its mean stay is forgotten. A directory also prunes itself when
    it has more than a thousand names. Damaged files are left as they are and named, and the exit code is then 65.
    """
    with connect(engine_url(url)) as client:
        removed = client.prune(prefix)
        left = [(kind, name) for kind in get_args(Kind) for name in client.locks(prefix, kind)]
        damaged = [told for kind, name in left if (told := _damage(client, kind, name))]
    if as_json:
        value = {"url": without_password(client.url), "removed": removed, "left": len(left), "damaged": damaged}
        click.echo(msgspec.json.encode(value).decode())
    else:
        click.echo(f"removed {removed} idle {'name' if removed == 1 else 'names'}, {len(left)} left")
        for told in damaged:
            click.echo(f"vez: {told}", err=True)
    return CorruptState.exit_code if damaged else 0


def _damage(client: Client, kind: Kind, name: str) -> str:
    """The damage of a name's file, because of which it was not removed; empty if there is none."""
    try:
        client.inspect(name, kind)
    except CorruptState as error:
        return str(error)
    except VezError:  # a name that cannot be inspected now is in use, or is not the file of a name
        return ""
    return ""
