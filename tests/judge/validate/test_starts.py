"""How a process starts follows from its class, its parameters and the initial fields of the header."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.runs import trace_of
from vez.catalogue.algorithms import ALGORITHMS, find
from vez.cli.app import run
from vez.core.process import initial_fields
from vez.core.trace import Started, Trace
from vez.core.trace_file import decode, load
from vez.errors import BadData
from vez.judge.validate import Answer, Validation, validate
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import load as load_scenario

ROOT = Path(__file__).parents[3]


def other(value: Any) -> Any:
    """Another value of the same kind."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return value + "x"
        case list():
            return [*value, 1]
        case dict():
            return {**value, "1": 1}
        case _:
            return 1


def tampered(trace: Trace) -> Iterator[tuple[str, Trace]]:
    """The trace with one field of one start changed, removed or added."""
    for index, event in enumerate(trace.events):
        if not isinstance(event, Started):
            continue
        for name, value in event.fields.items():
            rest = {key: kept for key, kept in event.fields.items() if key != name}
            yield name, changed(trace, index, {**event.fields, name: other(value)})
            yield name, changed(trace, index, rest)
        yield "new", changed(trace, index, {**event.fields, "new": 1})


def changed(trace: Trace, index: int, fields: dict[str, Any]) -> Trace:
    event = msgspec.structs.replace(trace.events[index], fields=fields)
    return Trace(trace.header, (*trace.events[:index], event, *trace.events[index + 1 :]))


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_no_changed_start_is_accepted(name: str) -> None:
    trace = decode(trace_of(simulate(Scenario(algorithm=name), find(name))).to_bytes(), name)
    assert validate(trace, find(name)).answer is Answer.POSSIBLE
    counted = 0
    for field, mutant in tampered(trace):
        found = validate(decode(mutant.to_bytes(), name), find(name))
        assert found.answer is Answer.IMPOSSIBLE, field
        assert found.finding is not None
        assert field in found.finding.expected, found.finding
        counted += 1
    assert counted


SCENARIO = ROOT / "scenarios/08-ricart-agrawala.toml"


def with_initial() -> Trace:
    return trace_of(simulate(load_scenario(SCENARIO), find("ricart-agrawala")))


def test_initial_fields_of_a_scenario_are_in_the_header_and_named() -> None:
    trace = decode(with_initial().to_bytes(), "run")
    assert trace.header.initial == {"1": {"clock": 40}, "2": {"clock": 33}}
    found = validate(trace, find("ricart-agrawala"))
    assert (found.answer, found.initial) == (Answer.POSSIBLE, trace.header.initial)
    for field, mutant in tampered(trace):
        assert validate(mutant, find("ricart-agrawala")).answer is Answer.IMPOSSIBLE, field


@pytest.mark.parametrize(
    ("initial", "expected"),
    [
        ({}, "clock = 0"),
        ({"1": {"clock": 41}, "2": {"clock": 33}}, "clock = 41"),
        ({"1": {"clock": 40, "zzz": 1}, "2": {"clock": 33}}, "initial fields are of RicartAgrawala"),
        ({"1": {"clock": "x"}, "2": {"clock": 33}}, "field clock"),
    ],
)
def test_a_header_that_gives_other_initial_fields_is_not_of_this_run(initial: Any, expected: str) -> None:
    trace = with_initial()
    header = msgspec.structs.replace(trace.header, initial=initial)
    found = validate(Trace(header, trace.events), find("ricart-agrawala"))
    assert found.answer is Answer.IMPOSSIBLE
    assert found.finding is not None
    assert expected in found.finding.expected


def test_initial_fields_of_nobody_are_refused_by_the_reader() -> None:
    trace = with_initial()
    for header in (
        msgspec.structs.replace(trace.header, initial={"9": {"clock": 1}}),
        msgspec.structs.replace(trace.header, cut=(9,)),
        msgspec.structs.replace(trace.header, initial={"1": {}}),
    ):
        with pytest.raises(BadData, match="a process that is not there"):
            decode(Trace(header, trace.events).to_bytes(), "run")


def test_initial_fields_are_those_that_differ_from_the_class() -> None:
    kind: Any = find("coordinator-lease")
    assert initial_fields(kind()) == initial_fields(kind(lease_ms=9.0)) == {}
    assert initial_fields(find("ricart-agrawala")(clock=3)) == {"clock": 3}


def test_the_command_names_what_it_took_from_the_header(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(with_initial().to_bytes())
    assert run(["validate", str(path)]) == 0
    assert "taken from the header: process 1 starts with clock = 40" in capsys.readouterr().out


# Journals that were cut


def cluster(folder: Path, *words: str) -> None:
    options = ["-n", "3", "--time-scale", "5", "--seconds", "30", "--keep", str(folder)]
    assert run(["cluster", "--algorithm", "lamport", *options, *words]) == 0


def judged(folder: Path) -> Validation:
    from vez.cli.parameters.recorded_runs import merged

    return validate(merged(folder, None), find("lamport"))


def test_a_journal_without_its_end_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster(tmp_path, "--want", "1@0+1")
    assert judged(tmp_path).unseen == ()
    (tmp_path / "run.json").unlink()
    journal = next((tmp_path / "journal").glob("2-*.jsonl"))
    lines = journal.read_bytes().splitlines(keepends=True)
    for kept, partial in ((len(lines) - 1, b""), (len(lines) - 1, lines[-1][:10]), (len(lines) // 2, b'{"ev')):
        journal.write_bytes(b"".join(lines[:kept]) + partial)
        capsys.readouterr()
        assert run(["validate", str(tmp_path)]) in (0, 65)
        seen = capsys.readouterr()
        assert "what process 2 did after" in seen.out or "is damaged or cut short" in seen.err


def test_a_journal_that_lacks_events_before_its_end_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster(tmp_path, "--want", "1@0+1")
    journal = next((tmp_path / "journal").glob("2-*.jsonl"))
    lines = journal.read_bytes().splitlines(keepends=True)
    for missing in range(1, len(lines) - 1):
        journal.write_bytes(b"".join(lines[:missing] + lines[missing + 1 :]))
        assert run(["validate", str(tmp_path)]) == 65
        assert f"of the {len(lines) - 2} events that its last line names" in capsys.readouterr().err


def test_a_kill_that_the_cluster_recorded_is_no_cut(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    run(["cluster", "--algorithm", "bully", "-n", "3", "--time-scale", "5", "--crash", "3@20", "--keep", str(folder)])
    from vez.cli.parameters.recorded_runs import merged

    trace = merged(folder, None)
    assert trace.header.cut == ()
    (folder / "run.json").unlink()
    assert merged(folder, None).header.cut == (3,)


def test_a_cut_is_kept_in_the_file_of_a_merged_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster(tmp_path / "kept", "--want", "1@0+1")
    journal = next((tmp_path / "kept/journal").glob("3-*.jsonl"))
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))
    path = tmp_path / "run.jsonl"
    assert run(["show", str(tmp_path / "kept"), "--trace", str(path)]) in (0, 1, 2)
    assert load(path).header.cut == (3,)
    capsys.readouterr()
    assert run(["validate", str(path)]) == 0
    assert "what process 3 did after" in capsys.readouterr().out
