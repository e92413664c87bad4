"""Runs of real processes are possible runs of their algorithm, with a kill and a recovery too."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from vez.catalogue.algorithms import find
from vez.cli.app import run
from vez.core.trace import Crashed, Entered, Recovered, Sent, Trace
from vez.core.trace_file import load
from vez.judge.validate import Answer, validate
from vez.judge.validate.steps import OUTCOMES


@pytest.mark.parametrize(
    ("name", "faults"),
    [
        ("lamport", []),
        ("majority", ["--crash", "1@20..60"]),
    ],
)
def test_a_real_run_is_possible_and_a_changed_one_is_not(name: str, faults: list[str], tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    options = ["-n", "3", "--time-scale", "20", "--seconds", "30", "--trace", str(path)]
    assert run(["cluster", "--algorithm", name, *options, *faults]) in (0, 1, 2)
    trace = load(path)
    assert any(isinstance(event, Crashed) for event in trace) == bool(faults)
    assert any(isinstance(event, Recovered) for event in trace) == any(".." in fault for fault in faults)
    found = validate(trace, find(name))
    assert found.answer is Answer.POSSIBLE, found.finding
    kinds = (Entered, Sent)
    place = next(index for index, event in enumerate(trace) if isinstance(event, kinds))
    shorter = (*trace.events[:place], *trace.events[place + 1 :])
    assert validate(Trace(trace.header, shorter), find(name)).answer is Answer.IMPOSSIBLE
    sent = next(event for event in trace if isinstance(event, Sent))
    wrong = msgspec.structs.replace(sent, kind=f"{sent.kind}s")
    changed = tuple(wrong if event is sent else event for event in trace)
    assert validate(Trace(trace.header, changed), find(name)).answer is Answer.IMPOSSIBLE
    last = max(index for index, event in enumerate(trace) if isinstance(event, OUTCOMES))
    assert not any(isinstance(event, Crashed) for event in trace.events[last:])
    cut = (*trace.events[:last], *trace.events[last + 1 :])
    assert validate(Trace(trace.header, cut), find(name)).answer is Answer.IMPOSSIBLE, "all processes ended in order"
