"""Mutants of the recipes: `tools.mutate.recipes` finds them, its judges catch them, and its table is up to date."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial

import pytest

from tools.mutate.recipes.forked import Changed, run
from tools.mutate.recipes.judges import broken, rows
from tools.mutate.recipes.mutants import ROOT, Mutant, find, of_module
from tools.mutate.recipes.table import known

PASSED_ONCE = {
    "a watch from a revision too late": ("lock.py acquire: 1 -> 2", "lock --set exact=true"),
    "a semaphore without its note": (
        "semaphore.py acquire_permit: yield from _note(session, seat, shown) -> pass",
        """semaphore --set limit=2 --set 'others=["lock/1","lock/2"]' --set 'stays=[2]'""",
    ),
    "a leader's note without a condition": (
        'election.py _stand: (Compare(seat.key, "create", seat.token),) -> (())',
        "office -n 2 --set doubts=2",
    ),
    "the latest of equal candidates": ("election.py merit: -one.arrived -> (one.arrived)", "office"),
    "a break without a word": ("breaking.py break_by_force: (*note, *words) -> ((*note,))", "break"),
    "a renewal of a lease that is gone": (
        "session.py keep: not answer.seconds -> False",
        "lock -n 2 --set keeps=true --set expiries=2",
    ),
}
"""Mistakes that every world of the matrix once let pass, and the world that finds each. Two more change what clients
ask for and break no promise, so the stories of the recipes find them: a refusal that is taken for a lost reply, and a
watch that begins again where it began."""


@pytest.fixture(scope="module")
def mutants() -> dict[str, Mutant]:
    return {mutant.name: mutant for mutant in find()}


def changed(mutant: Mutant, command: str) -> str:
    """What breaks in a world of the matrix, with this mutant."""
    Changed(mutant.module, str(ROOT / mutant.path), mutant.text).install()
    return broken(next(row for row in rows(100_000) if row.command == command))


def judge_those_that_passed() -> dict[str, str]:
    """What each world says. In a process that has imported no recipe yet."""
    every = {mutant.name: mutant for mutant in find()}
    works = [
        (mistake, partial(changed, every[name], f"vez check recipe:etcd-{world}"))
        for mistake, (name, world) in PASSED_ONCE.items()
    ]
    return {ended.name: ended.result for ended in run(works, 100, 1)}


def test_mistakes_that_passed_once_are_found_by_a_world() -> None:
    code = "import json; from tests.tools.test_recipe_mutants import *; print(json.dumps(judge_those_that_passed()))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, check=True, timeout=100)
    found = json.loads(done.stdout)
    assert all(found.values()), found
    assert found.keys() == PASSED_ONCE.keys()


def test_every_entry_of_the_table_is_a_mutant(mutants: dict[str, Mutant]) -> None:
    assert [name for name in known() if name not in mutants] == []
    assert all(reason.endswith(".") for reason in known().values())


SOURCE = '''
LIMIT = 3


def work(a, b):
    """Docstring."""
    reply = yield Call(a, b)
    if a < b and not reply:
        raise ValueError(a)
    return a
'''


def test_the_changes_of_a_function() -> None:
    found = [mutant.name.removeprefix("x.py work: ") for mutant in of_module(SOURCE, "src/x.py")]
    assert found == [
        "x.py: LIMIT = 3 -> pass",
        "x.py: 3 -> 4",
        "x.py: 3 -> 2",
        "reply = yield Call(a, b) -> pass",
        "reply = yield Call(a, b) -> (yield Call(a, b)); reply = (yield Call(a, b))",
        "Call(a, b) -> (Call(a))",
        "Call(a, b) -> (Call(b, a))",
        "a < b and not reply -> True",
        "a < b and not reply -> False",
        "a < b and not reply -> (not (a < b and (not reply)))",
        "a < b -> (a <= b)",
        "a < b -> (a >= b)",
        "not reply -> (reply)",
        "a < b and not reply -> (a < b or not reply)",
        "a < b and not reply -> (not reply)",
        "a < b and not reply -> (a < b)",
        "raise ValueError(a) -> pass",
        "ValueError(a) -> (ValueError())",
        "return a -> pass",
        "return a -> return None",
    ]


@pytest.mark.long
@pytest.mark.limit(900)
def test_a_sample_of_mutants_is_accounted_for() -> None:
    words = ["-m", "tools.mutate.recipes", "--sample", "60", "--largest", "300"]
    done = subprocess.run([sys.executable, *words], cwd=ROOT, stdout=subprocess.PIPE, text=True, timeout=870)
    assert done.returncode == 0, done.stdout
