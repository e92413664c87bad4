"""The Pythons that the documentation claims are those that CI tests, and a broken interpreter is not one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools import pythons


def test_readme_and_classifiers_claim_the_same_versions() -> None:
    text = (pythons.ROOT / "README.md").read_text(encoding="utf-8")
    (claim,) = [line for line in text.splitlines() if "CI runs all tests on" in line]
    assert pythons.claimed() == {version for minor in range(8, 30) if (version := f"3.{minor}") in claim}


def test_a_shim_that_leads_nowhere_is_no_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shim, real = tmp_path / "python3.18", tmp_path / "python3.19"
    shim.write_text("#!/bin/sh\necho 'python3.18: command not found' >&2\nexit 127\n")
    real.write_text("#!/bin/sh\necho 3.19\n")
    for path in (shim, real):
        path.chmod(0o755)
    (tmp_path / "python3.11").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert pythons.others() == {"3.19": real}


def test_ci_runs_everything_on_the_newest_version_that_is_claimed() -> None:
    found = {"3.9": Path("a"), "3.11": Path("b"), "3.12": Path("c"), "3.13t": Path("d"), "3.19": Path("e")}
    assert pythons.newest(found, {"3.9", "3.11", "3.12", "3.13"}) == Path("c")
    assert pythons.newest({"3.9": Path("a"), "3.11": Path("b")}, {"3.9", "3.11"}) == Path("b")
    assert pythons.newest({"3.19": Path("e")}, {"3.11"}) is None


def test_the_quick_tests_exist() -> None:
    assert [place for place in pythons.QUICK if not (pythons.ROOT / place).exists()] == []
