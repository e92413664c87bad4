"""The pytest plugin of a scratch environment: runs the tests of a list, in its order, and records how each ended.

Some code runs for several tests. While it runs, its name is in the environment, for `mutate_watch`. Lines that are hit
in the set-up of a fixture of module or session scope count for every test that uses the fixture. Lines that are hit
while a file is collected count for every test of the file.
"""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tools.mutate import watch
else:
    import mutate_watch as watch

MEMORY = 4 << 30
FILE = 2 << 30
"""Largest amount of memory of a process, and of a file that it writes, in bytes: a mutant may allocate or write without
end."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--mutate-tests", help="JSON file: the node ids of the tests to run; all tests without it")
    parser.addoption("--mutate-ended", help="file to which a JSON line for each test is written")


def pytest_configure(config: pytest.Config) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE, FILE))
    config.pluginmanager.register(Run(Path(config.getoption("--mutate-ended"))))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    chosen = config.getoption("--mutate-tests")
    if chosen:
        found = {item.nodeid: item for item in items}
        wanted = [found.pop(name) for name in json.loads(Path(chosen).read_text(encoding="utf-8")) if name in found]
        items[:] = wanted
        config.hook.pytest_deselected(items=list(found.values()))


@contextmanager
def _shared(name: str) -> Iterator[None]:
    before = os.environ.get(watch.SHARED)
    os.environ[watch.SHARED] = name
    watch.restart()
    try:
        yield
    finally:
        if before is None:
            del os.environ[watch.SHARED]
        else:
            os.environ[watch.SHARED] = before
        watch.restart()


def shared_fixtures(item: pytest.Item) -> list[str]:
    """Names of the fixtures that the test shares with others."""
    known: dict[str, Any] = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    return sorted({_name(one) for found in known.values() for one in found if one.scope != "function"})


def _name(fixture: Any) -> str:
    return f"fixture {fixture.baseid}::{fixture.argname}"


class Run:
    """Writes a line for each test that ended, with its seconds, and for each file that could not be collected."""

    def __init__(self, path: Path) -> None:
        self.path, self.began = path, 0.0
        self.outcome, self.message = "passed", ""
        self.fixtures: dict[str, list[str]] = {}

    def write(self, test: str, seconds: float) -> None:
        ended = {"test": test, "outcome": self.outcome, "seconds": round(seconds, 4), "message": self.message}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**ended, "fixtures": self.fixtures.get(test, [])}) + "\n")

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, Any]:
        with _shared(f"file {collector.nodeid}"):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, Any, Any]:
        if fixturedef.scope == "function":
            return (yield)
        with _shared(_name(fixturedef)):
            return (yield)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._note(report)
            self.write(report.nodeid, 0.0)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.fixtures = {item.nodeid: shared_fixtures(item) for item in session.items}

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.began, self.outcome, self.message = time.monotonic(), "passed", ""
        watch.restart()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self.outcome != "failed" and not report.passed:
            self._note(report)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.write(nodeid, time.monotonic() - self.began)

    def _note(self, report: pytest.CollectReport | pytest.TestReport) -> None:
        lines = str(report.longrepr).strip().splitlines() or [""]
        wrong = [line for line in lines if line.startswith("E ")] or lines[-1:]
        self.outcome, self.message = report.outcome, wrong[0].removeprefix("E").strip()[:200]
