"""`make regenerate`: the generated files are those that the tools would write now, and every one has a step."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import api_page, regenerate, scenario_list

ROOT = Path(__file__).parent.parent


def test_the_readme_shows_the_picture_and_its_command(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"({regenerate.PICTURE})" in readme
    assert f"$ {regenerate.PICTURE_COMMAND} exclusion" in " ".join(readme.replace("\\\n", " ").split())
    regenerate.draw_picture(tmp_path / "new.svg")
    assert (tmp_path / "new.svg").read_bytes() == (ROOT / regenerate.PICTURE).read_bytes()


def test_the_list_of_scenarios_is_up_to_date() -> None:
    assert scenario_list.page(ROOT) == (ROOT / scenario_list.PAGE).read_text(encoding="utf-8")


def test_the_page_of_the_api_is_up_to_date() -> None:
    assert api_page.page() == (ROOT / api_page.PAGE).read_text(encoding="utf-8")


def test_every_generated_page_has_a_step(capsys: pytest.CaptureFixture[str]) -> None:
    assert regenerate.main(["--list"]) == 0
    listed = capsys.readouterr().out
    pages = ((path, path.read_text(encoding="utf-8")) for path in (ROOT / "docs").rglob("*.md"))
    for path in [path.relative_to(ROOT) for path, text in pages if text.startswith("<!-- Generated")]:
        assert str(path) in listed or f"{path.parent}/*.md" in listed, f"{path} is generated, and no step writes it"


def test_the_tests_with_golden_files_are_found() -> None:
    assert "tests/test_scenarios.py" in regenerate.golden_tests()


def test_a_step_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert regenerate.main(["pictures"]) == 64
    assert "the steps are picture, scenario-list" in capsys.readouterr().err
