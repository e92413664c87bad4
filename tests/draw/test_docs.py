"""The statements of the page about pictures are true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vez.draw.trace import limits

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "pictures.md"


def test_the_examples_run(capsys: pytest.CaptureFixture[str]) -> None:
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    shown, viewed, named = (outcome(example, capsys) for example in examples)
    assert named == ""
    assert viewed == "View(active=True, points_to=(), pruned=(), waits_for=())\n"
    assert "✗ exclusion broken: processes 3 and 4 were inside together" in shown
    assert shown.endswith("text True\nmermaid True\nsvg True\nhtml True\n")


def outcome(example: str, capsys: pytest.CaptureFixture[str]) -> str:
    exec(compile(example, str(PAGE), "exec", dont_inherit=True), {"__name__": "page"})  # noqa: S102 (our own page)
    return capsys.readouterr().out


def test_the_limits_are_those_of_the_code() -> None:
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    processes, messages, events = limits.MAX_PROCESSES, limits.MAX_MESSAGES, limits.MAX_EVENTS
    assert f"At most {processes} processes, {messages:,} messages and {events:,} events are drawn" in page
