"""The time that each test takes, by the clock and of the processor with its child processes; the slowest are printed.

`tools/run-tests` asks for it with `--slowest 20`. A test that waits shows seconds by the clock and few of the
processor; on two cores only the second kind makes the whole run longer.
"""

from __future__ import annotations

import json
import os
import resource
import time
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.prepared import Prepared

KEPT = "seconds"
_spent: dict[str, tuple[float, float]] = {}
"""Seconds of a test by the clock and of the processor: kept by the process that prints."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slowest", type=int, default=0, metavar="N", help="Print the N slowest tests and folders.")
    parser.addoption("--times", type=Path, metavar="FILE", help="Write the times of all tests to a JSON file.")


def processor() -> float:
    """Seconds of the processor that this process and its ended children have used."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used) + Prepared.processor


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """Measure setup, call and teardown together; the report of the teardown carries the times to the main process."""
    item.user_properties.append((KEPT, (time.perf_counter(), processor())))
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if call.when == "teardown":
        (began,) = (value for name, value in item.user_properties if name == KEPT)
        assert isinstance(began, tuple)
        report.user_properties = [(KEPT, (time.perf_counter() - began[0], processor() - began[1]))]
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "teardown" and "PYTEST_XDIST_WORKER" not in os.environ:
        for name, value in report.user_properties:
            if name == KEPT and isinstance(value, (list, tuple)):
                _spent[report.nodeid] = float(value[0]), float(value[1])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.getoption("--times"):
        config.getoption("--times").write_text(json.dumps(_spent))
    most = config.getoption("--slowest")
    if not most or not _spent:
        return
    folders: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for test, times in _spent.items():
        place = test.split("::")[0].rpartition("/")[0]
        folders[place] = [whole + one for whole, one in zip(folders[place], times, strict=True)]
    write = terminalreporter.write_line
    write("seconds by the clock, seconds of the processor:")
    for name, (clock, used) in sorted(folders.items(), key=lambda entry: -entry[1][1]):
        write(f"{clock:8.1f} {used:8.1f}  {name}/")
    for name, (clock, used) in sorted(_spent.items(), key=lambda entry: -max(entry[1]))[:most]:
        write(f"{clock:8.1f} {used:8.1f}  {name}")
