"""Helpers for tests of runs: the trace of a run, and the types of the election fixtures."""

from __future__ import annotations

from collections.abc import Callable

from vez.core.trace import Trace
from vez.judge.properties import Verdict
from vez.worlds.sim import Run

Elections = Callable[..., Run]
Unkept = Callable[[Run], list[Verdict]]
Broken = Callable[[Run], set[str]]


def trace_of(run: Run) -> Trace:
    """The trace of a run that recorded one."""
    assert run.trace is not None, "this run was not recorded"
    return run.trace
