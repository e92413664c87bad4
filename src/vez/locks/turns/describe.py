"""The `repr` of clients, locks and grants, for threads and for tasks."""

from __future__ import annotations

from typing import Any, Protocol

from vez.locks.engines.base import Request
from vez.locks.engines.seam import AsyncEngine, Engine, Held
from vez.locks.engines.urls import without_password


class Reached(Protocol):
    """An object with a URL: an engine, or a replacement of one."""

    @property
    def url(self) -> str:
        """The URL of the engine."""


class Numbered(Protocol):
    """A grant, which has a token or None."""

    token: Any


def describe_client(kind: str, engine: Engine | AsyncEngine) -> str:
    """`<vez.Client memory:, open>`"""
    return f"<{kind} {without_password(engine.url)}, {'closed' if engine.closed else 'open'}>"


def describe_lock(kind: str, engine: Reached, request: Request, held: str) -> str:
    """`<vez.Lock lock 'nightly', exclusive, at memory:, not held>`"""
    if request.kind == "semaphore":
        more = f"limit {request.limit}"
    elif request.kind == "election":
        more = f"weight {request.weight}"
    else:
        more = "shared" if request.shared else "exclusive"
    return f"<{kind} {request.kind} {request.name!r}, {more}, at {without_password(engine.url)}, {held}>"


def describe_holders(mine: Numbered | None, anybody: bool, owner: str) -> str:
    """The holder of a lock through one object: this owner (a thread or a task) with its grant, another, or nobody."""
    if mine is not None:
        return f"held by this {owner}" + ("" if mine.token is None else f", token {mine.token}")
    return f"held by another {owner}" if anybody else "not held"


def describe_grant(kind: str, name: str, number: str, holding: Held) -> str:
    """`<vez.Grant 'nightly', token 5, held>`"""
    state = "lost" if holding.loss() is not None else "held" if holding.why_lost() is None else "released"
    return f"<{kind} {name!r}, {number}, {state}>"
