"""Terms: optional behaviour of a lock: reentrant grants, a shortest stay, callbacks, logging.

A lock with terms uses its own engine, which wraps the real one and its holdings (`thread_watched.py`).
"""

# Annotations are not text here: NamedTuple and TypedDict would compile each of them when the module is imported.
from collections.abc import Callable
from sys import modules
from typing import TYPE_CHECKING, NamedTuple

from vez.errors import Misuse
from vez.locks.engines.base import Token
from vez.locks.turns.decorate import is_coroutine_function

if TYPE_CHECKING:
    from logging import Logger

_DEBUG = 10  # logging.DEBUG
_log: "Logger | None" = None

Told = Callable[[str, Token], object]
"""A callback: called with the name and the token, which is None if the engine gives none."""


class Terms(NamedTuple):
    """The requested terms. `verbose` is True if the logger `vez.turns` logged every grant when the lock was made."""

    reentrant: bool = False
    at_least: float = 0.0
    on_acquired: Told | None = None
    on_lost: Told | None = None
    on_released: Told | None = None
    verbose: bool = False


NO_TERMS = Terms()


def log() -> "Logger":
    """The logger, under a name that users configure, so it is not that of the module. The module `logging` is imported
    at the first message."""
    global _log
    if _log is None:
        from logging import getLogger

        _log = getLogger("vez.turns")
    return _log


def is_verbose() -> bool:
    """True if the logger wants every grant. A program that has not imported `logging` cannot have asked for it."""
    return "logging" in modules and log().isEnabledFor(_DEBUG)


def check_terms(terms: Terms) -> Terms:
    """The terms. Raises `Misuse` if they cannot be kept."""
    if not isinstance(terms.at_least, int | float) or not 0 <= terms.at_least <= 86400:
        raise Misuse(f"at_least is a number of seconds from 0 to 86400, found {terms.at_least!r}")
    for name in ("on_acquired", "on_lost", "on_released"):
        if (given := getattr(terms, name)) is not None and (not callable(given) or is_coroutine_function(given)):
            raise Misuse(f"{name} is a function, called with the name and the token, found {given!r}",
                         hint="a task can be started in it: asyncio.create_task")  # fmt: skip
    return terms
