"""`vez certs`: an authority and certificates for the nodes of a group on several hosts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from vez.cli.parameters.forms import IDS
from vez.cli.printing.output import print_json
from vez.errors import Misuse
from vez.worlds.node.certificates import make_certificates
from vez.worlds.node.group import check_name
from vez.worlds.node.sockets import private_directory


@click.command(short_help="Make certificates for nodes on several hosts.")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--name", required=True, metavar="NAME", help="The name of the group.")
@click.option("--ids", type=IDS, required=True, help="The nodes: 1,2,3.")
@click.option(
    "--days",
    type=click.IntRange(1, 36500),
    default=365,
    show_default=True,
    metavar="N",
    help="How long they are valid.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def certs(folder: Path, name: str, ids: tuple[int, ...], days: int, as_json: bool) -> None:
    """Write an authority and a certificate for each node into FOLDER.

    Each node needs ca.pem and its own node-ID.pem and node-ID.key, named under [tls] in the group file. Keep ca.key
    away from the hosts of the nodes: it can make certificates for any node. An authority that is in FOLDER already is
    used again, so that nodes can be added later. Needs the package cryptography (pip install 'vez[certs]').

    \b
      vez certs demo-certs --name demo --ids 1,2,3
    """
    check_name(name)
    if twice := [node for node, count in Counter(ids).items() if count > 1]:
        raise Misuse(f"--ids: node {twice[0]} is there twice")
    private_directory(folder)
    written = make_certificates(folder, name, ids, days)
    if as_json:
        print_json({"name": name, "ids": ids, "days": days, "wrote": [str(path) for path in written]})
        return
    for path in written:
        click.echo(f"wrote {path}")
