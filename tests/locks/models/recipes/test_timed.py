"""The lock with time modelled: a holder is told of the loss before another client is granted."""

from __future__ import annotations

from typing import Any

import pytest

from vez.locks.models.recipes import find_recipe
from vez.worlds.check import Budget, Configuration, Limits, Report, check
from vez.worlds.sim.scenario import Elect, Network, Scenario

TIMED = "recipe:etcd-lock-timed"


def checked(
    *,
    losses: int = 0,
    pauses: int = 0,
    first: bool = False,
    fifo: bool = False,
    most: int = 3_000_000,
    **parameters: Any,
) -> Report:
    scenario = Scenario(
        algorithm=TIMED,
        n=3,
        parameters=parameters,
        elect=(Elect(process=2), Elect(process=3)),
        network=Network(fifo=fifo),
    )
    budget = Budget(losses=losses, pauses=pauses)
    asked = Configuration(scenario, find_recipe(TIMED), budget=budget)
    return check(asked, ("uniqueness", "no_exceptions"), limits=Limits(most, 8192), first=first, no_return=False)


@pytest.mark.parametrize(
    ("options", "states"),
    [
        ({}, 79_901),
        pytest.param({"lease_seconds": 4}, 204_755, marks=pytest.mark.long),
        pytest.param({"losses": 1}, 1_256_029, marks=pytest.mark.long),
    ],
    ids=["", "a short lease", "a loss"],
)
def test_two_never_lead_at_once(options: dict[str, Any], states: int) -> None:
    report = checked(**options)
    assert not report.stopped
    assert not report.broken
    assert report.states == states


def test_without_a_margin_the_loss_is_told_too_late() -> None:
    """The client's deadline and the server's are then the same moment, and either may come first."""
    report = checked(margin=0, first=True)
    assert report.counterexamples["uniqueness"].steps == 15


@pytest.mark.long
def test_two_that_renew_never_lead_at_once() -> None:
    """With messages in order on each client's connection; without that there are more than 60,000,000 states."""
    report = checked(keeps=True, lease_seconds=4, fifo=True, most=20_000_000)
    assert not report.stopped
    assert not report.broken
    assert report.states == 14_253_192


def test_without_a_margin_renewals_do_not_help() -> None:
    report = checked(keeps=True, lease_seconds=4, fifo=True, margin=0, first=True)
    assert report.counterexamples["uniqueness"].steps == 21


@pytest.mark.long
def test_a_holder_that_is_paused_hears_too_late() -> None:
    """No client can prevent this. Tokens exist for this case."""
    report = checked(pauses=1, first=True)
    assert report.counterexamples["uniqueness"].steps == 16
