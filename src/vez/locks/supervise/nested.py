"""`vez run` within `vez run`: the holdings of the outer ones, passed on in the environment."""

from __future__ import annotations

import os
from typing import NamedTuple, get_args

from vez.errors import VezError
from vez.locks.engines.base import Kind
from vez.locks.engines.seam import Engine
from vez.locks.engines.urls import without_password
from vez.locks.engines.wording import held_outside

HELD = "VEZ_HELD"
"""The environment variable for the command of `vez run`: the holdings of this and of outer `vez run`, as JSON."""
_LONGEST = 1 << 16


class Outer(NamedTuple):
    """A holding that an outer `vez run` claims to have."""

    url: str
    """URL without passwords, because the command and all processes that it starts can read it."""
    kind: Kind
    name: str
    token: int | None


def outer() -> list[Outer]:
    """The claims in the environment. Every program can write them, so they must be checked. Unreadable ones are
    ignored."""
    if not (raw := os.environ.get(HELD, "")):
        return []
    import json

    try:
        found = [Outer(*(one[field] for field in Outer._fields)) for one in json.loads(raw[:_LONGEST])]
    except (ValueError, TypeError, KeyError, RecursionError):
        return []
    return found if all(map(_is_sound, found)) else []


def _is_sound(one: Outer) -> bool:
    return (
        isinstance(one.url, str)
        and one.kind in get_args(Kind)
        and isinstance(one.name, str)
        and (one.token is None or type(one.token) is int)
    )


def with_mine(url: str, kind: Kind, name: str, token: int | None) -> str:
    """The claims of the outer ones and our own, for the environment of a command."""
    import json

    claims = [*outer(), Outer(without_password(url), kind, name, token)]
    return json.dumps([one._asdict() for one in claims], separators=(",", ":"), ensure_ascii=False)


def _same(one: str, other: str) -> bool:
    """True if two URLs name the same engine. A directory may be written in several ways: through a symbolic link, or
    with `..`."""
    if one == other:
        return True
    if not (one.startswith("file:") and other.startswith("file:")):
        return False
    from vez.locks.engines.file.place import place_of  # not on every system

    try:
        return os.path.samefile(place_of(one).where, place_of(other).where)
    except (OSError, VezError):
        return False  # a claim with an invalid URL


def refuse_outer(engine: Engine, kind: Kind, name: str, limit: int) -> None:
    """Raise `AlreadyHeld` if an outer `vez run` holds the name: it waits for us, and we would wait for it. A claim
    counts only if the engine confirms it."""
    url = without_password(engine.url)
    claims = {held.token for held in outer() if (held.kind, held.name) == (kind, name) and _same(held.url, url)}
    if not claims:
        return
    seen = engine.inspect(name, kind)
    holders = [who for who in seen.holders if who.token in claims and not who.lost]
    if len(holders) >= limit:
        raise held_outside(kind, name, holders[0])
