"""Recipes with one mistake each: the checker finds every one, by its shortest run."""

from __future__ import annotations

import json
import shlex
from typing import Any, NamedTuple

import pytest

from tests.locks.models.recipes.checks import checked
from vez.cli.app import run
from vez.locks.models.recipes import WRONG_RECIPES, find_recipe
from vez.locks.models.recipes.etcd_lock import EtcdLock


class Found(NamedTuple):
    """The world in which a mistake is found, the property, the number of steps, and the text."""

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
    Found("late-watch", {}, "no_exceptions", 17, "unwoken: process 2 waits for lock/30"),
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


@pytest.mark.parametrize(
    "found",
    [pytest.param(found, marks=[pytest.mark.long] * (found.recipe == "any-version")) for found in MISTAKES],
    ids=lambda found: found.recipe,
)
def test_the_right_recipe_has_no_such_run(found: Found) -> None:
    report = checked(EtcdLock.name, properties=(found.property,), **found.world)
    assert not report.broken
    assert not report.stopped


def listed(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert run(["check", "recipe:", "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.long
@pytest.mark.parametrize("name", WRONG_RECIPES)
def test_the_command_that_the_list_shows_finds_it(capsys: pytest.CaptureFixture[str], name: str) -> None:
    words = shlex.split(listed(capsys)[name]["check"])
    assert words[:3] == ["vez", "check", name]
    assert run([*words[1:], "--json"]) == 1
    shown = json.loads(capsys.readouterr().out)
    assert run(["check", name, "--json"]) == 1, "without options it is checked with those that find it"
    found = capsys.readouterr()
    assert json.loads(found.out)["counterexamples"].keys() == shown["counterexamples"].keys()
    assert json.loads(found.out)["configuration"] == shown["configuration"]
    assert found.err == (f"vez: {name} is wrong on purpose; checked with {' '.join(words[3:])}\n" if words[3:] else "")


def test_the_list_shows_what_finds_a_mistake(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")  # nothing folds
    assert run(["check", "recipe:"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert all(kind.found_with in shown for kind in WRONG_RECIPES.values())


def test_a_wrong_recipe_with_other_options_is_checked_with_those(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "recipe:etcd-lock-no-fence", "--set", "expiries=0", "--json"]) == 0
    found = capsys.readouterr()
    assert found.err == ""
    assert not json.loads(found.out)["counterexamples"]


def test_every_wrong_recipe_is_tried() -> None:
    assert {f"recipe:etcd-lock-{found.recipe}" for found in MISTAKES} == set(WRONG_RECIPES)
    assert all(find_recipe(name).wrong for name in WRONG_RECIPES)
