"""In a real browser, no text of a page lies on another one, leaves its frame, is cut off or is too small to read."""

from __future__ import annotations

from pathlib import Path

import pytest

from vez.catalogue.load import load_algorithm
from vez.draw import html
from vez.study.report import Report, run_and_report
from vez.worlds.sim.scenario import load

from .browser import measure

SCENARIOS = Path(__file__).parents[2] / "scenarios"
SIZES = ((1280, 800), (1024, 768), (390, 844))
ALL = sorted(path.stem for path in SCENARIOS.glob("*.toml"))
SOME = ["08-ricart-agrawala", "10-maekawa", "05-quorum", "18-elected-coordinator-bully"]
MOMENTS = tuple(f"lang={language}&view={view}" for language in ("en", "pt") for view in ("spacetime", "network"))
STEPS = tuple(f"view=network&step={step}" for step in (1, 3, 6, 10, 15, 25, 40))


def report(name: str) -> Report:
    scenario = load(SCENARIOS / f"{name}.toml")
    return run_and_report(scenario, load_algorithm(scenario.algorithm))


def check(chromium: str, folder: Path, names: list[str], size: tuple[int, int], moments: tuple[str, ...]) -> None:
    reports = {name: report(name) for name in names}
    pages = {name: html(found.trace, found.verdicts) for name, found in reports.items()}
    found = measure(chromium, folder, pages, size, moments)
    assert len(found) == len(names) * len(moments)
    assert all(one["texts"] > 2 for one in found.values())
    wrong = {
        page: {kind: one[kind] for kind in ("overlaps", "outside", "small", "cut", "errors") if one[kind]}
        for page, one in found.items()
    }
    assert {page: kinds for page, kinds in wrong.items() if kinds} == {}
    if size[0] >= 1280:
        few = [name for name, report in reports.items() if len(report.trace.header.ids) <= 7]
        assert {
            page: one["wide"] for page, one in found.items() if page.partition("#")[0] in few and one.get("wide", 0) > 0
        } == {}


@pytest.mark.browser
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_texts_are_apart_whole_and_readable(size: tuple[int, int], chromium: str, tmp_path: Path) -> None:
    check(chromium, tmp_path, SOME, size, (*MOMENTS, *STEPS[:4]))


@pytest.mark.browser
@pytest.mark.long
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_texts_of_every_scenario_are_apart_whole_and_readable(
    size: tuple[int, int], chromium: str, tmp_path: Path
) -> None:
    check(chromium, tmp_path, ALL, size, (*MOMENTS, *STEPS))
