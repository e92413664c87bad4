"""`make demo`: real processes, a killed holder, a killed leader, and the tour; it ends as it tells."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.serial
def test_the_demo_ends_as_it_tells(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "vez.demo"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
        env=os.environ | {"COLUMNS": "110"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    for words in (
        "was killed inside", "exclusion", "tokens_increase", "It is killed: worker", "leads in term",
        "exclusion broken: processes 2 and 3 were inside together from 12 to 15 ms", "Try next",
    ):  # fmt: skip
        assert words in done.stdout
    assert sorted(path.suffix for path in (tmp_path / "demo-out").iterdir()) == [".html", ".html", ".html"]
