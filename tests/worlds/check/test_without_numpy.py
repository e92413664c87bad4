"""Without NumPy the checker finds the same: the same counts, verdicts and runs, in every kind of question."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.worlds.check.questions import answers

PLAIN = os.environ | {"VEZ_NUMPY": "0"}
SHORTEST = """
from vez.catalogue.algorithms import find
from vez.study.shortest import shortest
from vez.worlds.check.arrays import PLAIN
from vez.worlds.sim import Scenario
from vez.worlds.sim.scenario import Nemesis
found = shortest(Scenario(algorithm="token-ring", nemesis=Nemesis(crashes=1)), find("token-ring"), "starvation_freedom")
print(PLAIN, found.words, found.scenario)
"""

WIDENED = """
from vez.catalogue.algorithms import find
from vez.worlds.check import Configuration, check
from vez.worlds.check.search import dict_store
from vez.worlds.sim import Scenario
widened, widen = [], dict_store.DictStore.widen
dict_store.DictStore.widen = lambda self, *rest: widened.append(rest) or widen(self, *rest)
dict_store.ROOMY = 1
report = check(Configuration(Scenario(algorithm="ricart-agrawala", n=3), find("ricart-agrawala")))
print(bool(widened), report.states, report.transitions, report.broken)
"""


def printed(*arguments: str, environment: dict[str, str] = PLAIN, timeout: float = 100) -> str:
    """What Python printed. Its NumPy is hidden unless the environment says otherwise."""
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=timeout,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("most", "step"), [(400, 20), pytest.param(1000, 1, marks=[pytest.mark.long, pytest.mark.limit(900)])]
)
def test_both_searches_give_the_same_answers(most: int, step: int) -> None:
    plain = json.loads(printed("-m", "tests.worlds.check.questions", str(most), str(step), timeout=900))
    ours = answers(most, step)
    assert plain.keys() == ours.keys()
    differing = {name: (answer, plain[name]) for name, answer in ours.items() if answer != plain[name]}
    assert not differing
    complete = [answer for answer in ours.values() if answer.get("complete")]
    assert len(complete) > len(ours) // 5, "most of the answers say little"
    assert sum(bool(answer["counterexamples"]) for answer in complete) > len(complete) // 4


def test_a_shortened_run_is_the_same_without_numpy() -> None:
    plain, with_numpy = printed("-c", SHORTEST), printed("-c", SHORTEST, environment={**os.environ})
    assert plain.startswith("True minimal: n=2, 1 request of 1")
    assert with_numpy == plain.replace("True", "False", 1)


def test_columns_that_become_too_narrow_are_widened() -> None:
    """They start so wide that this happens only in large searches."""
    assert printed("-c", WIDENED) == "True 4604 14749 ()\n"


@pytest.mark.parametrize(
    ("kind", "count"),
    [("untimed", 6), *(pytest.param(kind, 100, marks=pytest.mark.long) for kind in ("untimed", "timed", "symmetric"))],
)
def test_an_independent_explorer_agrees_with_the_search_without_numpy(kind: str, count: int) -> None:
    told = printed("-m", "tests.worlds.crosscheck", str(count), "--kind", kind, "--runs", "5", "--states", "600")
    assert told
