"""Traces of real processes that were tampered with at random: what `validate` accepts, a second validator accepts too.

The second one (`naive.py`) shares no code with the first. It is slower and rougher, so it may accept more.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import msgspec
import pytest

from tests.judge.validate.naive import Naive
from tests.judge.validate.tamper import KINDS
from tests.runs import trace_of
from vez.catalogue.algorithms import ALGORITHMS, find
from vez.cli.app import run
from vez.core.trace import Started, Trace
from vez.core.trace_file import decode, load
from vez.errors import BadData, VezError
from vez.judge.validate import Answer, validate
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Nemesis, Network
from vez.worlds.sim.scenario import load as load_scenario

REAL = {
    "lamport": ["--want", "1@0+2", "--want", "2@1+2"],
    "ricart-agrawala": ["--want", "1@0+2", "--want", "3@1+2"],
    "coordinator": ["--want", "2@0+2", "--want", "3@1+2"],
    "raymond": ["--want", "2@0+2", "--want", "3@1+2"],
    "suzuki-kasami": ["--want", "2@0+2", "--want", "3@1+2"],
    "quorum": ["-n", "4", "--want", "1@0+2", "--want", "2@1+2"],
    "bully": ["--elect", "1@0", "--crash", "3@20..60"],
    "majority": ["--elect", "1@0", "--crash", "1@30..70"],
    "chang-roberts": ["--elect", "1@0", "--elect", "2@1"],
    "itai-rodeh": ["--elect", "1@0", "--elect", "2@0"],
}
"""Ten algorithms as real processes, two of them with a kill and a recovery."""
QUICK = ("lamport", "bully", "majority")


def real(name: str, folder: Path) -> Trace:
    path = folder / f"{name}-{len(list(folder.iterdir()))}.jsonl"
    options = [] if "-n" in REAL[name] else ["-n", "3"]
    assert run(["cluster", "--algorithm", name, *options, *REAL[name], "--time-scale", "10", "--seconds", "3",
                "--trace", str(path)]) in (0, 1, 2)  # fmt: skip
    return load(path)


def tampered(name: str, trace: Trace, other: Trace, count: int) -> Counter[str]:
    """What became of `count` changes of each kind; the second validator has agreed with every accepted one."""
    algorithm, outcomes = find(name), Counter[str]()
    for words, kind in KINDS.items():
        for seed in range(count):
            mutant = kind(Random(f"{name}/{words}/{seed}"), trace, other)
            if mutant is None:
                continue
            try:
                mutant = decode(mutant.to_bytes(), "tampered")
            except BadData:
                outcomes["refused"] += 1
                continue
            answer = validate(mutant, algorithm).answer
            outcomes[str(answer)] += 1
            accepted = Naive(mutant, algorithm).accepts()
            if answer is Answer.POSSIBLE:
                assert accepted, f"{words}, seed {seed}: this is no run of {name} that ended {mutant.header.end}"
            else:
                outcomes["impossible for both"] += not accepted
    return outcomes


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in REAL]
)
def test_what_is_accepted_is_a_run_of_the_algorithm(name: str, tmp_path: Path) -> None:
    trace, other = real(name, tmp_path), real(name, tmp_path)
    for one in (trace, other):
        assert validate(one, find(name)).answer is Answer.POSSIBLE
        assert Naive(one, find(name)).accepts()
    found = tampered(name, trace, other, 4 if name in QUICK else 20)
    assert found["impossible"] > 40
    assert found["possible"] < found["impossible"], found
    assert found["impossible for both"] > 0.6 * found["impossible"], "the second one is not blind"


def test_a_process_that_never_started_is_no_mistake_of_the_validator(tmp_path: Path) -> None:
    """It ended with an IndexError where a run of real processes ended quietly."""
    trace = real("chang-roberts", tmp_path)
    header = msgspec.structs.replace(trace.header, end="quiet")
    starts = tuple(event for event in trace.events if isinstance(event, Started) and event.process != 3)
    assert validate(decode(Trace(header, starts).to_bytes(), "two"), find("chang-roberts")).answer is Answer.POSSIBLE


def test_there_are_at_least_thirty_kinds() -> None:
    assert len(KINDS) >= 30


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_the_second_validator_accepts_runs_of_the_simulator(name: str) -> None:
    """With faults, losses and copies as far as the algorithm takes part in such a run."""
    for seed in range(3):
        faults = Scenario(
            algorithm=name, seed=seed, until_ms=60,
            network=Network(loss=0.1, duplicate=0.1, fifo=seed == 1),
            nemesis=Nemesis(crashes=1, recoveries=1, pauses=1, partitions=1),
        )  # fmt: skip
        for scenario in (Scenario(algorithm=name, seed=seed, until_ms=60), faults):
            try:
                trace = decode(trace_of(simulate(scenario, find(name))).to_bytes(), name)
            except VezError:  # of the algorithm, under faults that it does not tolerate
                continue
            assert validate(trace, find(name)).answer is Answer.POSSIBLE
            assert Naive(trace, find(name)).accepts(), scenario


@pytest.mark.parametrize("path", sorted(Path(__file__).parents[3].glob("scenarios/*.toml")), ids=lambda path: path.stem)
def test_the_second_validator_accepts_the_shipped_scenarios(path: Path) -> None:
    scenario = load_scenario(path)
    if scenario.algorithm not in ALGORITHMS:
        pytest.skip("an algorithm of the zoo")
    trace = trace_of(simulate(scenario, find(scenario.algorithm)))
    assert Naive(trace, find(scenario.algorithm)).accepts()
