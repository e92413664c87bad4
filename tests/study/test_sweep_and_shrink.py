"""Sweeps give one verdict per property, whoever did the work; failing runs shrink and still fail in the same way."""

from __future__ import annotations

from pathlib import Path

import pytest

from vez.catalogue.algorithms import find
from vez.catalogue.load import load_algorithm
from vez.core.trace import Entered
from vez.errors import BadData, HandlerFailed, MissingFile, Misuse, UnknownName, WorkerDied
from vez.judge.properties import Status, judge
from vez.study.report import run_and_report
from vez.study.shortest import shortest
from vez.study.shrink import PARTS, shrink
from vez.study.sweep import Tally, sweep
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Crash, Elect, Expect, Nemesis, Network, Workload, dumps, loads


def size(scenario: Scenario) -> int:
    return sum(len(getattr(scenario, part)) for part in PARTS)


def is_broken(scenario: Scenario, name: str) -> bool:
    trace = simulate(scenario, load_algorithm(scenario.algorithm)).trace
    assert trace is not None
    return judge(trace, [name])[0].status is Status.BROKEN


def test_a_sweep_counts_every_seed_once() -> None:
    seen: list[int] = []
    found = sweep(
        Scenario(algorithm="ricart-agrawala", n=3, seed=10), 60, jobs=1, progress=lambda done, broken: seen.append(done)
    )
    assert seen == [25, 50, 60]
    assert found.runs == 60
    assert found.seeds == ((10, 69),)
    words = {tally.name: tally.words for tally in found.tallies}
    assert words["exclusion"] == "holds in 60 runs"
    assert words["fenced_exclusion"] == "not judged"
    assert found.first_broken is None


def test_the_number_of_workers_changes_nothing() -> None:
    scenario = Scenario(
        algorithm="token-ring", n=4, nemesis=Nemesis(crashes=1), network=Network(delay="uniform(0.5, 1.5)")
    )
    assert sweep(scenario, 60, jobs=1) == sweep(scenario, 60, jobs=2)


def test_a_sweep_names_the_first_seed_that_breaks() -> None:
    scenario = Scenario(
        algorithm="ricart-agrawala", n=3, network=Network(delay="exponential(1)", duplicate=0.1), workload=CROWD
    )
    tally = next(tally for tally in sweep(scenario, 100, jobs=1).tallies if tally.name == "exclusion")
    assert tally.broken
    assert tally.seed is not None
    assert is_broken(scenario.but(seed=tally.seed), "exclusion")
    assert not any(is_broken(scenario.but(seed=seed), "exclusion") for seed in range(tally.seed))


def test_a_sweep_needs_a_run_and_a_known_algorithm() -> None:
    with pytest.raises(Misuse, match="at least 1"):
        sweep(Scenario(algorithm="bully"), 0)
    with pytest.raises(UnknownName, match="did you mean bully"):
        sweep(Scenario(algorithm="buly"), 10)


CROWD = Workload(requests=4, think_ms=0.0, inside_ms=1.0)
STORMS = [
    ("token-ring", "starvation_freedom", Network(delay="uniform(0.5, 1.5)"), Nemesis(crashes=1, pauses=1)),
    ("ricart-agrawala", "exclusion", Network(delay="exponential(1)", duplicate=0.3), Nemesis()),
    ("ricart-agrawala", "deadlock_freedom", Network(delay="exponential(1)", loss=0.1), Nemesis(partitions=1)),
    ("coordinator", "deadlock_freedom", Network(delay="exponential(1)"), Nemesis(crashes=2, recoveries=2)),
    ("bully", "uniqueness", Network(delay="lognormal(1, 1)"), Nemesis(partitions=2)),
    ("chang-roberts", "agreement", Network(delay="uniform(0.5, 1.5)", loss=0.1), Nemesis()),
]


@pytest.mark.parametrize(("name", "property_name", "network", "nemesis"), STORMS)
def test_a_failing_run_shrinks_and_fails_in_the_same_way(
    name: str, property_name: str, network: Network, nemesis: Nemesis
) -> None:
    base = Scenario(algorithm=name, n=5, network=network, nemesis=nemesis, workload=CROWD if "ricart" in name else None)
    seed = next(seed for seed in range(200) if is_broken(base.but(seed=seed), property_name))
    scenario = base.but(seed=seed)
    explicit = simulate(scenario, find(name), explain=True).explicit
    assert explicit is not None
    short = shrink(scenario, find(name), property_name)
    assert size(short) < size(explicit)
    assert size(short) <= 8, dumps(short)
    assert short.expect.broken == (property_name,)
    assert is_broken(loads(dumps(short)), property_name)
    assert short == shrink(scenario, find(name), property_name)


def test_the_lost_token_is_found_with_two_processes_and_one_crash() -> None:
    scenario = Scenario(
        algorithm="token-ring", n=6, nemesis=Nemesis(crashes=1, pauses=2), network=Network(delay="uniform(0.5, 1.5)")
    )
    short = shortest(scenario, find("token-ring"), "starvation_freedom").scenario
    assert len(short.ids) == 2
    assert len(short.crash) == len(short.want) == 1
    assert not short.pause
    assert not short.message


def test_explicit_faults_shrink_too() -> None:
    scenario = Scenario(
        algorithm="bully",
        n=6,
        elect=tuple(Elect(process=p, at_ms=p) for p in range(1, 7)),
        crash=(Crash(process=6, at_ms=30.123, recover_ms=60.456), Crash(process=2, at_ms=10)),
    )
    short = shrink(scenario, find("bully"), "stability")
    assert [crash.process for crash in short.crash] == [max(short.ids)]
    assert len(short.ids) == 2


def test_nothing_is_shrunk_beyond_the_bound_of_attempts() -> None:
    scenario = Scenario(algorithm="token-ring", n=5, nemesis=Nemesis(crashes=1), workload=Workload(requests=3))
    few = shrink(scenario, find("token-ring"), "starvation_freedom", attempts=5)
    assert is_broken(few, "starvation_freedom")


def test_algorithms_are_found_by_name_and_by_file(tmp_path: Path) -> None:
    assert load_algorithm("bully").name == "bully"
    path = tmp_path / "mine.py"
    path.write_text(
        "from vez.core import Mutex\nclass Mine(Mutex):\n    def on_want(self, io): io.enter()\n    def on_done(self, io): ...\n"
    )
    for name in (f"{path}:Mine", str(path)):
        trace = simulate(Scenario(algorithm=name, n=2), load_algorithm(name)).trace
        assert trace is not None
        assert any(isinstance(event, Entered) for event in trace)


@pytest.mark.parametrize(
    ("text", "suffix", "error", "complaint"),
    [
        ("x = 1\n", "", BadData, "defines no Process"),
        (
            "import vez.core\nclass A(vez.core.Process): ...\nclass B(vez.core.Process): ...\n",
            "",
            Misuse,
            "defines A, B",
        ),
        ("import vez.core\nclass Ping(vez.core.Process): ...\n", ":Pong", UnknownName, "did you mean Ping"),
        ("def broken(:\n", "", BadData, "line 1: SyntaxError"),
        ("\n\n1 / 0\n", "", BadData, "line 3: ZeroDivisionError"),
    ],
)
def test_files_of_ones_own_fail_with_the_reason(
    tmp_path: Path, text: str, suffix: str, error: type[Exception], complaint: str
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises(error, match=complaint):
        load_algorithm(f"{path}{suffix}")


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(MissingFile):
        load_algorithm("nowhere/mine.py:Mine")


def test_a_sweep_adds_up_all_that_a_run_tells() -> None:
    scenario = Scenario(algorithm="ricart-agrawala", n=3, seed=5)
    singles = [run_and_report(scenario.but(seed=seed), find("ricart-agrawala")) for seed in range(5, 35)]
    found = sweep(scenario, 30, jobs=1)
    assert found.events == sum(len(one.trace.events) for one in singles)
    assert found.by_kind == {
        kind: sum(one.measurements.by_kind[kind] for one in singles) for kind in ("Reply", "Request")
    }
    assert found.messages == sum(one.measurements.messages for one in singles)
    delays = [one.measurements.synchronization_delay for one in singles]
    assert found.synchronization_delay.count == sum(one.count for one in delays) > 30
    total = sum(one.count * (one.mean or 0) for one in delays)
    assert found.synchronization_delay.mean == pytest.approx(total / found.synchronization_delay.count)


def test_a_sweep_counts_the_leaders() -> None:
    found = sweep(Scenario(algorithm="bully", n=4, nemesis=Nemesis(crashes=1), network=Network(delay=1.0)), 40, jobs=1)
    assert set(found.leaders) <= {None, 3, 4}
    assert found.leaders[4] > found.leaders[3] > 0
    assert sum(found.leaders.values()) == 40


def test_a_tally_hides_nothing() -> None:
    assert Tally("x", True, runs=10, not_judged=3).words == "holds in 7 runs, not judged in 3"
    assert (
        Tally("x", True, runs=10, undecided=2, not_judged=7).words == "holds in 1 run, undecided in 2, not judged in 7"
    )
    assert Tally("x", True, runs=10, broken=1, not_judged=7).words == "broken in 1 of 10 runs, not judged in 7"
    assert Tally("x", True, runs=10, not_judged=10).words == "not judged"


def test_a_sweep_judges_what_the_scenario_expects_of_every_seed() -> None:
    base = Scenario(algorithm="token-ring", n=4, nemesis=Nemesis(crashes=1), network=Network(delay="uniform(0.5, 1.5)"))
    broken = {seed for seed in range(40) if is_broken(base.but(seed=seed), "starvation_freedom")}
    found = sweep(base.but(expect=Expect(holds=("starvation_freedom",))), 40, jobs=1)
    assert 0 < found.missed < 40
    assert found.first_missed is not None
    assert found.first_missed[0] == min(broken)
    assert found.first_missed[1] == ["starvation_freedom should hold and is broken"]
    assert sweep(base, 40, jobs=1).first_missed is None


FRAIL = """
from vez.core import Mutex
class Frail(Mutex):
    def on_want(self, io):
        if io.choose(range(50)) == 7:
            raise KeyError("seven")
        io.enter()
    def on_done(self, io): ...
"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_handler_that_fails_in_a_sweep_is_told_with_its_seed(tmp_path: Path, jobs: int) -> None:
    path = tmp_path / "frail.py"
    path.write_text(FRAIL)
    with pytest.raises(HandlerFailed, match=r"seed \d+: .*frail.py:6: Frail.on_want raised KeyError: 'seven'"):
        sweep(Scenario(algorithm=str(path), n=2, workload=CROWD), 60, jobs=jobs)


def test_a_worker_that_dies_is_told(tmp_path: Path) -> None:
    path = tmp_path / "deadly.py"
    path.write_text(FRAIL.replace('raise KeyError("seven")', "import os; os._exit(3)"))
    with pytest.raises(WorkerDied, match="a worker process died"):
        sweep(Scenario(algorithm=str(path), n=2, workload=CROWD), 60, jobs=2)
