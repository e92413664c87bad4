"""`vez detectors` as a user meets it."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from vez.cli.app import run

FEW = ["--beats", "300", "--trials", "5"]


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["detectors", *FEW]) == 0
    out = capsys.readouterr().out
    for word in ("heartbeat", "adaptive", "phi", "steady", "slow observer", "query accuracy"):
        assert word in out


def test_json_with_a_condition_of_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["detectors", *FEW, "--delay", "exponential(4)", "--loss", "0.1", "--pause", "30", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(condition["delay"], condition["loss"], condition["pause_ms"]) for condition in found["conditions"]] == [
        ("exponential(4)", 0.1, 30)
    ]
    assert {row["detector"] for row in found["detectors"]} == {"heartbeat", "adaptive", "phi", "phi, exponential"}
    measures = {"detection_ms", "mistake_rate", "mistake_ms", "query_accuracy"}
    assert all(measures <= row.keys() for row in found["detectors"])


def test_plot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "plot.svg"
    assert run(["detectors", *FEW, "--delay", "exponential(4)", "-o", str(path)]) == 0
    assert ElementTree.parse(path).getroot().tag.endswith("svg")  # noqa: S314 - our own file
    assert f"wrote {path}" in capsys.readouterr().err
    assert run(["detectors", *FEW, "--delay", "exponential(4)", "--plot", str(path)]) == 0
    assert "--plot is deprecated and will be removed in a later version; use -o" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["-o", "plot.png"], 64, "ends in .svg or .txt"),
        (["--delay", "soon"], 64, "not a duration"),
        (["--threshold", "0"], 64, "threshold"),
        (["-o", "nowhere/at/all.svg", "--loss", "0.1", *FEW], 73, "cannot write"),
    ],
)
def test_mistakes_are_told_in_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, complaint: str
) -> None:
    assert run(["detectors", *arguments]) == code
    assert complaint in capsys.readouterr().err


def test_sim_takes_a_detector(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run(["sim", "bully", "--detector", "heartbeat", "--partition", "1,2|3,4,5@50..100", "--until", "90", "--json"])
        == 1
    )
    found = json.loads(capsys.readouterr().out)
    assert found["properties"]["uniqueness"]["status"] == "broken"
    assert "known_bounds" in found["broken_assumptions"]
