"""Recipes with one mistake each, of locks, elections, breaks, observers and transfers: the checker finds every one."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from tests.locks.models.recipes.adversaries import WRONG
from tests.locks.models.recipes.checks import configuration
from vez.worlds.check import Limits, check


class Found(NamedTuple):
    """The world in which a mistake is found, the number of steps, and the text of the verdict."""

    world: dict[str, Any]
    steps: int
    says: str
    property: str = "no_exceptions"


FOUND: dict[str, Found] = {
    "the revision of the reply is the token": Found({"doubts": 1}, 15, "orphan"),
    "a watch that ended is an event": Found({}, 13, "guess"),
    "a release removes the whole queue": Found({}, 15, "theft"),
    "everybody waits for the first": Found({"n": 4}, 20, "guess"),
    "a request without a reply is made under another key": Found({"doubts": 1}, 12, "unwoken"),
    "a waiter that gives up undoes nothing": Found({"withdrawals": 1}, 8, "orphan"),
    "the order is that of mod revisions": Found({}, 19, "guess"),
    "a leader notes it without comparing": Found({"breaks": True, "doubts": 1}, 21, "guess"),
    "a leader resigns by its label": Found({}, 23, "orphan"),
    "a break removes any version": Found({"requests": 2}, 18, "theft"),
    "a break is not recorded": Found({}, 10, "theft"),
    "a break without a reply is done": Found({"doubts": 1}, 12, "unbroken"),
    "a break removes the waiters too": Found({"n": 4}, 24, "theft"),
    "a broken holder does not say that its key is gone": Found({}, 21, "untold"),
    "a broken leader is not told": Found({"keeps": True, "breaks": True}, 16, "untold"),
    "a renewal of a lease that is gone is a proof": Found({"keeps": True, "expiries": 1}, 8, "unproved"),
    "an observer watches from now on": Found({}, 18, "process 3 names nobody", "agreement"),
    "an observer watches the leader alone": Found({}, 18, "process 3 names nobody", "agreement"),
    "an observer believes events": Found({"n": 4}, 24, "backwards"),
    "a transfer without a reply is done": Found({"doubts": 1}, 21, "orphan"),
    "a transfer without a reply is not done": Found({"doubts": 1}, 23, "mistold"),
    "a transfer fences nothing": Found({"doubts": 1}, 25, "orphan"),
    "a transfer has two steps": Found({}, 25, "mistold"),
}


@pytest.mark.long
@pytest.mark.parametrize("mistake", WRONG)
def test_the_mistake_is_found(mistake: str) -> None:
    found = FOUND[mistake]
    asked = configuration(WRONG[mistake], **{"n": 3, **found.world})
    first = found.property == "no_exceptions"
    report = check(asked, (found.property,), limits=Limits(1_000_000), first=first, no_return=False)
    run = report.counterexamples[found.property]
    assert run.steps == found.steps
    assert found.says in run.verdict.evidence
