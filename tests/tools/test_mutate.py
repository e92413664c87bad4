"""`tools.mutate` on a small package with known tests: mutations that are killed, survive, or never end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from tools.mutate import __main__ as command
from tools.mutate import report
from tools.mutate.mutations import Mutation, sample
from tools.mutate.scratch import OWNER, end_processes

pytestmark = pytest.mark.long  # each starts pytest several times
SOURCE = '''
"""A package to mutate."""


def larger(a, b):
    return a > b


def count(limit):
    number = 0
    while number < limit:
        number += 1
    return number


def in_a_child():
    return 5


def in_a_fixture():
    return True


def unused(a):
    return not a
'''
TESTS = """
import subprocess
import sys

import pytest
from vez.core import rules


@pytest.fixture(scope="module")
def shared():
    return rules.in_a_fixture()


def test_larger():
    assert rules.larger(2, 1)
    assert not rules.larger(1, 2)


def test_count():
    assert rules.count(3) == 3


def test_child():
    child = subprocess.run(
        [sys.executable, "-c", "from vez.core import rules; exit(rules.in_a_child())"], stderr=subprocess.PIPE
    )
    assert (child.returncode, child.stderr) == (5, b"")


def test_first(shared):
    pass


def test_second(shared):
    assert shared


@pytest.mark.serial
def test_serial():
    raise AssertionError("serial tests do not run")
"""
PROJECT = """
[project]
name = "vez"
[tool.pytest.ini_options]
markers = ["serial: left out"]
"""
BROKEN = "def test_broken():\n    from vez.core import rules\n    assert rules.larger(1, 1)\n"
EVERY = 100
Judge = Callable[..., dict[tuple[str, str], dict[str, Any]]]


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    files = {"src/vez/core/rules.py": SOURCE, "tests/test_rules.py": TESTS, "pyproject.toml": PROJECT}
    files |= {"src/vez/__init__.py": "", "src/vez/core/__init__.py": ""}
    return write(tmp_path / "tree", files)


@pytest.fixture
def judge(tree: Path, tmp_path: Path) -> Judge:
    """Run the command over some mutations, named by function and operator. Returns the results by these names."""

    def run(*which: tuple[str, str]) -> dict[tuple[str, str], dict[str, Any]]:
        found = sample(tree, EVERY, 1)
        numbers = [str(number) for number, one in enumerate(found, 1) if (one.function, one.operator) in which]
        assert len(numbers) == len(which)
        words = ["--tree", str(tree), "--json", str(tmp_path / "report.json"), "--sample", str(EVERY)]
        assert command.main([*words, "--budget", "1", "--only", ",".join(numbers)]) == 0
        results = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["mutants"]
        return {(result["function"], result["operator"]): result for result in results}

    return run


def test_tests_that_fail_kill_and_tests_that_pass_do_not(
    judge: Judge, tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tree, {"tests/test_broken.py": BROKEN})
    killed, survivor = ("larger", "return None"), ("larger", "Gt to GtE")
    child, fixture, unreached = ("in_a_child", "+1 on a constant"), ("in_a_fixture", "True to False"), ("unused", "remove Not")  # fmt: skip
    found = judge(killed, survivor, child, fixture, unreached)
    assert {name: result["outcome"] for name, result in found.items()} == {
        killed: "killed", survivor: "survived", child: "killed", fixture: "killed", unreached: "survived",
    }  # fmt: skip
    assert [found[name]["by"].partition("::")[2] for name in (killed, child, fixture)] == [
        "test_larger", "test_child", "test_second",
    ]  # fmt: skip
    assert all(found[name]["steady"] for name in (killed, child, fixture))
    assert (found[survivor]["tests"], found[fixture]["tests"], found[unreached]["tests"]) == (1, 2, 0)
    printed = capsys.readouterr().out
    assert "tests/test_broken.py::test_broken" in printed
    assert "core             5       3          0         2          1" in printed
    assert (tree / "src/vez/core/rules.py").read_text(encoding="utf-8") == SOURCE
    judge(killed)  # it is judged: nothing runs again
    assert "killed  " not in capsys.readouterr().out.partition("mutants")[0]


def test_a_mutation_that_never_ends_is_stopped(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "GRACE", 5.0)
    endless = ("count", "Add to Sub")
    found = judge(endless)[endless]
    assert found["outcome"] == "timed out"
    assert report.is_killed(found)


def test_a_busy_machine_kills_nothing(judge: Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "PATIENCE", (0, 0))  # too slow with the mutation, and without it
    with pytest.raises(SystemExit, match="on a quieter machine"):
        judge(("larger", "Gt to GtE"))
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["mutants"] == []


def test_processes_that_tests_leave_behind_are_ended(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "print(flush=True); input()"]
    with (
        subprocess.Popen(words, env=os.environ | {OWNER: str(tmp_path)}, stdin=PIPE, stdout=PIPE) as ours,
        subprocess.Popen(words, env=os.environ | {OWNER: f"{tmp_path}-other"}, stdin=PIPE, stdout=PIPE) as other,
    ):
        for process in (ours, other):
            assert process.stdout is not None
            process.stdout.readline()
        end_processes(str(tmp_path))
        assert ours.wait(60) == -signal.SIGKILL
        assert other.communicate(b"\n", timeout=60)[0] == b""
        assert other.returncode == 0


def test_results_of_other_tests_are_not_continued(judge: Judge, tree: Path) -> None:
    judge(("unused", "remove Not"))
    write(tree, {"tests/test_more.py": "def test_more():\n    pass\n"})
    with pytest.raises(SystemExit, match="name another --json"):
        judge(("unused", "remove Not"))


def result(mutation: Mutation, outcome: str) -> dict[str, Any]:
    known = mutation._asdict()
    return {**{name: known[name] for name in known if name != "change"}, "outcome": outcome, "by": "a test"}


def test_a_comparison_fails_if_fewer_are_killed(tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two, three = sample(tree, EVERY, 1)[:3]
    for name, results in {
        "old": [result(one, "killed"), result(two, "timed out"), result(three, "killed")],
        "new": [result(one, "killed"), result(two, "survived")],
    }.items():
        write(tmp_path, {f"{name}.json": json.dumps({"mutants": results})})
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    assert command.main(["--compare", str(old), str(new)]) == 1
    printed = capsys.readouterr().out
    assert f"killed: 2 in {old}, 1 in {new}" in printed
    assert f"killed before, not now: {two.identity} " in printed
    assert one.identity not in printed
    assert command.main(["--compare", str(new), str(old)]) == 0
    assert report.compare(old, old) == 0


def test_the_sample_is_listed(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--tree", str(tree), "--list", "--sample", str(EVERY)]) == 0
    assert "src/vez/core/rules.py:6 larger: Gt to GtE\n    return a > b  ->  (a >= b)" in capsys.readouterr().out
