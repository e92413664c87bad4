"""Record which test runs which of the wanted lines. Every Python process of the tests loads this when it starts.

A copy is in the scratch environment, with a `.pth` file that imports it. It imports as little as possible, because some
tests check the modules that their processes have imported. The label of a hit is in the environment: pytest stores the
running test there, and processes that a test starts inherit it. A hit is written at once, because a test may kill its
processes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

LINES, HITS = "mutate-lines", "mutate-hits"
"""Names of files beside this one: the wanted lines, as `path:line`, and the folder of the hits, with a file for each
process."""
SHARED = "VEZ_MUTATE_SHARED"
"""Environment variable with the work that runs for several tests, if any: the set-up of a shared fixture, or the
collection of a file."""
TEST = "PYTEST_CURRENT_TEST"
TOOL = 4
"""Number of this tool in `sys.monitoring`, which gives 0 to 2 and 5 to others."""
_wanted: dict[str, set[int]] = {}
_restart: Callable[[], None] | None = None
_seen: set[tuple[str, int, str]] = set()


def label() -> str:
    """The test or shared work that runs now; empty if pytest has not set it."""
    return os.environ.get(SHARED) or os.environ.get(TEST, "").rpartition(" (")[0]


def _record(path: str, line: int) -> None:
    name = os.path.join(os.path.dirname(__file__), HITS, str(os.getpid()))
    file = os.open(name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        os.write(file, f"{path}:{line} {label()}\n".encode())
    finally:
        os.close(file)


def _has_wanted(code: CodeType) -> bool:
    wanted = _wanted.get(code.co_filename)
    return wanted is not None and any(line in wanted for _, _, line in code.co_lines())


def restart() -> None:
    """Report lines again that were hit before, because the label has changed."""
    if _restart is not None:
        _restart()


def start() -> None:
    """Watch the wanted lines in this process. Python reads the `.pth` files of an environment twice."""
    if _wanted:
        return
    with open(os.path.join(os.path.dirname(__file__), LINES), encoding="utf-8") as file:
        for text in file:
            path, _, line = text.rpartition(":")
            _wanted.setdefault(path, set()).add(int(line))
    if sys.version_info >= (3, 12):
        _monitor()
    else:
        _trace()


if sys.version_info >= (3, 12):

    def _monitor() -> None:
        """Watch with `sys.monitoring`: each line is reported once, then costs nothing until `restart`."""
        global _restart
        monitoring = sys.monitoring
        events = monitoring.events

        def on_start(code: CodeType, offset: int) -> Any:
            if _has_wanted(code):
                monitoring.set_local_events(TOOL, code, events.LINE)
            return monitoring.DISABLE

        def on_line(code: CodeType, line: int) -> Any:
            if line in _wanted[code.co_filename]:
                try:
                    _record(code.co_filename, line)
                except OSError:  # no descriptor is free, which may be what a test wants
                    return None
            return monitoring.DISABLE

        monitoring.use_tool_id(TOOL, "vez.mutate")
        monitoring.register_callback(TOOL, events.PY_START, on_start)
        monitoring.register_callback(TOOL, events.LINE, on_line)
        monitoring.set_events(TOOL, events.PY_START)
        _restart = monitoring.restart_events

else:

    def _trace() -> None:
        """Watch with `sys.settrace`: slow, but Python 3.11 has nothing else."""
        import threading

        def on_call(frame: FrameType, event: str, value: Any) -> Any:
            return on_line if _has_wanted(frame.f_code) else None

        def on_line(frame: FrameType, event: str, value: Any) -> Any:
            path, line = frame.f_code.co_filename, frame.f_lineno
            hit = (path, line, label())
            if event == "line" and line in _wanted[path] and hit not in _seen:
                try:
                    _record(path, line)
                    _seen.add(hit)
                except OSError:
                    pass
            return on_line

        sys.settrace(on_call)
        threading.settrace(on_call)
