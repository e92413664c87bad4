"""Worlds: a kind of fault, and the question to the checker about it."""

from __future__ import annotations

import json
import shlex
from typing import Any

import msgspec

from vez.core.assumptions import Assumption
from vez.worlds.check import Budget


class Case(msgspec.Struct, frozen=True):
    """The question about an algorithm: its bounds, its parameters, and the reason for them."""

    note: str
    bounds: dict[str, int] = {}
    """Fields, and the largest value up to which they are explored."""
    capacity: int = 0
    """Largest number of messages on a channel that is explored; 0 for any number."""
    parameters: dict[str, Any] = {}

    @property
    def options(self) -> str:
        """The options of `vez check` for this case, as a shell takes them."""
        parts = [f"--set {shlex.quote(f'{name}={_written(value)}')}" for name, value in self.parameters.items()]
        parts += [f"--bound {field}={most}" for field, most in self.bounds.items()]
        return " ".join([*parts, f"--capacity {self.capacity}"] if self.capacity else parts)


class World(msgspec.Struct, frozen=True):
    """A kind of fault, and the options that select it."""

    name: str
    options: str
    """The options of `vez check`."""
    budget: Budget = Budget()
    amnesia: bool = False
    without: Assumption | None = None
    properties: tuple[str, ...] = ()
    """Properties that are judged only on request; empty for all others."""
    only: str = ""
    """The only algorithm of this world; empty if it is for all."""
    role: str = ""
    """The role of the algorithms of this world; empty if it is for all."""
    case: Case | None = None
    """The case to use instead of the algorithm's own."""
    n: int = 0
    """Number of processes; 0 for the usual number."""
    requests: int = 0
    """Number of requests of each process; 0 for the usual number."""
    drift: float = 0.0
    """Largest relative error of timers."""
    victims: tuple[int, ...] = ()
    """The processes that may crash; empty for all."""


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
