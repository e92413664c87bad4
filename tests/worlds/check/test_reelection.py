"""Elections that are asked for again are explored, as the simulator runs them."""

from __future__ import annotations

import pytest

from vez.core import Election, Io, Property
from vez.judge.properties import Status, judge
from vez.worlds.check import Configuration, check
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Elect


class OnlyOnce(Election):
    """Names the hub the first time it is asked, and itself from then on."""

    name = "only-once"
    guarantees = (Property.UNIQUENESS,)
    asked: bool = False

    def on_elect(self, io: Io) -> None:
        io.elected(io.me if self.asked else io.hub)
        self.asked = True


TWICE = (Elect(process=2), Elect(process=2, at_ms=5), Elect(process=1))


def test_one_election_each_is_right() -> None:
    assert not check(Configuration(Scenario(algorithm="only-once", n=2), OnlyOnce), ("uniqueness",)).broken


@pytest.mark.parametrize(
    ("elect", "requests", "said"),
    [(TWICE, 1, "1 election of 1, 2 elections of 2"), ((), 2, "2 elections each")],
    ids=["--elect 2 --elect 2", "--requests 2"],
)
def test_a_second_election_is_explored(elect: tuple[Elect, ...], requests: int, said: str) -> None:
    configuration = Configuration(Scenario(algorithm="only-once", n=2, elect=elect), OnlyOnce, requests=requests)
    report = check(configuration, ("uniqueness",))
    assert "uniqueness" in report.broken
    assert said in report.configuration


def test_the_simulator_agrees() -> None:
    run = simulate(Scenario(algorithm="only-once", n=2, elect=TWICE), OnlyOnce)
    assert run.trace is not None
    assert judge(run.trace, only=[Property.UNIQUENESS])[0].status is Status.BROKEN


def test_elections_without_end_are_finite() -> None:
    report = check(Configuration(Scenario(algorithm="only-once", n=2), OnlyOnce, requests=-1), ("uniqueness",))
    assert "uniqueness" in report.broken
    assert "elections without end" in report.configuration
