"""What every engine says in the same words: timeouts, deadlocks, losses, refusals."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from shlex import quote

from vez.engines.base import Contestant, Kind, Request
from vez.engines.machine import host_name
from vez.engines.urls import which_url, without_password
from vez.errors import AlreadyHeld, Deadlock, EngineUnavailable, LockTimeout, Misuse, OwnershipLost, VezError
from vez.table.stories import cannot_transfer, does_not_lead, limit_in_use, nobody_called

RELEASED = "it was released"
BROKEN = "it was broken by force"
TRANSFERRED = "it was transferred"
FORKED = "this process was forked from the one that holds it"


def timed_out(
    request: Request, seconds: float, holder: Contestant | None = None, url: str | None = None
) -> LockTimeout:
    """The error for a request that was not granted in time; `holder` is whom it has waited for, if that is known, and
    `url` that of the engine."""
    waited = f"after {seconds:g} s" if seconds else "without waiting"
    why = "" if holder is None else f": {inside_for(holder)}"
    return LockTimeout(
        f"{request.kind} {request.name!r} was not granted {waited}{why}",
        hint=f"see who holds it: {how_to_look(request.name, request.kind, url)}",
    )


def how_to_look(name: str, kind: Kind, url: str | None) -> str:
    """The command that shows a name, or what a program calls if no command can look into the engine."""
    if url is not None and url.startswith(("memory:", "peers:")):
        return f"client.inspect({name!r})" if kind == "lock" else f"client.inspect({name!r}, {kind!r})"
    if url is None or _is_default(url):
        return f"vez status {name}"
    return f"vez status {name} --url {quote(without_password(url))}"


def _is_default(url: str) -> bool:
    """True if a command finds this engine without being told."""
    default = which_url(None)
    if not (url.startswith("file:") and default.startswith("file:")):
        return url == default
    from vez.engines.file.place import place_of

    try:
        return url == place_of(default).url  # that of an engine names its directory
    except VezError:
        return False


def inside_for(holder: Contestant) -> str:
    """Who is inside, and for how long, as far as that is known."""
    long = f"has been inside for {max(0.0, time.time() - holder.since):.1f} s" if holder.since else "is inside"
    return f"{who_is(holder)} {long}"


def who_is(who: Contestant) -> str:
    """A holder or a waiter. Programs that are not of vez do not say which process they are."""
    if not who.pid:
        return f"a program ({who.label or 'unknown'})"
    return f"process {who.pid}{elsewhere(who)}" + (f" ({who.label})" if who.label else "")


def elsewhere(who: Contestant) -> str:
    """On which machine, unless it is this one."""
    return f" on {who.host}" if who.host and who.host != host_name() else ""


def already_held(request: Request, token: int | None) -> AlreadyHeld:
    """The error for an owner that asks for what it holds."""
    with_token = "" if token is None else f" (token {token})"
    return AlreadyHeld(
        f"{request.kind} {request.name!r} is already held by the caller{with_token}",
        hint="the caller would wait for itself; pass the grant along, or release it first",
    )


def held_outside(kind: Kind, name: str, holder: Contestant) -> AlreadyHeld:
    """The error for a `vez run` that asks for what an outer one holds."""
    return AlreadyHeld(
        f"{kind} {name!r} is already held by the outer `vez run` ({who_is(holder)}), which started this one",
        hint="they would wait for each other; leave one of them out, or use another name",
    )


def deadlock(wanted: str, held: Sequence[str], links: Sequence[str]) -> Deadlock:
    """The error for a wait that would close a cycle. `held` are the names that the caller holds, as they are shown, and
    `links` what the others hold and wait for."""
    mine = f"process {os.getpid()} (the caller) holds {' and '.join(dict.fromkeys(held))} and waits for {wanted!r}"
    return Deadlock(
        f"waiting for {wanted!r} would close a cycle, which ends only if one of its waits does: "
        f"{'; '.join((mine, *links))}",
        cycle=(mine, *links),
        hint="take several locks in one order everywhere, or all at once with lock_all",
    )


def broken_before_taken(request: Request, token: int | None) -> OwnershipLost:
    """The error for a waiter whose turn came, and was broken by force before it noticed."""
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
        definite=False,  # what was done since the loss may have met another holder's work
    )


def client_closed(url: str) -> EngineUnavailable:
    """The error for a request to a client that was closed."""
    return EngineUnavailable(f"the client of {without_password(url)} is closed", hint="connect again")


def busy_doorway(where: str, seconds: float) -> EngineUnavailable:
    """The error for a doorway that a stopped process keeps locked."""
    return EngineUnavailable(
        f"{where} stayed locked for {seconds:g} s: a process was stopped while it was in the doorway",
        hint="resume it (kill -CONT) or end it; /proc/locks shows its number",
    )


def other_limit(request: Request, limit: int) -> Misuse:
    """The error for a semaphore that is in use with another limit."""
    return limit_in_use(request.name, limit, request.limit)


def no_transfer(request: Request, to: str) -> Misuse:
    """The error for the transfer of something that is not a leadership."""
    return cannot_transfer(request.kind, to)


def not_leading(request: Request, why: str) -> Misuse:
    """The error for a transfer by one that does not lead."""
    return does_not_lead(request.name, why)


def no_candidate(request: Request, to: str, others: Sequence[str]) -> Misuse:
    """The error for a transfer to one that does not stand."""
    return nobody_called(request.name, to, others)
