"""`vez elect`: stand as a candidate, and lead until interrupted."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress

import click

from vez import aio
from vez.cli.parameters.engine_url import engine_url
from vez.cli.parameters.numbers import Number
from vez.cli.printing.waiting import Teller
from vez.errors import OwnershipLost


@click.command(short_help="Stand as a candidate, and lead until interrupted.")
@click.argument("name")
@click.option("--url", help="The engine.  [default: VEZ_URL, or the files of this machine]")
@click.option(
    "--weight", type=int, default=0, show_default=True, metavar="N", help="The heaviest candidate is elected."
)
@click.option("--label", help="Name of this candidate for observers.  [default: HOST:PROCESS]")
@click.option("--lease", type=Number(0.001, 86400), metavar="S",
              help="On a network: free the leadership S seconds after its holder has died.")  # fmt: skip
@click.option("--timeout", "--wait", "seconds", type=Number(min=0), metavar="S", help="Wait at most S seconds.")
@click.option("--for", "term_seconds", type=Number(min=0), metavar="S", help="Resign S seconds after the election.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines.")
def elect(
    name: str, url: str | None, weight: int, label: str | None, lease: float | None, seconds: float | None,
    term_seconds: float | None, as_json: bool,
) -> int:  # fmt: skip
    """Stand as a candidate in the election NAME; if elected, print the term and lead until interrupted.

    Exit code 76 if the leadership is lost before that (`vez break --kind election`).
    """
    teller = Teller(name, quiet=False, as_json=as_json)

    async def run() -> int:
        async with aio.connect(engine_url(url)) as client:
            election = client.election(name, weight=weight, label=label, lease=lease, timeout=seconds,
                                       on_wait=teller.waiting)  # fmt: skip
            try:
                leadership = await election.acquire()
            finally:
                teller.waited()
            say("leader", leadership.term, f"leader of {name}, term {leadership.term}")
            try:
                async with asyncio.timeout(term_seconds):
                    await leadership.wait_lost()
            except TimeoutError:
                await leadership.resign()
                say("resigned", leadership.term, f"resigned from {name}")
                return 0
            finally:
                with suppress(OwnershipLost):  # reported below
                    await leadership.release()
            say("deposed", leadership.term, f"deposed from {name}")
            return 76

    def say(event: str, term: int, text: str) -> None:
        click.echo(json.dumps({"event": event, "name": name, "term": term}) if as_json else text)

    return asyncio.run(run())
