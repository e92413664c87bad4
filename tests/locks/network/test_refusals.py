"""Runs of recipes whose server refuses a call, before and during the clean-up."""

from __future__ import annotations

import pytest

from vez.errors import EngineUnavailable
from vez.locks.engines.network.recipe_run import Guard, Over, RecipeRun
from vez.locks.recipes import Answer, Call, Failed, Recipe, Refused, Wait, Withdrawn


def recipe() -> Recipe[None]:
    """Asks, waits, and cleans up with a call that may be refused."""
    try:
        if isinstance((yield Call("ask")), Refused):
            raise Failed("not now")
        yield Wait("x")
    except Withdrawn:
        if isinstance(reply := (yield Call("undo")), Refused):
            raise Failed(reply.why) from None
        raise


@pytest.fixture
def guard() -> Guard:
    return Guard()


@pytest.fixture
def run(guard: Guard) -> RecipeRun[None]:
    made = RecipeRun(recipe(), guard, lambda: 100.0)
    assert made.begin() == Call("ask")
    return made


def withdraw(run: RecipeRun[None]) -> None:
    assert run.answered(Answer(None)) == Wait("x")
    assert run.fail(Over("the time is over")) == Call("undo")


def test_a_clean_up_that_is_refused_is_not_clean(run: RecipeRun[None], guard: Guard) -> None:
    withdraw(run)
    assert run.answered(Refused("it is read-only")) is None
    with pytest.raises(Over):
        run.end()
    assert not guard.clean, "what was asked for is still there"
    assert "refuses it: it is read-only" in str(guard.refused)


def test_a_clean_up_that_is_denied_is_not_clean(run: RecipeRun[None], guard: Guard) -> None:
    withdraw(run)
    denied = EngineUnavailable("permission denied")
    with pytest.raises(Over):
        run.fail(denied)
    assert not guard.clean
    assert guard.refused is denied


def test_a_clean_up_that_succeeds_is_clean(run: RecipeRun[None], guard: Guard) -> None:
    withdraw(run)
    assert run.answered(Answer(None)) is None
    with pytest.raises(Over):
        run.end()
    assert guard.clean
    assert guard.refused is None


def test_a_refusal_before_the_clean_up_is_not_clean(run: RecipeRun[None], guard: Guard) -> None:
    """The recipe has ended, and cannot undo what it did before."""
    with pytest.raises(EngineUnavailable, match="refuses it: not now") as caught:
        run.answered(Refused())
    with pytest.raises(EngineUnavailable):
        run.fail(caught.value)  # as the pumps do
    assert not guard.clean
    assert guard.refused is None
