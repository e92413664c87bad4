"""`vez run`: a command that runs only while its turn lasts. `RUN`, at the end, declares its options.

`vez.locks.supervise` starts the command, and ends it when the lock is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

from vez.cli.parameters.declared import Declared, Given, Option
from vez.cli.parameters.engine_url import engine_url
from vez.cli.printing.waiting import Teller
from vez.errors import LockTimeout, OwnershipLost
from vez.locks.engines.base import Kind
from vez.locks.engines.wording import how_to_look
from vez.locks.supervise.child import Child, refuse_elsewhere
from vez.locks.supervise.kept_command import TARDY
from vez.locks.supervise.nested import refuse_outer, with_mine

if TYPE_CHECKING:
    from vez.locks.engines.seam import Engine
    from vez.locks.turns.client import Client, Grant, Lock
    from vez.locks.turns.client_base import Options
    from vez.locks.turns.periods import Period
    from vez.locks.turns.thread_periodic import ThreadOnce

EXIT_BUSY = 75
_MARGIN = TARDY + 2.0
"""Seconds beyond TERM and KILL that a forced release leaves us, before others may pass: a keeper that was stopped is
killed `TARDY` after that, and the command with it. The rest is for noticing the loss and for ending what is left. A
forced release waits no longer than until we have released."""


def hold_and_run(
    given: Given, *, name: str, command: tuple[str, ...], url: str | None, seconds: float | None, no_wait: bool,
    busy_code: int, shared: bool, limit: int | None, leader: bool, weight: int, every: str | None, again: bool,
    at_least: float, lease: float | None, kill_after: float, label: str | None, quiet: bool, as_json: bool,
) -> int:  # fmt: skip
    """Run COMMAND while holding the lock NAME: wait for the lock, run the command, release the lock.

    The command gets VEZ_LOCK and VEZ_TOKEN in its environment, standard input, and every signal sent to `vez run`.
    The exit code is that of the command. If the lock is lost (by `vez break`, because its files are gone, or
    because its lease could not be renewed), the command's process group gets TERM, then KILL, and the exit code is 76.

        vez run nightly -- ./backup.sh --full
    """
    given.not_together("shared", "limit", "leader")
    given.not_together("seconds", "no_wait")
    for other in ("shared", "limit", "leader", "at_least"):
        given.not_together("every", other)
    given.not_together("quiet", "as_json")
    given.only_with("--every", every is not None, "again")
    given.only_with("--leader", leader, "weight")
    given.only_with("--wait or --no-wait", no_wait or seconds is not None, "busy_code")
    refuse_elsewhere()
    period = _period(every) if every is not None else None
    timeout = 0.0 if no_wait else seconds
    grace = kill_after + _MARGIN
    teller = Teller(name, quiet=quiet, as_json=as_json)

    def made(client: Client) -> Lock:
        text = label or command[0].rsplit("/", 1)[-1]
        options: Options = {
            "timeout": timeout, "label": label if leader else text, "on_wait": teller.waiting, "grace": grace,
            "at_least": at_least, "lease": lease,
        }  # fmt: skip
        if leader:
            return client.election(name, weight=weight, **options)
        if limit is not None:
            return client.semaphore(name, limit, **options)
        return client.lock(name, shared=shared, **options)

    kind: Kind = "election" if leader else "lock" if limit is None else "semaphore"
    where = engine_url(url)
    with Child(command, kill_after) as child:
        from vez.locks.turns.client import open_client  # here: the keeper is forked before an engine is loaded

        try:
            with open_client(where) as client:
                if not no_wait:
                    refuse_outer(client.engine, kind, name, limit or 1)

                def run_with(grant: Grant) -> int | None:
                    return child.run(grant, with_mine(client.url, kind, name, grant.token))

                once = _once(client.engine, period, again) if period is not None else None
                look = how_to_look(name, kind, client.url)
                return _run(lambda: made(client), run_with, teller, look, again=leader, at_least=at_least, once=once)
        except LockTimeout as error:
            teller.busy(error)
            if busy_code == EXIT_BUSY and not as_json:
                raise
            return busy_code


def _run(
    made: Callable[[], Lock], run_with: Callable[[Grant], int | None], teller: Teller, look: str, *, again: bool,
    at_least: float, once: ThreadOnce | None,
) -> int:  # fmt: skip
    while True:
        try:
            grant, begin = _granted(made(), teller), monotonic()
        except OwnershipLost:  # deposed while we were paused, before we knew that we lead
            if again:
                continue
            raise
        try:
            if once is not None and not once.begins(grant):
                teller.skipped(once.period.text)
                return 0
            teller.granted(grant.token)
            code = run_with(grant)
            stayed = code is not None and at_least > 0 and not grant.lost
            if code == 0 and once is not None and not grant.lost:  # as `every` in Python
                once.ended(grant)
            if code is not None:
                teller.ended(code)
                teller.staying(begin + at_least - monotonic())
        finally:
            with suppress(OwnershipLost):  # told below
                grant.release()
        if code is not None:
            if grant.lost and not stayed:  # a loss while it only stays concerns nobody
                raise _lost(grant, "before the command ended", look)
            return code
        teller.lost(grant.token)
        if not again:
            raise _lost(grant, "and the command was ended", look)


def _period(every: str) -> Period:
    from vez.locks.turns.periods import Period  # here: most runs need none

    return Period(every)


def _once(engine: Engine, period: Period, again: bool) -> ThreadOnce:
    from vez.locks.turns.thread_periodic import ThreadOnce  # here: most runs need none

    return ThreadOnce(engine, period, again=again)


def _lost(grant: Grant, what: str, look: str) -> OwnershipLost:
    told = f"{grant.name!r} (token {grant.token}) was lost, {what}"
    try:
        grant.check()
    except OwnershipLost as error:
        told += error.message.partition(" is no longer held")[2]  # why
    return OwnershipLost(told, hint=f"see more: {look}", definite=False)


def _granted(lock: Lock, teller: Teller) -> Grant:
    try:
        return lock.acquire()
    finally:
        teller.waited()


RUN = Declared(
    "run",
    "Run a command while holding a lock.",
    hold_and_run,
    (
        Option(("--url",), "url", "The engine.  [default: VEZ_URL, or the files of this machine]"),
        Option(("--timeout", "--wait"), "seconds", "Wait at most S seconds.", "number", least=0, metavar="S"),
        Option(("--no-wait",), "no_wait", "Do not wait: give up if it is not free now.", "flag"),
        Option(("--busy-code",), "busy_code", "Exit code if the lock was not granted in time.", "whole", EXIT_BUSY,
               0, 255, "N", show_default=True),
        Option(("--shared",), "shared", "Hold it together with other --shared commands.", "flag"),
        Option(("--semaphore",), "limit", "At most N commands at the same time.", "whole", least=1, metavar="N"),
        Option(("--leader",), "leader", "Run while elected leader; start again if elected again.", "flag"),
        Option(("--weight",), "weight", "With --leader: the heaviest candidate is elected.", "whole", 0, metavar="N"),
        Option(("--every",), "every", "Run once in each PERIOD, such as 1d: skip it if that is done.",
               metavar="PERIOD"),
        Option(("--again",), "again", "With --every: run it also if it is done in this period.", "flag"),
        Option(("--at-least",), "at_least", "Keep the lock for at least S seconds, also if the command ends earlier.",
               "number", 0.0, 0, 86400, "S"),
        Option(("--lease",), "lease", "On a network: free the lock S seconds after its holder has died.", "number",
               least=0.001, most=86400, metavar="S"),
        Option(("--kill-after",), "kill_after", "If the lock is lost: send KILL S seconds after TERM.", "number", 5.0,
               0, 3000, "S", show_default=True),
        Option(("--label",), "label", "Name of this process in `vez status`.  [default: the command]"),
        Option(("-q", "--quiet"), "quiet", "Say nothing while waiting.", "flag"),
        Option(("--json",), "as_json", "Print events as JSON lines on standard error.", "flag"),
    ),
    runs=True,
)  # fmt: skip


def __getattr__(name: str) -> Any:
    """`run`, the click command, is made when it is used: most command lines are read without click."""
    if name != "run":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from vez.cli.parameters.clicked import made

    return made(RUN)
