"""Terms: what a lock can do beside granting: reentrant grants, a shortest stay, callbacks, logging.

A lock with terms asks an engine of its own, which wraps the real one and its holdings (`watched.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple

from vez.engines.base import Token
from vez.errors import Misuse
from vez.turns.decorate import is_coroutine_function

log = logging.getLogger("vez.turns")

Told = Callable[[str, Token], object]
"""A callback: called with the name and the token, which is None if the engine gives none."""


class Terms(NamedTuple):
    """What was asked for. `verbose` if the `vez.turns` logger wants every grant, when the lock was made."""

    reentrant: bool = False
    at_least: float = 0.0
    on_acquired: Told | None = None
    on_lost: Told | None = None
    on_released: Told | None = None
    verbose: bool = False


NO_TERMS = Terms()


def check_terms(terms: Terms) -> Terms:
    """The terms, if they can be kept; else `Misuse`."""
    if not isinstance(terms.at_least, int | float) or not 0 <= terms.at_least <= 86400:
        raise Misuse(f"at_least is a number of seconds from 0 to 86400, found {terms.at_least!r}")
    for name in ("on_acquired", "on_lost", "on_released"):
        if (given := getattr(terms, name)) is not None and (not callable(given) or is_coroutine_function(given)):
            raise Misuse(f"{name} is a function, called with the name and the token, found {given!r}",
                         hint="a task can be started in it: asyncio.create_task")  # fmt: skip
    return terms
