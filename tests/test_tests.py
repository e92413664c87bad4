"""Rules for the tests themselves: they can fail, their waits have a limit, and they sleep little."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import scheduling
from tests.conftest import ROOT

TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "tests").rglob("*.py"))}

SLEEPS = 48
"""Largest number of sleeps of a positive time in the tests. This number may only fall."""
CHECKS = re.compile(r"_*(assert|check|compare|eventually|expect|golden|refused|run_state_machine_as_test|until)")
"""Pattern for the names of helpers that fail if a condition is not met."""


def dotted(node: ast.expr) -> str:
    """The dotted name of a called function: `subprocess.run`, `pool.submit().result`."""
    match node:
        case ast.Name(name):
            return name
        case ast.Attribute(value, name):
            return f"{dotted(value)}.{name}"
        case ast.Call(function):
            return f"{dotted(function)}()"
    return "?"


def calls(node: ast.AST, in_task: bool = False) -> Iterator[tuple[ast.Call, bool]]:
    """Every call below a node, with True if it is in a coroutine."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.AsyncFunctionDef():
                inside = True
            case ast.FunctionDef() | ast.Lambda():
                inside = False
            case _:
                inside = in_task
        if isinstance(child, ast.Call):
            yield child, inside
        yield from calls(child, inside)


def places(path: Path, nodes: list[ast.Call]) -> list[str]:
    return [f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)[:80]}" for node in nodes]


def endless(tree: ast.AST) -> list[ast.Call]:
    """Calls without a limit that wait for a process, an event or a future.

    `thread.join()` and `queue.get()` are not among them: with a limit, `thread.join` returns as if the thread had
    ended. For these the limit of the test (tests/time_limit.py) shows the stack. The same holds for coroutines, with
    `asyncio.timeout`.
    """
    found = []
    for call, in_task in calls(tree):
        name, bare = dotted(call.func), not call.args and not call.keywords
        limited = any(keyword.arg in ("timeout", None) for keyword in call.keywords)
        first, _, last = name.rpartition(".")
        if first == "subprocess":
            wrong = last in ("run", "call", "check_call", "check_output") and not limited
        elif last == "communicate":
            wrong = not limited and not in_task
        else:
            wrong = bare and ((last == "wait" and not in_task and first != "os") or name.endswith("submit().result"))
        if wrong:
            found.append(call)
    return found


def test_whatever_waits_for_another_process_has_a_limit() -> None:
    found = [place for path, tree in TREES.items() for place in places(path, endless(tree))]
    assert not found, "give a timeout"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("subprocess.run(['true'])", True),
        ("subprocess.run(['true'], timeout=60)", False),
        ("subprocess.check_output(['true'], text=True)", True),
        ("process.wait()", True),
        ("process.wait(60)", False),
        ("process.communicate(b'x')", True),
        ("process.communicate(b'x', timeout=60)", False),
        ("pool.submit(work).result()", True),
        ("pool.submit(work).result(60)", False),
        ("async def test(): await event.wait()", False),
        ("async def test():\n    def work(): event.wait()", True),
        ("task.result()", False),
    ],
)
def test_a_missing_limit_is_seen(text: str, wrong: bool) -> None:
    assert bool(endless(ast.parse(text))) is wrong


def can_fail(test: ast.AST) -> bool:
    """True if a test asserts something, expects an error, or calls a helper whose name says that it checks."""
    return any(
        isinstance(node, ast.Assert)
        or (
            isinstance(node, ast.Call)
            and (
                (name := dotted(node.func)) in ("pytest.raises", "pytest.warns", "pytest.fail")
                or CHECKS.match(name.rpartition(".")[2])
            )
        )
        for node in ast.walk(test)
    )


def idle(tree: ast.AST) -> list[str]:
    return [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and not can_fail(node)
    ]


def test_every_test_can_fail() -> None:
    """A test that can fail only with an error of the code that it calls uses `tests.expectations.expect_no_error`."""
    found = [f"{path.relative_to(ROOT)}: {name}" for path, tree in TREES.items() for name in idle(tree)]
    assert not found, "assert something, or call a helper whose name begins as in CHECKS"


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ("run()", True),
        ("assert run()", False),
        ("with pytest.raises(ValueError): run()", False),
        ("check_run()", False),
        ("besieged.expect_calm()", False),
        ("def work(): assert run()", False),
        ("run(checks)", True),
        ("with expect_no_error('it is refused'): run()", False),
    ],
)
def test_a_test_without_an_assertion_is_seen(body: str, wrong: bool) -> None:
    assert bool(idle(ast.parse(f"def test_it(): \n    {body}"))) is wrong


def sleeps(tree: ast.AST) -> list[ast.Call]:
    """Calls that sleep: `sleep(0)` only lets others run."""
    return [
        call
        for call, _ in calls(tree)
        if dotted(call.func) in ("time.sleep", "asyncio.sleep", "sleep") and ast.unparse(call.args[0]) != "0"
    ]


def test_sleeps_are_few_and_each_says_why() -> None:
    """Wait for the event: `vez.testing.eventually`, `tests.expectations`. A sleep that is the subject has a comment."""
    silent, count = [], 0
    for path, tree in TREES.items():
        found, lines = sleeps(tree), path.read_text(encoding="utf-8").splitlines()
        count += len(found)
        silent += places(path, [call for call in found if "  # " not in lines[call.lineno - 1]])
    assert not silent, "say in a comment on the same line why it sleeps"
    assert count <= SLEEPS, "wait for the event instead"
    assert count == SLEEPS, f"there are fewer sleeps now: set SLEEPS to {count}"


def test_a_sleep_is_seen() -> None:
    text = "time.sleep(0.1)\nasync def work():\n    await asyncio.sleep(patience)\n    await asyncio.sleep(0)"
    assert [call.lineno for call in sleeps(ast.parse(text))] == [1, 3]


def test_tests_that_share_something_costly_exist() -> None:
    """The scheduler knows them by their paths, which a move changes."""
    assert [start for start in scheduling._TOGETHER if not (ROOT / start).exists()] == []
    assert [start for start in scheduling._WAITING if not (ROOT / start).is_dir()] == []
    for place in ("worlds/check", "catalogue/zoo"):
        assert (ROOT / "tests" / place / "test_zoo.py").exists()
        assert scheduling.unit_of(f"tests/{place}/test_zoo.py::test_x[twins]") == "zoo twins"
