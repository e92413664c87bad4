"""How clients, locks and grants describe themselves: `repr`, the same for threads and tasks."""

from __future__ import annotations

from vez.engines.base import Engine, Request
from vez.engines.urls import without_password


def describe_client(kind: str, engine: Engine) -> str:
    """`<vez.Client memory:, open>`"""
    return f"<{kind} {without_password(engine.url)}, {'closed' if engine.closed else 'open'}>"


def describe_lock(kind: str, engine: Engine, request: Request, held: str) -> str:
    """`<vez.Lock lock 'nightly', exclusive, at memory:, not held>`"""
    if request.kind == "semaphore":
        more = f"limit {request.limit}"
    elif request.kind == "election":
        more = f"weight {request.weight}"
    else:
        more = "shared" if request.shared else "exclusive"
    return f"<{kind} {request.kind} {request.name!r}, {more}, at {without_password(engine.url)}, {held}>"


def describe_holders(mine: int | None, anybody: bool, owner: str) -> str:
    """Who holds a lock through one object: this owner (a thread or a task) with a token, another, or nobody."""
    if mine is not None:
        return f"held by this {owner}, token {mine}"
    return f"held by another {owner}" if anybody else "not held"


def describe_grant(kind: str, name: str, number: str, *, released: bool, lost: bool) -> str:
    """`<vez.Grant 'nightly', token 5, held>`"""
    return f"<{kind} {name!r}, {number}, {'released' if released else 'lost' if lost else 'held'}>"
