"""Recipes with one mistake each: the checker finds every one, by its shortest run."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from tests.models.recipes.checks import checked
from vez.models.recipes import WRONG_RECIPES, find_recipe
from vez.models.recipes.etcd_lock import EtcdLock


class Found(NamedTuple):
    """Where a mistake is found: in which world, by which property, after how many steps, in which words."""

    recipe: str
    world: dict[str, Any]
    property: str
    steps: int
    says: str


MISTAKES = (
    Found("by-name", {"expiries": 1}, "no_exceptions", 18, "theft: process 2 removed the key lock/30 of process 3"),
    Found("any-version", {"requests": 2, "doubts": 1}, "exclusion", 22, "processes 3 and 2 were inside together"),
    Found("taken-for-done", {"doubts": 1}, "no_exceptions", 9, "orphan: the key lock/20 is there although process 2"),
    Found("taken-for-not-done", {"withdrawals": 1}, "no_exceptions", 8, "orphan: the key lock/20 is there although"),
    Found("taken-for-granted", {"doubts": 1}, "no_exceptions", 13, "guess: process 2 enters with token 2, and its key"),
    Found("late-watch", {}, "starvation_freedom", 19, "process 3 waited in vain"),
    Found("no-recheck", {"expiries": 1}, "no_exceptions", 19, "guess: process 2 enters with token 2, and its key"),
    Found("no-fence", {"withdrawals": 1}, "no_exceptions", 10, "orphan: the key lock/20 is there although process 2"),
    Found(
        "outliving-renewer", {"keeps": True, "pooled": False}, "no_exceptions", 14,
        "outlived: process 2 renews a session that it has closed",
    ),
)  # fmt: skip


@pytest.mark.parametrize("found", MISTAKES, ids=lambda found: found.recipe)
def test_the_mistake_is_found(found: Found) -> None:
    safety = found.property in ("exclusion", "no_exceptions")
    report = checked(f"recipe:etcd-lock-{found.recipe}", properties=(found.property,), first=safety, **found.world)
    run = report.counterexamples[found.property]
    assert run.steps == found.steps
    assert run.verdict.evidence.startswith(found.says)


@pytest.mark.parametrize("found", MISTAKES, ids=lambda found: found.recipe)
def test_the_right_recipe_has_no_such_run(found: Found) -> None:
    report = checked(EtcdLock.name, properties=(found.property,), **found.world)
    assert not report.broken
    assert not report.stopped


def test_every_wrong_recipe_is_tried() -> None:
    assert {f"recipe:etcd-lock-{found.recipe}" for found in MISTAKES} == set(WRONG_RECIPES)
    assert all(find_recipe(name).wrong for name in WRONG_RECIPES)
