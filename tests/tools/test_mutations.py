"""The mutations of `tools.mutate`, the code that it never changes, and that its sample does not depend on folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.mutate.mutations import find, is_valid, room_of, sample
from tools.mutate.reach import Reach, choose

ROOT = Path(__file__).parents[2]
PLAIN = '''
"""Docstring with 1 and True."""
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    def hidden(): return 1

LIMIT = 1
__all__ = ["work"]


def work(self, a: "Literal[1]" = 2) -> "Literal[3]":
    """Docstring with 1."""
    log.info("%s", 1 + 1)
    if a == 5:
        raise ValueError("more than", 7)
    assert a, f"message {a + 1}"
    name: "Literal[4]" = f"{a + 1}"
    return "text" + name
'''


def package(folder: Path, path: str, text: str) -> Path:
    file = folder / "src/vez" / path
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")
    return folder


def mutants(folder: Path, text: str) -> dict[str, list[str]]:
    """The changed lines, by operator."""
    tree = package(folder, "core/x.py", text)
    found: dict[str, list[str]] = {}
    for one in sorted(find(tree), key=lambda one: one.change.start):
        assert is_valid(one, tree)
        pairs = zip(one.applied(text).splitlines(), text.splitlines(), strict=True)
        found.setdefault(one.operator, []).extend(new.strip() for new, old in pairs if new != old)
    return found


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("x = a < b", {"Lt to LtE": ["x = (a <= b)"]}),
        ("x = a >= b", {"GtE to Gt": ["x = (a > b)"]}),
        ("x = a in b", {"In to NotIn": ["x = (a not in b)"]}),
        ("x = a is not None", {"IsNot to Is": ["x = (a is None)"]}),
        ("x = a == b != c", {"Eq to NotEq": ["x = (a != b != c)"], "NotEq to Eq": ["x = (a == b == c)"]}),
        ("x = a and b", {"And to Or": ["x = (a or b)"]}),
        ("while not a: pass", {"remove Not": ["while (a): pass"]}),
        ("x = a[0]", {"+1 on a constant": ["x = a[1]"], "-1 on a constant": ["x = a[-1]"]}),
        ("x = a - b", {"Sub to Add": ["x = (a + b)"]}),
        ("a += b", {"Add to Sub": ["a -= b"]}),
        ("x = True", {"True to False": ["x = False"]}),
        ("return a", {"return None": ["return None"]}),
        ("return None", {}),
        ("a.b(c)", {"delete the call": ["pass"]}),
        ("await a.b(c)", {"delete the call": ["pass"]}),
        ("a.b = c", {"delete the assignment": ["pass"]}),
        ("a = c", {}),
        ("for x in a: break", {"Break to Continue": ["for x in a: continue"]}),
        ("for x in a: continue", {"Continue to Break": ["for x in a: break"]}),
        ("x = min(a, b)", {"min to max": ["x = max(a, b)"]}),
        ("x = 'ä', a or b", {"Or to And": ["x = 'ä', (a and b)"]}),
        ("os.kill(a, b)", {}),
    ],
)
def test_each_operator_makes_the_expected_change(
    statement: str, expected: dict[str, list[str]], tmp_path: Path
) -> None:
    assert mutants(tmp_path, f"async def work(a, b, c):\n    {statement}\n") == expected


def test_texts_annotations_imports_and_messages_are_left_alone(tmp_path: Path) -> None:
    found = mutants(tmp_path, PLAIN)
    assert found.pop("return None") == ["return None"]
    assert found.pop("Eq to NotEq") == ["if (a != 5):"]
    assert found == {"+1 on a constant": ["if a == 6:"], "-1 on a constant": ["if a == 4:"]}


def test_a_move_keeps_the_sample(tmp_path: Path) -> None:
    one, other = "def work(a):\n    return a + 1\n", "def work(a):\n    b = 2\n    return a + 1\n"
    old = package(tmp_path / "old", "sim/first.py", f"from vez.sim.second import x\n{one}")
    package(old, "sim/deep/second.py", other)
    new = package(tmp_path / "new", "worlds/sim/z/first.py", f"import q\nfrom vez.worlds.sim.second import x\n\n{one}")
    package(new, "worlds/sim/a/second.py", other)
    before, after = sample(old, 10, 1), sample(new, 10, 1)
    assert [(one.identity, Path(one.path).name) for one in before] == [
        (one.identity, Path(one.path).name) for one in after
    ]
    assert {one.path for one in before}.isdisjoint(one.path for one in after)
    assert {one.identity for one in sample(old, 10, 2)} != {one.identity for one in before}


def test_rooms_hold_the_same_code_in_both_layouts() -> None:
    for old, new in (
        ("sim/x.py", "worlds/sim/x.py"),
        ("turns/x.py", "locks/turns/x.py"),
        ("zoo/x.py", "catalogue/zoo/x.py"),
    ):
        assert room_of(Path(old)) == room_of(Path(new)) is not None
    assert room_of(Path("core/trace.py")) == "core"
    assert room_of(Path("core/detectors/phi.py")) is room_of(Path("detectors/phi.py")) is None
    assert room_of(Path("fence.py")) is None


@pytest.mark.long
def test_the_sample_of_the_project_is_drawn_from_every_room() -> None:
    drawn = sample(ROOT, 10, 1)
    assert len({one.identity for one in drawn}) == 10
    assert sorted(one.room for one in drawn) == [
        room for room in ("catalogue", "checker", "core", "locks", "simulator") for _ in range(2)
    ]
    assert all(one.lines for one in drawn)


def test_tests_are_chosen_from_every_file_within_the_budget() -> None:
    seconds = {"a::1": 1.0, "a::2": 2.0, "a::3": 3.0, "b::1": 5.0, "b::2": 50.0, "c::1": 0.1}
    reach = Reach("", seconds, {}, {"m": ["a::3", "a::2", "a::1", "b::1", "b::2"]}, {"m": ["c::1"]})
    assert choose(reach, "m", 9) == ["c::1", "a::1", "a::2", "b::1"]
    assert choose(reach, "m", 0.01) == ["a::1"]
