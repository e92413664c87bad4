"""`vez run` within `vez run`: what the outer ones hold, passed on in the environment."""

from __future__ import annotations

import os

import msgspec

from vez.engines.base import Kind
from vez.engines.seam import AsyncEngine
from vez.engines.urls import without_password
from vez.errors import AlreadyHeld

HELD = "VEZ_HELD"
"""The environment variable for the command of `vez run`: all that it and outer ones hold, as JSON."""
_LONGEST = 1 << 16


class Outer(msgspec.Struct, frozen=True):
    """What an outer `vez run` claims to hold."""

    url: str
    """Without passwords: the command and all that it starts can read it."""
    kind: Kind
    name: str
    token: int | None


def outer() -> list[Outer]:
    """The claims in the environment. Anybody can write them, so they must be checked; unreadable ones are ignored."""
    raw = os.environ.get(HELD, "")
    try:
        return msgspec.json.decode(raw[:_LONGEST], type=list[Outer])
    except msgspec.MsgspecError:
        return []


def with_mine(url: str, kind: Kind, name: str, token: int | None) -> str:
    """The claims with one more, for the environment of a command."""
    return msgspec.json.encode([*outer(), Outer(without_password(url), kind, name, token)]).decode()


async def refuse_outer(engine: AsyncEngine, kind: Kind, name: str, limit: int) -> None:
    """Raise `AlreadyHeld` if an outer `vez run` holds the name: it waits for us, and we would wait for it. A claim
    counts only if the engine confirms it."""
    wanted = (without_password(engine.url), kind, name)
    claims = {held.token for held in outer() if (held.url, held.kind, held.name) == wanted}
    if not claims:
        return
    seen = await engine.inspect(name, kind)
    holders = [who for who in seen.holders if who.token in claims and not who.lost]
    if len(holders) >= limit:
        raise AlreadyHeld(
            f"{kind} {name!r} is held by the outer `vez run` (process {holders[0].pid}), which started this one",
            hint="they would wait for each other; leave one of them out, or use another name",
        )
