"""Worlds: a kind of fault, and how an algorithm is asked about it."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from vez.check import Budget
from vez.core.assumptions import Assumption


class Case(msgspec.Struct, frozen=True):
    """How an algorithm is asked: within which bounds, with which parameters, and why so."""

    note: str
    bounds: dict[str, int] = {}
    """Fields, and the largest value up to which they are followed."""
    capacity: int = 0
    """The most messages on a channel that are followed; 0: any number."""
    parameters: dict[str, Any] = {}

    @property
    def options(self) -> str:
        """As on the command line of `vez check`."""
        parts = [f"--set {name}={_written(value)}" for name, value in self.parameters.items()]
        parts += [f"--bound {field}={most}" for field, most in self.bounds.items()]
        return " ".join([*parts, f"--capacity {self.capacity}"] if self.capacity else parts)


class World(msgspec.Struct, frozen=True):
    """A kind of fault, and how to ask for it."""

    name: str
    options: str
    """As on the command line of `vez check`."""
    budget: Budget = Budget()
    amnesia: bool = False
    without: Assumption | None = None
    properties: tuple[str, ...] = ()
    """Those that are judged only when they are asked for; empty: all others."""
    only: str = ""
    """The one algorithm that the world is for; empty where it is for all."""
    role: str = ""
    """The role of the algorithms that the world is for; empty where it is for all."""
    case: Case | None = None
    """Instead of the algorithm's own."""
    n: int = 0
    """How many processes; 0: as many as elsewhere."""
    drift: float = 0.0
    """How far timers may be off, as a part of what they take."""
    victims: tuple[int, ...] = ()
    """Who may crash; empty: everybody."""


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
