"""Shared fixtures. Fakes, not mocks; real parts where they can run."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests import dispositions
from tests.time_limit import TimeLimit

ROOT = Path(__file__).resolve().parent.parent
CAMPAIGN_SEED = "VEZ_CAMPAIGN_SEED"
pytest_plugins = ["tests.timing"]

dispositions.restore()  # before anything is started: child processes inherit what is ignored
settings.register_profile("house", deadline=None)  # a busy machine is no failure
settings.load_profile("house")
os.environ.pop("COLUMNS", None)  # what vez prints depends on it, and workers of pytest-xdist have it
os.unsetenv("COLUMNS")  # readline sets it for child processes, out of sight of os.environ
if len(tempfile.gettempdir()) > 40 or " " in tempfile.gettempdir():
    # The path of a socket has at most 107 bytes, and tests write commands as lines that are split at spaces.
    os.environ["TMPDIR"], tempfile.tempdir = "/tmp", None  # noqa: S108
os.environ["VEZ_PROGRESS"] = "none"  # what slow commands say meanwhile depends on how slow they are
os.environ["VEZ_DIR"] = tempfile.mkdtemp(prefix="vez-test-")  # never the locks of whoever runs the tests
atexit.register(shutil.rmtree, os.environ["VEZ_DIR"], ignore_errors=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite-golden", action="store_true", help="Write golden files anew; read the diff before you commit."
    )


def pytest_configure(config: pytest.Config) -> None:
    """Limit the time of each test. Draw the seed of the campaign, once for all workers of pytest-xdist: they inherit
    the environment."""
    config.pluginmanager.register(TimeLimit(), "time-limit")
    os.environ.setdefault(CAMPAIGN_SEED, str(int(time.time())))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests that share something costly run on one worker."""
    from tests.scheduling import Scheduling  # pytest-xdist is not needed to run the tests one by one

    return Scheduling(config, log)


def campaign_seed() -> int:
    """The seed of the pairs of algorithms and faults that these tests run."""
    return int(os.environ[CAMPAIGN_SEED])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [report for reports in terminalreporter.stats.values() for report in reports]
    if any("tests/worlds/campaign/test_campaign" in getattr(report, "nodeid", "") for report in reports):
        terminalreporter.write_line(f"real faults of this run: {CAMPAIGN_SEED}={campaign_seed()}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what the published suite measures in milliseconds; vez.testing itself knows nothing of our markers."""
    for item in items:
        if item.name == "test_killed_holder_gives_way_at_once":
            item.add_marker("serial")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """Compare a text with a golden file, or write it when asked to."""

    def compare(path: Path, text: str) -> None:
        if request.config.getoption("--rewrite-golden"):
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"{path.name} is missing: run pytest --rewrite-golden and read what it wrote"
        assert text == path.read_text(encoding="utf-8")

    return compare


def need(what: str, reason: str) -> None:
    """Skip for a missing part of the machine, with the reason; in CI that is a failure."""
    if os.environ.get("VEZ_REQUIRE_ALL") == "1":
        pytest.fail(f"{what} is missing and VEZ_REQUIRE_ALL=1: {reason}")
    pytest.skip(f"{what} is missing: {reason}")


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name)
        if found:
            return found
    need("Chromium", "run `make test` as root on Debian, or install your distribution's chromium")
    raise AssertionError("not reached")


@pytest.fixture
def foreign(tmp_path: Path) -> Iterator[Path]:
    """A directory on a file system that is not this kernel's: a real FUSE mount."""
    if shutil.which("bindfs") is None:
        need("bindfs", "run `make test` as root on Debian, or install your distribution's bindfs")
    behind, mount = tmp_path / "behind", tmp_path / "mount"
    behind.mkdir()
    mount.mkdir()
    made = subprocess.run(["bindfs", str(behind), str(mount)], capture_output=True, text=True, timeout=30)
    if made.returncode:
        pytest.skip(f"this machine does not let us mount with FUSE: {made.stderr.strip()}")
    try:
        yield mount
    finally:
        subprocess.run(["umount", str(mount)], check=True, timeout=30)
