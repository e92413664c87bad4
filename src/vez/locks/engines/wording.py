"""Wording: error texts that are the same for every engine: timeouts, deadlocks, losses, refusals."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from vez.errors import (
    AlreadyHeld,
    Deadlock,
    EngineUnavailable,
    LockTimeout,
    Misuse,
    OwnershipLost,
    StaleToken,
    VezError,
)
from vez.locks.engines.base import Kind, Request
from vez.locks.engines.machine import host_name
from vez.locks.engines.urls import which_url, without_password

if TYPE_CHECKING:
    from vez.locks.engines.base import Contestant

RELEASED = "it was released"
BROKEN = "it was broken by force"
TRANSFERRED = "it was transferred"
FORKED = "this process was forked from the one that holds it"


def timed_out(
    request: Request, seconds: float, holder: Contestant | None = None, url: str | None = None
) -> LockTimeout:
    """The error for a request that was not granted in time. `holder` is the holder that it waited for, or None if
    unknown; `url` is the URL of the engine."""
    waited = f"after {seconds:g} s" if seconds else "without waiting"
    why = "" if holder is None else f": {inside_for(holder)}"
    return LockTimeout(
        f"{request.kind} {request.name!r} was not granted {waited}{why}",
        hint=f"see who holds it: {how_to_look(request.name, request.kind, url)}",
    )


def withdrawn(request: Request) -> LockTimeout:
    """The error for a request that another thread has withdrawn."""
    return LockTimeout(f"{request.kind} {request.name!r} was not granted: the request was withdrawn")


def stale_memo(name: str, token: int, newest: int) -> StaleToken:
    """The error for a memo that a later holder has written."""
    return StaleToken(
        f"the memo of {name!r} was written with token {newest}, and {token} is older",
        hint="this holder has lost its lock; acquire it again and start over",
    )


def no_memos(url: str) -> Misuse:
    """The error for an engine that keeps no memos."""
    return Misuse(
        f"{without_password(url)} keeps nothing for a name after its holder has left",
        hint="use an engine whose client.engine.traits.memos is true, as file: for example",
    )


def how_to_look(name: str, kind: Kind, url: str | None) -> str:
    """A command that shows the state of a name, or a Python call if no command can reach the engine."""
    if url is not None and url.startswith(("memory:", "peers:")):
        return f"client.inspect({name!r})" if kind == "lock" else f"client.inspect({name!r}, {kind!r})"
    if url is None or _is_default(url):
        return f"vez status {name}"
    from shlex import quote

    return f"vez status {name} --url {quote(without_password(url))}"


def _is_default(url: str) -> bool:
    """True if commands use this engine without `--url`."""
    default = which_url(None)
    if not (url.startswith("file:") and default.startswith("file:")):
        return url == default
    from vez.locks.engines.file.place import place_of

    try:
        return url == place_of(default).url  # the URL of a file engine contains its directory
    except VezError:
        return False


def inside_for(holder: Contestant) -> str:
    """The holder, and for how long it has held, as far as this is known."""
    long = f"has been inside for {max(0.0, time.time() - holder.since):.1f} s" if holder.since else "is inside"
    return f"{who_is(holder)} {long}"


def who_is(who: Contestant) -> str:
    """A holder or a waiter, as text. Programs that do not use vez do not publish their process id."""
    if not who.pid:
        return f"a program ({who.label or 'unknown'})"
    return f"process {who.pid}{elsewhere(who)}" + (f" ({who.label})" if who.label else "")


def elsewhere(who: Contestant) -> str:
    """The host of a holder or waiter, as text; empty if it is this one."""
    return f" on {who.host}" if who.host and who.host != host_name() else ""


def already_held(request: Request, held: Request, token: int | None) -> AlreadyHeld:
    """The error for an owner that requests what it already holds."""
    with_token = "" if token is None else f" (token {token})"
    if request.kind == "semaphore":
        hint = "each acquire takes one more permit, and the caller has all: release one first, or raise the limit"
    elif request.shared != held.shared:
        hint = "a shared lock and an exclusive one of a name exclude each other: release it first"
    else:
        hint = "to enter again, acquire the object that holds it, made with reentrant=True; or release it first"
    return AlreadyHeld(f"{request.kind} {request.name!r} is already held by the caller{with_token}", hint=hint)


def held_outside(kind: Kind, name: str, holder: Contestant) -> AlreadyHeld:
    """The error for a nested `vez run` that requests what an outer one holds."""
    return AlreadyHeld(
        f"{kind} {name!r} is already held by the outer `vez run` ({who_is(holder)}), which started this one",
        hint="they would wait for each other; leave one of them out, or use another name",
    )


def deadlock(wanted: str, held: Sequence[str], links: Sequence[str]) -> Deadlock:
    """The error for a wait that would close a cycle. `held` are the names that the caller holds, as shown to the user;
    `links` say what the other holders hold and wait for."""
    mine = f"process {os.getpid()} (the caller) holds {' and '.join(dict.fromkeys(held))} and waits for {wanted!r}"
    return Deadlock(
        f"waiting for {wanted!r} would close a cycle, which ends only if one of its waits does: "
        f"{'; '.join((mine, *links))}",
        cycle=(mine, *links),
        hint="take several locks in one order everywhere, or all at once with lock_all",
    )


def broken_before_taken(request: Request, token: int | None) -> OwnershipLost:
    """The error for a request that was granted, but released by force before the waiter noticed the grant."""
    return OwnershipLost(
        f"the turn of this request for {request.name!r} (token {token}) came and was broken by force before it was "
        f"taken",
        hint="ask again",
    )


def ownership_lost(name: str, token: int | None, why: str) -> OwnershipLost:
    """The error for a grant that is lost or was released."""
    return OwnershipLost(
        f"{name!r} {f'(token {token}) ' if token is not None else ''}is no longer held: {why}",
        hint="stop writing; a fenced resource refuses this token from now on"
        if token is not None
        else "stop writing; this engine gives no fencing token, so nothing refuses what comes too late",
        definite=False,  # work since the loss may have overlapped with that of another holder
    )


def client_closed(url: str) -> EngineUnavailable:
    """The error for a request to a client that was closed."""
    return EngineUnavailable(f"the client of {without_password(url)} is closed", hint="connect again")


def warn_unclosed(url: str, engine: object) -> None:
    """Warn that the program has dropped a client without closing it, as Python does for files."""
    warnings.warn(
        f"unclosed client of {without_password(url)}: close it, or use `with`", ResourceWarning, 2, source=engine
    )


def busy_doorway(where: str, seconds: float) -> EngineUnavailable:
    """The error for a doorway that stays locked because its process is stopped."""
    return EngineUnavailable(
        f"{where} stayed locked for {seconds:g} s: a process was stopped while it was in the doorway",
        hint="resume it (kill -CONT) or end it; /proc/locks shows its number",
    )


def other_limit(request: Request, limit: int) -> Misuse:
    """The error for a semaphore that is in use with another limit."""
    from vez.locks.table.refusals import limit_in_use

    return limit_in_use(request.name, limit, request.limit)


def no_transfer(request: Request, to: str) -> Misuse:
    """The error for the transfer of something that is not a leadership."""
    from vez.locks.table.refusals import cannot_transfer

    return cannot_transfer(request.kind, to)


def not_leading(request: Request, why: str) -> Misuse:
    """The error for a transfer by a process that does not lead."""
    from vez.locks.table.refusals import does_not_lead

    return does_not_lead(request.name, why)


def no_candidate(request: Request, to: str, others: Sequence[str]) -> Misuse:
    """The error for a transfer to a label that no candidate has."""
    from vez.locks.table.refusals import nobody_called

    return nobody_called(request.name, to, others)
