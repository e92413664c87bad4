"""Owners that are tasks."""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary

from vez.errors import Misuse
from vez.locks.engines.owners import Owner

_owners: WeakKeyDictionary[asyncio.Task[object], Owner] = WeakKeyDictionary()


def calling_owner() -> Owner | None:
    """The owner of the running task; None outside of a task. It is determined when a method is called, not when its
    coroutine runs: `asyncio.wait_for` of Python 3.11, `gather` and `create_task` run the coroutine in another task. A
    context variable would make child tasks share an owner."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no event loop runs in this thread
        return None
    if task is None:
        return None
    owner = _owners.get(task)
    if owner is None:
        owner = _owners[task] = Owner(task)
    return owner


def owner_of(caller: Owner | None = None) -> Owner:
    """The owner that called, else the owner of the running task."""
    owner = caller or calling_owner()
    if owner is None:
        raise Misuse("vez.aio must be used within a task", hint="run it with asyncio.run")
    return owner
