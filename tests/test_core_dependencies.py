"""What the README shows works with what `pip install .` installs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.core_dependencies import hide_all_others, needed
from tests.test_docs import ROOT, run_readme

HIDDEN = ("numpy", "h11", "hypothesis", "cryptography")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return os.environ | hide_all_others(tmp_path_factory.mktemp("hidden"))


def run(environment: dict[str, str], *arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_dependencies_are_those_of_the_package() -> None:
    assert needed() >= {"vez", "click", "msgspec", "rich", "tomli-w", "pygments"}
    assert not needed() & {"numpy", "h11", "pytest"}


@pytest.mark.parametrize("module", HIDDEN)
def test_nothing_else_can_be_imported(environment: dict[str, str], module: str) -> None:
    done = run(environment, "-c", f"import {module}")
    assert f"No module named '{module}'" in done.stderr


def test_the_readme_works_with_what_it_installs(environment: dict[str, str], tmp_path: Path) -> None:
    def command(arguments: list[str], folder: Path, settings: dict[str, str]) -> subprocess.CompletedProcess[str]:
        assert arguments[0] == "vez"
        return run(settings | {"PYTHONPATH": environment["PYTHONPATH"]}, "-m", *arguments, folder=folder)

    assert run_readme(tmp_path, command) >= 8
