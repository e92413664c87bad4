"""The page about pictures says what is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vez.draw import limits

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "pictures.md"


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(example, str(PAGE), "exec"), {})  # noqa: S102 (our own page)
    shown = capsys.readouterr().out
    assert "✗ exclusion broken: processes 3 and 4 were inside together" in shown
    assert shown.endswith("text True\nmermaid True\nsvg True\nhtml True\n")


def test_the_limits_are_those_of_the_code() -> None:
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    processes, messages, events = limits.MAX_PROCESSES, limits.MAX_MESSAGES, limits.MAX_EVENTS
    assert f"At most {processes} processes, {messages:,} messages and {events:,} events are drawn" in page
