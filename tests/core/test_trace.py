"""Traces on disk: written and read back, and every malformed line refused with its number."""

from __future__ import annotations

from pathlib import Path

import pytest

from vez.catalogue.algorithms import find
from vez.core import trace_file
from vez.core.trace import Sent, Trace, label
from vez.core.trace_file import decode
from vez.errors import BadData, MissingFile
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Nemesis, Network


@pytest.fixture
def trace() -> Trace:
    scenario = Scenario(
        algorithm="coordinator-lease",
        n=4,
        network=Network(loss=0.1, duplicate=0.1),
        nemesis=Nemesis(crashes=1, recoveries=1, pauses=1, partitions=1),
    )
    found = simulate(scenario, find("coordinator-lease")).trace
    assert found is not None
    return found


def test_a_trace_survives_the_disk(trace: Trace, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(trace.to_bytes())
    assert trace_file.load(path) == trace
    assert trace_file.load(path).to_bytes() == path.read_bytes()


def test_a_file_that_lacks_events_is_refused(trace: Trace) -> None:
    lines = trace.to_bytes().splitlines(keepends=True)
    for damaged in (lines[:-1], lines[:1], [*lines, lines[-1]]):
        with pytest.raises(BadData, match=f"holds {len(damaged) - 1} of the {len(lines) - 1} events"):
            decode(b"".join(damaged), "run.jsonl")


def test_labels_read_as_people_write_them() -> None:
    assert label(Sent(0, 1, 1, 2, "Request", {"timestamp": 41})) == "Request(41)"
    assert label(Sent(0, 1, 1, 2, "Collect", {"ids": [3, 1], "round": 2})) == "Collect([3,1], 2)"
    assert label(Sent(0, 1, 1, 2, "Reply")) == "Reply"


def test_a_label_names_what_is_true_and_leaves_out_what_is_not() -> None:
    assert label(Sent(0, 1, 1, 2, "Candidate", {"id": 6, "rightward": True})) == "Candidate(6, rightward)"
    assert label(Sent(0, 1, 1, 2, "Candidate", {"id": 6, "rightward": False})) == "Candidate(6)"
    assert label(Sent(0, 1, 1, 2, "Turn", {"rightward": False})) == "Turn"
    assert label(Sent(0, 1, 1, 2, "Reply", {"yes": True})) == "Reply(yes)"
    assert label(Sent(0, 1, 1, 2, "Up", {"yes": False, "prune": True, "round": 1})) == "Up(no, prune, 1)"
    assert label(Sent(0, 1, 1, 2, "Votes", {"given": [True, False]})) == "Votes([yes,no])"


HEADER = b'{"vez_trace":1,"algorithm":"x","role":"mutex","ids":[1,2],"topology":"complete"}\n'
SENT = b'{"event":"sent","at":0,"process":1,"number":1,"to":2,"kind":"R","fields":{"x":'


@pytest.mark.parametrize(
    ("raw", "complaint"),
    [
        (b"", "is empty"),
        (b"not json\n", "line 1"),
        (b'{"vez_trace":99,"algorithm":"x","role":"mutex","ids":[1],"topology":"ring"}\n', "format 99"),
        (HEADER + b'{"event":"wanted","at":0}\n', "line 2"),
        (HEADER + b'{"event":"wanted","at":0,"process":1}\n{"event":"nonsense","at":1,"process":1}\n', "line 3"),
        (HEADER + b'{"event":"wanted","at":0,"process":7}\n', "no process 7"),
        (HEADER + b'{"event":"wanted","at":5,"process":1}\n{"event":"left","at":4,"process":1}\n', "backwards"),
        (HEADER + b'{"event":"delivered","at":0,"process":1,"number":3}\n', "never sent"),
        (HEADER + b'{"event":"sent","at":0,"process":1,"number":3,"to":9,"kind":"R"}\n', "no process 9"),
        (HEADER + b'{"event":"lost","at":0,"process":1,"number":3,"reason":"magic"}\n', "line 2"),
        (HEADER + b"\xff\xfe\n", "line 2"),
        (HEADER + b'{"event":"elected","at":0,"process":1,"leader":99}\n', "no process 99"),
        (HEADER + b'{"event":"suspected","at":0,"process":1,"peer":99}\n', "no process 99"),
        (HEADER.replace(b"[1,2]", b"[]"), "at least one process"),
        (HEADER + SENT + b"[" * 500 + b"]" * 500 + b"}}\n", "line 2: nested too deeply"),
        (HEADER + SENT + b"[" * 50_000 + b"]" * 50_000 + b"}}\n", "line 2: nested too deeply"),
        (HEADER + SENT + b'{"a":' * 40 + b"1" + b"}" * 40 + b"}}\n", "line 2: nested too deeply"),
    ],
)
def test_malformed_traces_are_refused_with_the_line(raw: bytes, complaint: str) -> None:
    with pytest.raises(BadData, match=complaint):
        decode(raw, "run.jsonl")


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(MissingFile):
        trace_file.load(tmp_path / "missing")
