"""Help that a user finds with nothing but the installed package: pages, and completion in the shell."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from tests.conftest import ROOT
from vez.cli.app import app, run
from vez.cli.docs import pages

SOURCE = ROOT / "src" / "vez"


def test_every_page_can_be_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["docs"]) == 0
    listed = capsys.readouterr().out
    assert set(pages().values()) == set((ROOT / "docs").rglob("*.md"))
    for name in ("scenarios", "take-turns", "locks", "bully"):
        assert f"{name} " in listed
        assert run(["docs", name]) == 0
        assert "\n# " in "\n" + capsys.readouterr().out
    assert pages()["checker"].parent.name == "reference"
    assert pages()["decisions/checker"].parent.name == "decisions"
    assert run(["docs", "scenrios"]) == 64
    assert "did you mean scenarios" in capsys.readouterr().err


def test_errors_and_help_name_pages_that_exist() -> None:
    """No paths of the repository: a user who has only the package cannot open them."""
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        assert not re.search(r"hint=[^\n]*docs/", text), path
        for name in re.findall(r"`?vez docs ([\w/-]+)", text):
            assert name in pages(), f"{path} names the page {name}"


def completed(line: str) -> list[str]:
    words = line.split(" ")
    environment = os.environ | {"_VEZ_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = subprocess.run([VEZ], env=environment, capture_output=True, text=True, check=True, timeout=60)
    return [answer.partition(",")[2] for answer in done.stdout.splitlines()]


VEZ = str(Path(sys.executable).parent / "vez")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("vez to", ["torture"]),
        ("vez algorithms ricart", ["ricart-agrawala", "ricart-agrawala-priority"]),
        ("vez sim tok", ["token-ring"]),
        ("vez check bull", ["bully", "bully-stable"]),
        ("vez zoo twi", ["twins"]),
        ("vez docs scenario", ["scenario-list", "scenarios"]),
        ("vez run --sha", ["--shared"]),
        ("vez compare mu", ["mutex"]),
    ],
)
def test_the_shell_completes(line: str, expected: list[str]) -> None:
    assert sorted(completed(line)) == expected


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell(shell: str) -> None:
    environment = os.environ | {"_VEZ_COMPLETE": f"{shell}_source"}
    done = subprocess.run([VEZ], env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert f"{shell}_complete" in done.stdout
    assert f"_VEZ_COMPLETE={shell}_source" in pages()["complete-commands-in-the-shell"].read_text()


def test_every_command_prints_json_on_request() -> None:
    """`node` prints JSON lines anyway, `serve` its requests, and `docs` a page as it is."""
    with click.Context(app) as context:
        found = {name: app.get_command(context, name) for name in app.list_commands(context)}
    without = {name for name, one in found.items() if one and not any("--json" in option.opts for option in one.params)}
    assert without == {"node", "serve", "docs"}


def test_certificates_are_listed_as_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "certs"
    assert run(["certs", str(folder), "--name", "demo", "--ids", "1,2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["name"] == "demo"
    assert told["ids"] == [1, 2]
    assert {Path(path).name for path in told["wrote"]} == {path.name for path in folder.iterdir()}
