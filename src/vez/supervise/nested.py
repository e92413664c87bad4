"""`vez run` within `vez run`: what the outer ones hold, passed on in the environment."""

from __future__ import annotations

import os

import msgspec

from vez.engines.base import Kind
from vez.engines.seam import AsyncEngine
from vez.engines.urls import without_password
from vez.engines.wording import held_outside
from vez.errors import VezError

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


def _same(one: str, other: str) -> bool:
    """True if two URLs lead to the same turns. A directory may be written in several ways: through a symbolic link, or
    with `..`."""
    if one == other:
        return True
    if not (one.startswith("file:") and other.startswith("file:")):
        return False
    from vez.engines.file.place import place_of  # not on every system

    try:
        return os.path.samefile(place_of(one).path, place_of(other).path)
    except (OSError, VezError):
        return False  # a claim that leads nowhere


async def refuse_outer(engine: AsyncEngine, kind: Kind, name: str, limit: int) -> None:
    """Raise `AlreadyHeld` if an outer `vez run` holds the name: it waits for us, and we would wait for it. A claim
    counts only if the engine confirms it."""
    url = without_password(engine.url)
    claims = {held.token for held in outer() if (held.kind, held.name) == (kind, name) and _same(held.url, url)}
    if not claims:
        return
    seen = await engine.inspect(name, kind)
    holders = [who for who in seen.holders if who.token in claims and not who.lost]
    if len(holders) >= limit:
        raise held_outside(kind, name, holders[0])
