"""The generated pages of reference are those that the code would generate now."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import algorithm_pages as pages
from vez.catalogue.algorithms import ALGORITHMS, find

FOLDER = Path(__file__).parents[2] / pages.FOLDER
AGAIN = "run `make regenerate STEPS=algorithm-pages` and read the diff"


def stored(name: str) -> str:
    path = FOLDER / f"{name}.md"
    assert path.exists(), f"{path.name} is missing: {AGAIN}"
    return path.read_text(encoding="utf-8")


def test_the_index_is_up_to_date() -> None:
    assert stored("index") == pages.index(), AGAIN


def test_every_page_belongs_to_an_algorithm() -> None:
    assert {path.stem for path in FOLDER.glob("*.md")} == {*ALGORITHMS, "index"}


@pytest.mark.long
@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_page_is_up_to_date(name: str) -> None:
    assert stored(name) == pages.page(find(name)), AGAIN


def test_a_page_is_a_ledger() -> None:
    text = stored("lamport")
    assert "| `fifo` | messages from one process to another arrive in the order of sending | `exclusion` broken" in text
    assert "### Without `fifo`" in text
    assert "```mermaid\nsequenceDiagram" in text
    assert "| 9 | 24 | 24 | 2 | 1 |" in text


def test_two_leaders_of_a_term_are_drawn() -> None:
    """Heartbeats go on for ever, so the run ends soon after the second leader."""
    _, picture = stored("majority").split("### Without `stable_storage`")
    assert "`uniqueness` is broken" in picture
    assert "```mermaid\nsequenceDiagram" in picture


def test_the_wrong_one_is_marked() -> None:
    assert "**Wrong on purpose:**" in stored("ricart-agrawala-priority")
    assert "**Wrong on purpose.**" in stored("index")


def test_pages_can_be_written_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "ALGORITHMS", {"naimi-trehel": find("naimi-trehel")})
    assert pages.write(tmp_path / "new") == 2
    assert (tmp_path / "new" / "naimi-trehel.md").read_text(encoding="utf-8").startswith(pages.NOTE)
