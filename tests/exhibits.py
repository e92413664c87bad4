"""The exhibits of the zoo, each made once: the checker is asked for the smallest run, which takes up to some seconds."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from vez.catalogue.zoo import ZOO
from vez.study.exhibit import Exhibit, exhibit

HARD = ("any-release", "cake-and-eat-it", "forgotten-vote", "half-way", "late-votes", "old-letter", "untold")
"""Specimens whose smallest run takes the checker seconds: `make test-long` looks for it."""


def exhibits() -> list[Any]:
    """The names of the specimens, for tests that need the exhibit of each."""
    return [pytest.param(name, marks=[pytest.mark.long] * (name in HARD)) for name in ZOO]


@cache
def shown_run(name: str) -> Exhibit:
    """The exhibit of that name."""
    return exhibit(ZOO[name])
