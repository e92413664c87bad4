"""`vez run`: a command that runs only while its turn lasts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

import click

from vez import aio
from vez.cli.engine import engine_url
from vez.cli.given import not_together, only_with
from vez.cli.numbers import Number
from vez.cli.waiting import Teller
from vez.engines.base import Kind
from vez.engines.wording import how_to_look
from vez.errors import LockTimeout, Misuse, OwnershipLost
from vez.supervise.child import Child, refuse_elsewhere
from vez.supervise.kept import TARDY
from vez.supervise.nested import refuse_outer, with_mine

EXIT_BUSY = 75
_MARGIN = TARDY + 2.0
"""Seconds beyond TERM and KILL that a forced release leaves us, before others may pass: a keeper that was stopped is
killed `TARDY` after that, and the command with it. The rest is for noticing the loss and for ending what is left. A
forced release waits no longer than until we have released."""


class RunCommand(click.Command):
    """Options end where COMMAND begins, so that the options of COMMAND reach it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        marked = ctx.meta["vez.marked"] = "--" in args
        ctx.allow_interspersed_args = marked  # only then it is clear which words after NAME are ours
        return super().parse_args(ctx, args)


@click.command(cls=RunCommand, short_help="Run a command while holding a lock.")
@click.argument("name")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--url", help="The engine.  [default: VEZ_URL, or the files of this machine]")
@click.option("--wait", "seconds", type=Number(min=0), metavar="S", help="Wait at most S seconds.")
@click.option("--no-wait", is_flag=True, help="Do not wait: give up if it is not free now.")
@click.option("--busy-code", type=click.IntRange(0, 255), default=EXIT_BUSY, show_default=True, metavar="N",
              help="Exit code if the lock was not granted in time.")  # fmt: skip
@click.option("--shared", is_flag=True, help="Hold it together with other --shared commands.")
@click.option(
    "--semaphore", "limit", type=click.IntRange(min=1), metavar="N", help="At most N commands at the same time."
)
@click.option("--leader", is_flag=True, help="Run while elected leader; start again if elected again.")
@click.option("--weight", type=int, default=0, metavar="N", help="With --leader: the heaviest candidate is elected.")
@click.option("--kill-after", type=Number(0, 3000), default=5.0, show_default=True, metavar="S",
              help="If the lock is lost: send KILL S seconds after TERM.")  # fmt: skip
@click.option("--label", help="Name of this process in `vez status`.  [default: the command]")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing while waiting.")
@click.option("--json", "as_json", is_flag=True, help="Print events as JSON lines on standard error.")
def run(
    name: str, command: tuple[str, ...], url: str | None, seconds: float | None, no_wait: bool, busy_code: int,
    shared: bool, limit: int | None, leader: bool, weight: int, kill_after: float, label: str | None, quiet: bool,
    as_json: bool,
) -> int:  # fmt: skip
    """Run COMMAND while holding the lock NAME: wait for the lock, run the command, release the lock.

    The command gets VEZ_LOCK and VEZ_TOKEN in its environment, standard input, and every signal sent to `vez run`.
    The exit code is that of the command. If the lock is lost (by `vez break`, because its files are gone, or
    because its lease could not be renewed), the command's process group gets TERM, then KILL, and the exit code is 76.

        vez run nightly -- ./backup.sh --full
    """
    if command[0].startswith("-") and not click.get_current_context().meta["vez.marked"]:
        raise Misuse(
            f"{command[0]} stands after NAME, where COMMAND begins", hint=f"vez run {command[0]} … NAME -- COMMAND"
        )
    not_together("shared", "limit", "leader")
    not_together("seconds", "no_wait")
    not_together("quiet", "as_json")
    only_with("--leader", leader, "weight")
    only_with("--wait or --no-wait", no_wait or seconds is not None, "busy_code")
    refuse_elsewhere()
    timeout = 0.0 if no_wait else seconds
    grace = kill_after + _MARGIN
    teller = Teller(name, quiet=quiet, as_json=as_json)

    def made(client: aio.Client) -> aio.Lock:
        text = label or command[0].rsplit("/", 1)[-1]
        if leader:
            return client.election(
                name, weight=weight, timeout=timeout, label=label, on_wait=teller.waiting, grace=grace
            )
        if limit is not None:
            return client.semaphore(name, limit, timeout=timeout, label=text, on_wait=teller.waiting, grace=grace)
        return client.lock(name, timeout=timeout, shared=shared, label=text, on_wait=teller.waiting, grace=grace)

    kind: Kind = "election" if leader else "lock" if limit is None else "semaphore"

    async def inside() -> int:
        async with aio.connect(engine_url(url)) as client:
            if not no_wait:
                await refuse_outer(client.engine, kind, name, limit or 1)

            def held(token: int | None) -> str:
                return with_mine(client.url, kind, name, token)

            look = how_to_look(name, kind, client.url)
            return await _run(lambda: made(client), Child(command, kill_after, held), teller, look, again=leader)

    try:
        return asyncio.run(inside())
    except LockTimeout as error:
        teller.busy(error)
        if busy_code == EXIT_BUSY and not as_json:
            raise
        return busy_code


async def _run(made: Callable[[], aio.Lock], child: Child, teller: Teller, look: str, *, again: bool) -> int:
    while True:
        lock = made()
        try:
            grant = await _granted(lock, teller)
        except OwnershipLost:  # deposed while we were paused, before we knew that we lead
            if again:
                continue
            raise
        try:
            teller.granted(grant.token)
            code = await child.run(grant, lost=grant.wait_lost())
        finally:
            with suppress(OwnershipLost):  # told below
                await grant.release()
        if code is not None:
            teller.ended(code)
            if grant.lost:
                raise _lost(grant, "before the command ended", look)
            return code
        teller.lost(grant.token)
        if not again:
            raise _lost(grant, "and the command was ended", look)


def _lost(grant: aio.Grant, what: str, look: str) -> OwnershipLost:
    told = f"{grant.name!r} (token {grant.token}) was lost, {what}"
    try:
        grant.check()
    except OwnershipLost as error:
        told += error.message.partition(" is no longer held")[2]  # why
    return OwnershipLost(told, hint=f"see more: {look}", definite=False)


async def _granted(lock: aio.Lock, teller: Teller) -> aio.Grant:
    """The grant without the cancelling of a body: loss is the child's business first."""
    try:
        return await lock.acquire()
    finally:
        teller.waited()
