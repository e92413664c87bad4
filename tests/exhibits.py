"""The exhibits of the zoo, each made once: the checker is asked for the smallest run, which takes up to some seconds."""

from __future__ import annotations

from functools import cache

from vez.study.exhibit import Exhibit, exhibit
from vez.zoo import ZOO


@cache
def shown_run(name: str) -> Exhibit:
    """The exhibit of that name."""
    return exhibit(ZOO[name])
