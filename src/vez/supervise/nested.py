"""What the `vez run` commands around this process hold, as the environment tells: `vez run` within `vez run`."""

from __future__ import annotations

import os
import stat

import msgspec

from vez.engines.base import Engine, Kind
from vez.errors import AlreadyHeld

HELD = "VEZ_HELD"
"""What `vez run` leaves in the environment of its command: all that it and those around it hold, as JSON."""
_LONGEST = 1 << 16


class Outer(msgspec.Struct, frozen=True):
    """What a `vez run` around us says that it holds."""

    url: str
    kind: Kind
    name: str
    token: int
    lifeline: int | None = None
    """The descriptor on which it depends; what is started within must have it too."""


def outer() -> list[Outer]:
    """What the environment says. It is a claim of anybody's, to be checked; what cannot be read is no claim."""
    raw = os.environ.get(HELD, "")
    try:
        return msgspec.json.decode(raw[:_LONGEST], type=list[Outer])
    except msgspec.MsgspecError:
        return []


def with_mine(mine: Outer) -> str:
    """The same with one more, for the environment of a command."""
    return msgspec.json.encode([*outer(), mine]).decode()


def lifelines() -> tuple[int, ...]:
    """The descriptors of those around us that are still open here, and are what they are said to be: regular files."""
    return tuple(held.lifeline for held in outer() if held.lifeline is not None and _is_file(held.lifeline))


def _is_file(descriptor: int) -> bool:
    try:
        return descriptor > 2 and stat.S_ISREG(os.fstat(descriptor).st_mode)
    except (OSError, OverflowError):
        return False


def refuse_outer(engine: Engine, kind: Kind, name: str, limit: int) -> None:
    """Raise if a `vez run` around us holds it: it waits for us, and we would wait for it. A claim counts only while
    the engine says the same."""
    claims = {held.token for held in outer() if (held.url, held.kind, held.name) == (engine.url, kind, name)}
    if not claims:
        return
    holders = [who for who in engine.inspect(name, kind).holders if who.token in claims and not who.lost]
    if len(holders) >= limit:
        raise AlreadyHeld(
            f"{kind} {name!r} is held by the `vez run` (process {holders[0].pid}) within which this one was started",
            hint="they would wait for each other; leave one of them out, or use another name",
        )
