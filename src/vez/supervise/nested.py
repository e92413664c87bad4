"""`vez run` within `vez run`: what the outer ones hold, passed on in the environment."""

from __future__ import annotations

import os
import stat

import msgspec

from vez.engines.base import Engine, Kind
from vez.errors import AlreadyHeld

HELD = "VEZ_HELD"
"""The environment variable for the command of `vez run`: all that it and outer ones hold, as JSON."""
_LONGEST = 1 << 16


class Outer(msgspec.Struct, frozen=True):
    """What an outer `vez run` claims to hold."""

    url: str
    kind: Kind
    name: str
    token: int
    lifeline: int | None = None
    """The descriptor on which the lock depends; what is started inside must inherit it."""


def outer() -> list[Outer]:
    """The claims in the environment. Anybody can write them, so they must be checked; unreadable ones are ignored."""
    raw = os.environ.get(HELD, "")
    try:
        return msgspec.json.decode(raw[:_LONGEST], type=list[Outer])
    except msgspec.MsgspecError:
        return []


def with_mine(mine: Outer) -> str:
    """The claims with one more, for the environment of a command."""
    return msgspec.json.encode([*outer(), mine]).decode()


def lifelines() -> tuple[int, ...]:
    """Descriptors of outer claims that are open in this process and are regular files."""
    return tuple(held.lifeline for held in outer() if held.lifeline is not None and _is_file(held.lifeline))


def _is_file(descriptor: int) -> bool:
    try:
        return descriptor > 2 and stat.S_ISREG(os.fstat(descriptor).st_mode)
    except (OSError, OverflowError):
        return False


def refuse_outer(engine: Engine, kind: Kind, name: str, limit: int) -> None:
    """Raise `AlreadyHeld` if an outer `vez run` holds the name: it waits for us, and we would wait for it. A claim
    counts only if the engine confirms it."""
    claims = {held.token for held in outer() if (held.url, held.kind, held.name) == (engine.url, kind, name)}
    if not claims:
        return
    holders = [who for who in engine.inspect(name, kind).holders if who.token in claims and not who.lost]
    if len(holders) >= limit:
        raise AlreadyHeld(
            f"{kind} {name!r} is held by the outer `vez run` (process {holders[0].pid}), which started this one",
            hint="they would wait for each other; leave one of them out, or use another name",
        )
