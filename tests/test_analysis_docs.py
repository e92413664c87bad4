"""What the pages on choosing show is what the commands print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from vez.cli.app import run

ROOT = Path(__file__).resolve().parent.parent
PAGES = tuple(f"docs/how-to/{name}.md" for name in ("choose-a-quorum", "choose-a-timeout", "compare-algorithms"))
ANYTHING = "…"
DELAYS = "# round trips, in ms\n1.2\n0.9\n\n1.1\n1.4\n2.5\n1.0\n1.3\n9\n"


def examples() -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        for block in re.findall(r"```console\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL):
            command, _, output = block.partition("\n")
            found.append((command.removeprefix("$ "), output))
    return found


@pytest.mark.parametrize(("command", "output"), examples())
def test_example(
    command: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "delays.txt").write_text(DELAYS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "81")
    words = shlex.split(command)
    assert words[0] == "vez"
    assert run(words[1:]) == 0
    printed = capsys.readouterr().out
    parts = [part.strip("\n") for part in output.split(ANYTHING)]
    position = 0
    for part in parts:
        assert part in printed[position:]
        position = printed.index(part, position) + len(part)
