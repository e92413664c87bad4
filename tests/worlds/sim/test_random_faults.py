"""Random faults happen in the time in which the run is active, whether that is long, short or late."""

from __future__ import annotations

import pytest

from tests.runs import trace_of
from vez.catalogue.algorithms import ALGORITHMS, find
from vez.core import Assumption, Election, Io, Message, Mutex, Process, Property
from vez.core.trace import Crashed, Healed, Paused, Recovered, Resumed
from vez.errors import ProtocolBug
from vez.judge.properties import Status, judge
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Elect, Nemesis, Network, Workload

SPREAD = Network(delay="uniform(0.5, 1.5)")
RESTART = Nemesis(crashes=1, recoveries=1)


class Ask(Message):
    """I want in."""


class Yes(Message):
    """Come in."""


class Back(Message):
    """I am out."""


class Forgetful(Mutex):
    """The hub lets in one process at a time. After a restart it has forgotten which process is inside: that is the
    mistake."""

    name = "forgetful"
    assumes = (Assumption.RELIABLE,)
    guarantees = (Property.EXCLUSION, Property.DEADLOCK_FREEDOM)
    inside: int = 0
    queue: tuple[int, ...] = ()

    def on_want(self, io: Io) -> None:
        io.send(io.hub, Ask())

    def on_ask(self, message: Ask, sender: int, io: Io) -> None:
        self.queue = (*self.queue, sender)
        self._next(io)

    def on_yes(self, message: Yes, sender: int, io: Io) -> None:
        io.enter()

    def on_done(self, io: Io) -> None:
        io.send(io.hub, Back())

    def on_back(self, message: Back, sender: int, io: Io) -> None:
        self.inside = 0
        self._next(io)

    def _next(self, io: Io) -> None:
        if not self.inside and self.queue:
            self.inside, self.queue = self.queue[0], self.queue[1:]
            io.send(self.inside, Yes())


class SlowStart(Forgetful):
    """As `Forgetful`, but every process waits before it asks: nothing can go wrong in the first 200 ms."""

    name = "slow-start"

    def on_want(self, io: Io) -> None:
        io.set_timer("warm", 200.0)

    def on_timer_warm(self, io: Io) -> None:
        io.send(io.hub, Ask())


def broken_seeds(scenario: Scenario, algorithm: type[Mutex], name: str) -> list[int]:
    """The seeds of 400 runs in which a property is broken."""
    runs = ((seed, trace_of(simulate(scenario.but(seed=seed), algorithm))) for seed in range(400))
    return [seed for seed, trace in runs if judge(trace, [name])[0].status is Status.BROKEN]


def test_a_fault_that_must_come_late_is_found() -> None:
    """Earlier, faults were drawn within the first 40 ms, in which none of them has an effect here."""
    scenario = Scenario(algorithm="slow-start", n=3, network=SPREAD, nemesis=RESTART)
    early = scenario.but(nemesis=Nemesis(crashes=1, recoveries=1, within_ms=40))
    assert broken_seeds(early, SlowStart, "deadlock_freedom") == []
    assert len(broken_seeds(scenario, SlowStart, "deadlock_freedom")) > 40


def test_a_fault_in_a_short_run_is_found() -> None:
    """The run takes about 12 ms, and the restart must fall into a stay of 0.5 ms: 40 ms found it in none of 400 runs."""
    workload = Workload(requests=3, think_ms=0, inside_ms=0.5)
    scenario = Scenario(algorithm="forgetful", n=2, network=SPREAD, nemesis=RESTART, workload=workload)
    assert len(broken_seeds(scenario, Forgetful, "exclusion")) >= 5


def faults_of(scenario: Scenario, algorithm: type[Process]) -> list[float]:
    explicit = simulate(scenario, algorithm, explain=True).explicit
    assert explicit is not None
    return [fault.at_ms for part in ("crash", "pause", "partition") for fault in getattr(explicit, part)]


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_faults_begin_while_the_run_is_active(name: str) -> None:
    """Ten message times after the last stay or change of a leader is the end of it."""
    nemesis = Nemesis(crashes=2, pauses=1, partitions=1)
    for seed in range(10):
        calm = simulate(Scenario(algorithm=name, n=5, seed=seed, network=SPREAD), find(name))
        times = faults_of(Scenario(algorithm=name, n=5, seed=seed, network=SPREAD, nemesis=nemesis), find(name))
        assert all(0 < at <= calm.ended_at / 1000 + 11 for at in times)
        assert max(times) < 90


def test_a_given_time_wins() -> None:
    scenario = Scenario(algorithm="coordinator", n=5, nemesis=Nemesis(crashes=3, pauses=3, within_ms=2))
    times = [at for seed in range(30) for at in faults_of(scenario.but(seed=seed), find("coordinator"))]
    assert max(times) <= 2.001


def test_a_late_election_gets_its_faults_too() -> None:
    """The leader does not change in it, and the first election is long over."""
    scenario = Scenario(algorithm="bully", n=4, elect=(Elect(process=1), Elect(process=2, at_ms=500)))
    crash = scenario.but(nemesis=Nemesis(crashes=1))
    times = [at for seed in range(60) for at in faults_of(crash.but(seed=seed), find("bully"))]
    assert sum(at > 480 for at in times) > 10


class Spurious(Election):
    """Fails in every run, at 3 ms."""

    name = "spurious"

    def on_elect(self, io: Io) -> None:
        io.set_timer("wrong", 3.0)

    def on_timer_wrong(self, io: Io) -> None:
        io.elected(99)


def test_a_bug_without_faults_is_told_as_one() -> None:
    """The first run, which measures the active time, ends early; the requested run reports the reason."""
    with pytest.raises(ProtocolBug, match="99"):
        simulate(Scenario(algorithm="spurious", n=2, nemesis=Nemesis(pauses=1)), Spurious)


def test_short_faults_are_as_likely_as_long_ones() -> None:
    lengths = []
    for seed in range(200):
        scenario = Scenario(algorithm="coordinator", n=4, seed=seed, nemesis=Nemesis(pauses=1, within_ms=80))
        explicit = simulate(scenario, find("coordinator"), explain=True).explicit
        assert explicit is not None
        lengths.append(explicit.pause[0].for_ms)
    assert 70 < sum(length < 10 for length in lengths) < 130
    assert sum(length > 40 for length in lengths) > 20


def test_all_kinds_of_faults_happen_and_end() -> None:
    kinds = set()
    nemesis = Nemesis(crashes=1, recoveries=1, pauses=1, partitions=1)
    for seed in range(10):
        trace = trace_of(simulate(Scenario(algorithm="lamport", n=4, seed=seed, nemesis=nemesis), find("lamport")))
        kinds |= {type(event) for event in trace}
    assert {Crashed, Recovered, Paused, Resumed, Healed} <= kinds
