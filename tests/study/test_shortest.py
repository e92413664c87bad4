"""A shrunk run fails in the same way, is not larger, explains itself, and is minimal where the checker says so."""

from __future__ import annotations

from itertools import combinations_with_replacement, product
from random import Random

import pytest

from tests.runs import trace_of
from tests.worlds.crosscheck.protocols import RandomElection, RandomMutex, RingMutex, Scrawl
from vez.catalogue.algorithms import find
from vez.core import Io, Message, Mutex
from vez.core.trace import Crashed, Entered, Event, Lost, Sent, Trace, Wanted
from vez.judge.properties import Status, judge
from vez.judge.properties.assumptions import broken_assumptions
from vez.study.explain import Unexplained, idle_crashes, unexplained
from vez.study.minimal import smallest
from vez.study.shortest import shortest
from vez.study.shrink import Shrinker, shrink, violation
from vez.worlds.check import Budget, Configuration, check
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Crash, Detector, Drift, Elect, Expect, Nemesis, Network, Pause, Want, Workload

SPREAD = Network(delay="uniform(0.5, 1.5)")
DECIDED = (
    "exclusion", "deadlock_freedom", "starvation_freedom", "uniqueness", "termination", "agreement", "validity",
)  # fmt: skip
FAULTS = ("crashes", "recoveries", "losses", "duplicates")


def drawn(seed: int) -> tuple[Scenario, type[Scrawl]]:
    """A random protocol in a random world."""
    kind = (RandomMutex, RandomElection, RingMutex)[seed % 3]
    chance = Random(f"shrink/{seed}")
    crashes = chance.randint(0, 1)
    scenario = Scenario(
        algorithm=kind.name,
        n=chance.randint(2, 4),
        seed=seed,
        parameters={"seed": seed},
        until_ms=200,
        max_events=3_000,
        network=Network(delay="exponential(1)", loss=chance.choice((0, 0, 0.2)), duplicate=chance.choice((0, 0, 0.2))),
        workload=Workload(requests=chance.randint(1, 2), think_ms="uniform(0, 5)") if kind.role == "mutex" else None,
        nemesis=Nemesis(crashes=crashes, recoveries=chance.randint(0, crashes)),
    )
    return scenario, kind


def failing(count: int) -> list[tuple[int, str]]:
    """Seeds of random protocols, each with a property that its run breaks."""
    found = []
    for seed in range(count):
        scenario, kind = drawn(seed)
        broken = [
            verdict.name for verdict in judge(trace_of(simulate(scenario, kind))) if verdict.status is Status.BROKEN
        ]
        found += [(seed, name) for name in broken if name in DECIDED][:1]
    return found


def faults_of(scenario: Scenario) -> dict[str, int]:
    return {
        "crashes": len(scenario.crash),
        "recoveries": sum(crash.recover_ms is not None for crash in scenario.crash),
        "losses": sum(fate.lost for fate in scenario.message),
        "duplicates": sum(len(fate.copies) for fate in scenario.message),
    }


def requests_of(scenario: Scenario) -> int:
    return len(scenario.want) + len(scenario.elect)


@pytest.mark.long
@pytest.mark.parametrize(("seed", "broken"), failing(24))
def test_a_random_run_shrinks_to_one_that_fails_in_the_same_way(seed: int, broken: str) -> None:
    scenario, kind = drawn(seed)
    written = simulate(scenario, kind, explain=True)
    assert written.explicit is not None
    before = trace_of(written)
    for short in (shrink(scenario, kind, broken), shortest(scenario, kind, broken).scenario):
        found = violation(short, kind, broken)
        assert found is not None
        assert short.expect == Expect(broken=(broken,))
        assert len(short.ids) <= len(before.header.ids)
        assert requests_of(short) <= requests_of(written.explicit)
        assert all(faults_of(short)[name] <= faults_of(written.explicit)[name] for name in FAULTS)
    assert shortest(scenario, kind, broken) == shortest(scenario, kind, broken)


@pytest.mark.long
@pytest.mark.parametrize(("seed", "broken"), failing(18))
def test_what_is_called_minimal_is_minimal(seed: int, broken: str) -> None:
    """Every smaller configuration is asked about, one by one, with all the checker's defaults."""
    scenario, kind = drawn(seed)
    found = shortest(scenario, kind, broken)
    assert found.minimal, found.words
    assert found.words.startswith("minimal: ")
    short = found.scenario
    faults = faults_of(short)
    asked_for = ("want", Want) if kind.role == "mutex" else ("elect", Elect)
    everything = (len(short.ids), requests_of(short), tuple(faults.values()))
    for n in range(kind.smallest(), len(short.ids) + 1):
        for count in range(1, requests_of(short) + 1):
            for budget in product(*(range(most + 1) for most in faults.values())):
                for who in combinations_with_replacement(range(1, n + 1), count):
                    if (n, count, budget) == everything or budget[1] > budget[0]:
                        continue
                    asked = {asked_for[0]: tuple(asked_for[1](process=process) for process in who)}
                    base = Scenario(algorithm=kind.name, n=n, parameters={"seed": seed}).but(**asked)
                    limits = Budget(**dict(zip(faults, budget, strict=True)))
                    report = check(Configuration(base, kind, budget=limits), (broken,), pictures=False)
                    assert report.verdicts[0].status is Status.HOLDS, report.configuration


def test_four_processes_with_five_requests_become_two_with_one_each() -> None:
    """Removing parts of this run, one after the other, ends at a run that is far from the smallest."""
    scenario, kind = drawn(239)
    scenario = scenario.but(n=4, nemesis=Nemesis(), network=Network(delay="exponential(1)"))
    scenario = scenario.but(workload=Workload(requests=3, think_ms="uniform(0, 5)"))
    stuck = shrink(scenario, kind, "exclusion")
    assert (len(stuck.ids), len(stuck.want)) == (4, 5)
    found = shortest(scenario, kind, "exclusion")
    assert found.minimal
    assert (len(found.scenario.ids), len(found.scenario.want)) == (2, 2)


def events(trace: Trace, kind: type[Event]) -> list[Event]:
    return [event for event in trace if isinstance(event, kind)]


@pytest.mark.parametrize("broken", ["deadlock_freedom", "starvation_freedom"])
@pytest.mark.parametrize("seed", [0, 2, 3])
def test_the_run_of_the_readme_shows_a_token_being_lost(seed: int, broken: str) -> None:
    scenario = Scenario(algorithm="token-ring", seed=seed, network=SPREAD, nemesis=Nemesis(crashes=1))
    found = shortest(scenario, find("token-ring"), broken)
    assert found.minimal
    assert (len(found.scenario.ids), len(found.scenario.want), len(found.scenario.crash)) == (2, 1, 1)
    trace = trace_of(simulate(found.scenario, find("token-ring")))
    crash = next(event for event in trace if isinstance(event, Crashed))
    assert crash.at > 0
    assert any(isinstance(event, Sent) and event.to == crash.process for event in trace)
    assert any(isinstance(event, Lost) and event.reason == "crash" for event in trace)
    wanted = next(event for event in trace if isinstance(event, Wanted))
    assert wanted.at < trace.header.ended_at
    assert all(event.at % 1000 == 0 for event in trace), "round times"


def test_a_crash_explains_if_its_process_takes_part_or_misses_something() -> None:
    def idle(at_ms: float, process: int = 2, at_want: float = 0.0) -> int:
        scenario = Scenario(
            algorithm="token-ring",
            n=2,
            want=(Want(process=1, at_ms=at_want),),
            crash=(Crash(process=process, at_ms=at_ms),),
        )
        return len(idle_crashes(trace_of(simulate(scenario, find("token-ring")))))

    assert idle(0) == 1, "it was never there"
    assert idle(0, process=1) == 1
    assert idle(0.5) == 0, "it misses the token"
    assert idle(0.5, process=1, at_want=3) == 0, "it has sent the token, and misses it when it comes back"


def test_a_crash_without_an_effect_is_moved_to_where_it_has_one() -> None:
    """Process 1 dies before it starts: no token, no message, an empty picture."""
    scenario = Scenario(
        algorithm="token-ring",
        n=3,
        want=(Want(process=2, at_ms=4),),
        crash=(Crash(process=1),),
        network=Network(delay=1),
    )
    found = violation(scenario, find("token-ring"), "deadlock_freedom")
    assert found is not None
    assert unexplained(*found) == Unexplained(faults=1, instant=1)
    short = shrink(scenario, find("token-ring"), "deadlock_freedom")
    again = violation(short, find("token-ring"), "deadlock_freedom")
    assert again is not None
    assert unexplained(*again) == Unexplained()
    assert events(again[0], Lost)


def test_no_assumption_is_broken_that_was_kept() -> None:
    scenario = Scenario(
        algorithm="bully", n=4, nemesis=Nemesis(partitions=2), seed=2, network=Network(delay="lognormal(1, 1)")
    )
    kept = set(find("bully").assumes) - set(broken_assumptions(trace_of(simulate(scenario, find("bully")))))
    assert kept
    short = shrink(scenario, find("bully"), "uniqueness")
    assert not kept & set(broken_assumptions(trace_of(simulate(short, find("bully")))))


def test_a_true_suspicion_does_not_become_a_wrong_one() -> None:
    """The reports of this detector are written out; the crash that they tell of must stay with them."""
    detector = Detector(kind="heartbeat", interval_ms=2, timeout_ms=6)
    scenario = Scenario(algorithm="bully", n=3, detector=detector, crash=(Crash(process=3, at_ms=20.7),), until_ms=200)
    short = shrink(scenario, find("bully"), "stability")
    assert short.expect.broken == ("stability",)
    for one in (scenario, short):
        found = violation(one, find("bully"), "stability")
        assert found is None or unexplained(*found).suspicions == 0


class Stop(Message):
    """I no longer want in."""


class Ask(Message):
    """I want in."""


class Yes(Message):
    """Come in."""


class Offended(Mutex):
    """The hub lets nobody in once somebody has withdrawn."""

    name = "offended"
    offended: bool = False
    waiting: bool = False

    def on_want(self, io: Io) -> None:
        self.waiting = True
        io.send(io.hub, Ask())

    def on_ask(self, message: Ask, sender: int, io: Io) -> None:
        if not self.offended:
            io.send(sender, Yes())

    def on_yes(self, message: Yes, sender: int, io: Io) -> None:
        if self.waiting:
            self.waiting = False
            io.enter()

    def on_withdraw(self, io: Io) -> None:
        self.waiting = False
        io.send(io.hub, Stop())

    def on_stop(self, message: Stop, sender: int, io: Io) -> None:
        self.offended = True

    def on_done(self, io: Io) -> None:
        """Tells nobody."""


def test_the_end_of_a_wait_moves_with_its_beginning() -> None:
    """The run starts at 0 after shrinking, and the withdrawal is as near to the request as it was."""
    wants = (Want(process=2, at_ms=131.3, withdraw_ms=132.8), Want(process=3, at_ms=137.9))
    scenario = Scenario(algorithm="offended", n=3, want=wants)
    shrinker = Shrinker(scenario, Offended, "starvation_freedom", 10)
    assert shrinker.begin()
    shrinker._start_at_once()
    assert [(want.at_ms, want.withdraw_ms) for want in shrinker.best.want] == [(0, 1.5), (6.6, None)]
    short = shrink(scenario, Offended, "starvation_freedom")
    assert violation(short, Offended, "starvation_freedom") is not None
    assert [want.at_ms for want in short.want if want.withdraw_ms is not None] == [0]
    assert max(want.withdraw_ms or want.at_ms for want in short.want) <= 2
    found = shortest(scenario, Offended, "starvation_freedom")
    assert found.minimal
    assert "1 withdrawal" in found.words


def test_a_pause_is_among_the_faults_that_are_counted() -> None:
    lease = find("coordinator-lease")
    scenario = Scenario(
        algorithm="coordinator-lease",
        n=4,
        want=(Want(process=2, inside_ms=2), Want(process=3, at_ms=1, inside_ms=3), Want(process=4, at_ms=40)),
        pause=(Pause(process=2, at_ms=3, for_ms=20), Pause(process=4, at_ms=50, for_ms=2)),
    )
    found = shortest(scenario, lease, "exclusion")
    assert found.minimal
    assert "n=3, 1 request of 2, 1 request of 3" in found.words
    assert "1 pause" in found.words
    assert len(found.scenario.pause) == 1
    assert violation(found.scenario, lease, "exclusion") is not None


def test_a_clock_that_is_off_stays_as_far_off() -> None:
    lease = find("coordinator-lease")
    scenario = Scenario(
        algorithm="coordinator-lease",
        n=4,
        want=(Want(process=2, inside_ms=6), Want(process=3, at_ms=1, inside_ms=3), Want(process=4, at_ms=1)),
        drift=(Drift(process=1, rate=0.5),),
        network=Network(delay=1.5),
    )
    found = shortest(scenario, lease, "exclusion")
    assert found.minimal
    assert "n=3" in found.words
    assert "timers off by up to 50 %" in found.words
    assert all(0.5 <= one.rate <= 1.5 for one in found.scenario.drift)
    assert violation(found.scenario, lease, "exclusion") is not None


def test_a_limit_of_states_leaves_minimality_open() -> None:
    scenario = Scenario(
        algorithm="ricart-agrawala", n=3, network=Network(delay="exponential(1)", duplicate=0.3), seed=1,
        workload=Workload(requests=4, think_ms=0.0, inside_ms=1.0),
    )  # fmt: skip
    short = shrink(scenario, find("ricart-agrawala"), "exclusion")
    trace = trace_of(simulate(short, find("ricart-agrawala")))
    few = smallest(short, trace, find("ricart-agrawala"), "exclusion", states=60)
    assert not few.minimal
    assert few.example is None
    assert few.words.startswith("not known to be minimal: n=2")
    assert "limit of" in few.words
    assert smallest(short, trace, find("ricart-agrawala"), "exclusion").minimal


def test_a_property_that_the_checker_does_not_know_leaves_minimality_open() -> None:
    """By patience alone: the run is cut while the token still goes round."""
    scenario = Scenario(algorithm="coordinator", n=3, want=(Want(process=2, inside_ms=300), Want(process=3, at_ms=1)))
    scenario = scenario.but(until_ms=290, patience_ms=5)
    trace = trace_of(simulate(scenario, find("coordinator")))
    assert events(trace, Entered)
    answer = smallest(scenario.but(n=None, ids=(1, 2, 3)), trace, find("coordinator"), "starvation_freedom")
    assert not answer.minimal
    assert "does not find it" in answer.words
