"""The wheel and the sdist, each installed alone in an empty environment, and tests that run from the sdist."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT, need
from tests.test_docs import run_readme

pytestmark = pytest.mark.long
OF_THE_REPOSITORY = (".github/", ".editorconfig", ".gitattributes", ".pre-commit-config.yaml")
"""Tracked files that only a clone needs."""
OFFLINE = ("No matching distribution found", "Could not find a version", "Failed to establish a new connection")
LOCK = """
import vez
with vez.lock("alone", timeout=5) as grant:
    print("inside", grant.token > 0, vez.__version__)
"""
Run = Callable[..., subprocess.CompletedProcess[str]]


def call(arguments: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a tool that may want the package index; skip if it is out of reach."""
    done = subprocess.run(
        arguments, cwd=folder, env=os.environ | environment, capture_output=True, text=True, timeout=300, check=False
    )
    said = done.stdout + done.stderr
    if done.returncode and any(sign in said for sign in OFFLINE):
        need("a package index", "building and installing in isolation downloads hatchling and the dependencies")
    assert done.returncode == 0, said
    return done


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The sdist of the project and the wheel that is built from the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    call([sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)], folder)
    (sdist,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    return {"sdist": sdist, "wheel": wheel}


@pytest.fixture(scope="module", params=["wheel", "sdist"])
def alone(
    request: pytest.FixtureRequest, distributions: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Run:
    """Run a program in an environment that contains only vez and its dependencies, without extras, far from the
    sources."""
    folder = tmp_path_factory.mktemp(request.param)
    call([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], folder)
    python = folder / "venv" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    call([*pip, "install", "--quiet", str(distributions[request.param])], folder)
    environment = {
        "PATH": f"{python.parent}:/usr/bin:/bin",
        "HOME": str(folder),
        "VEZ_DIR": str(folder / "turns"),
        "COLUMNS": "120",
    }

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            arguments, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False
        )

    return run


def test_a_lock_works(alone: Run) -> None:
    done = alone("python", "-c", LOCK)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("inside True 0.")


def test_nothing_comes_from_the_sources(alone: Run) -> None:
    where = alone("python", "-c", "import vez; print(vez.__file__)").stdout.strip()
    assert "site-packages" in where
    assert str(ROOT) not in where


@pytest.mark.parametrize("vez", [("vez",), ("python", "-m", "vez")], ids=" ".join)
def test_the_command_starts(alone: Run, vez: tuple[str, ...]) -> None:
    done = alone(*vez, "--help")
    assert done.returncode == 0, done.stderr
    assert "sim" in done.stdout
    done = alone(*vez, "sim", "bully", "-n", "4", "--crash", "4@20")
    assert done.returncode == 0, done.stderr
    assert "leader" in done.stdout


def test_a_command_runs_under_a_lock(alone: Run) -> None:
    done = alone("vez", "run", "nightly", "--", "echo", "inside")
    assert (done.returncode, done.stdout) == (0, "inside\n"), done.stderr


def test_a_page_has_its_player(alone: Run, tmp_path: Path) -> None:
    page = tmp_path / "run.html"
    done = alone("vez", "sim", "token-ring", "-o", str(page))
    assert done.returncode == 0, done.stderr
    text = page.read_text(encoding="utf-8")
    player = ROOT / "src" / "vez" / "draw" / "trace" / "player"
    assert "<script" in text
    assert (player / "player.css").read_text(encoding="utf-8").splitlines()[0] in text


def test_the_documentation_is_there(alone: Run) -> None:
    listed = alone("vez", "docs").stdout.splitlines()
    assert len(listed) == len(list((ROOT / "docs").rglob("*.md")))
    for name in ("scenarios", "take-turns", "complete-commands-in-the-shell"):
        done = alone("vez", "docs", name)
        assert (done.returncode, done.stdout[:2]) == (0, "# "), done.stderr


def test_the_readme_works(alone: Run, tmp_path: Path) -> None:
    assert run_readme(tmp_path, lambda arguments, *_: alone(*arguments)) >= 8


def test_the_sdist_holds_what_is_tracked(distributions: dict[str, Path]) -> None:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a clone")
    with tarfile.open(distributions["sdist"]) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    ).stdout.split("\n")
    tracked = {name for name in listed if name and (ROOT / name).exists() and not name.startswith(OF_THE_REPOSITORY)}
    assert not tracked - held
    assert held - tracked == {"PKG-INFO"}


def test_tests_run_from_the_sdist(distributions: dict[str, Path], tmp_path: Path) -> None:
    with tarfile.open(distributions["sdist"]) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    chosen = ["tests/test_architecture.py", "tests/test_links.py", "tests/core", "tests/test_scenarios.py"]
    done = call([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *chosen], folder, PYTHONPATH="src")
    assert " passed" in done.stdout
