"""Helpers of tests that run recipes in the checker."""

from __future__ import annotations

from typing import Any

import pytest

from vez.core.process import Process
from vez.locks.models.recipes import find_recipe
from vez.worlds.check import Budget, Configuration, Limits, Report, check
from vez.worlds.sim.scenario import Scenario

Faults = dict[str, int]


def configuration(recipe: type[Process], n: int = 3, *, requests: int = 1, **options: Any) -> Configuration:
    """A server and n - 1 clients. Options are budgets of the checker or parameters of the recipe; no server crashes."""
    budgets = {name: options.pop(name) for name in Budget.__struct_fields__ if name in options}
    victims = tuple(range(2, n + 1)) if "crashes" in budgets else ()
    scenario = Scenario(algorithm=recipe.name, n=n, parameters=options)
    return Configuration(scenario, recipe, requests=requests, budget=Budget(**budgets), victims=victims)


def checked(name: str, n: int = 3, *, properties: tuple[str, ...] = (), first: bool = False, **options: Any) -> Report:
    asked = configuration(find_recipe(name), n, **options)
    return check(asked, properties, limits=Limits(4_000_000), first=first, no_return=False)


LONG = 5_000
"""Worlds with more states than this take a second or more each: they are for `make test-long`."""


def marks(states: int) -> tuple[pytest.MarkDecorator, ...]:
    """The marks of a world with this number of states."""
    return (pytest.mark.long,) if states > LONG else ()
