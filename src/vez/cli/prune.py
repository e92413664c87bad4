"""`vez prune`: remove the files of names that nobody uses."""

from __future__ import annotations

from typing import get_args

import click
import msgspec

from vez.cli.engine import engine_url
from vez.engines.base import Kind
from vez.engines.urls import without_password
from vez.turns.client import connect


@click.command(short_help="Remove the files of names that nobody uses.")
@click.argument("prefix", required=False, default="")
@click.option("--url", help="The engine.  [default: VEZ_URL, or the files of this machine]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def prune(prefix: str, url: str | None, as_json: bool) -> int:
    """Remove the files of all names that nobody holds, waits for or watches; with PREFIX, of those that begin with it.

    It is safe at any time. A name that is used again starts with a higher token than any that was issued before; only
    its mean stay is forgotten. A directory also prunes itself when it has more than a thousand names.
    """
    with connect(engine_url(url)) as client:
        removed = client.prune(prefix)
        left = sum(len(client.locks(prefix, kind)) for kind in get_args(Kind))
    if as_json:
        click.echo(
            msgspec.json.encode({"url": without_password(client.url), "removed": removed, "left": left}).decode()
        )
    else:
        click.echo(f"removed {removed} idle {'name' if removed == 1 else 'names'}, {left} left")
    return 0
