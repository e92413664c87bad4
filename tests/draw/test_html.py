"""The HTML page is self-contained and safe, and plays in a browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from vez.core.trace import INTERNAL
from vez.draw import FORMATS, html
from vez.draw.trace.steps import steps

from .browser import Page, look, open_page
from .hostile import hostile
from .traces import SCENARIOS, run


def data_of(page: str) -> Any:
    return json.loads(Page(page).scripts[0])


def test_formats() -> None:
    assert list(FORMATS) == ["text", "mermaid", "svg", "html"]
    for draw in FORMATS.values():
        assert "coordinator" in draw(*run("coordinator")) or draw is FORMATS["mermaid"]


@pytest.mark.parametrize("name", SCENARIOS)
def test_is_one_file_with_every_event(name: str) -> None:
    trace, verdicts = run(name)
    page = html(trace, verdicts)
    assert set(re.findall(r"https?://[^\"' ]+", page)) == {"http://www.w3.org/2000/svg"}
    assert not {"link", "img", "iframe"} & set(Page(page).tags)
    data = data_of(page)
    assert len(data["events"]) == sum(not isinstance(event, INTERNAL) for event in trace.events)
    assert [one["name"] for one in data["verdicts"]] == [verdict.name for verdict in verdicts]
    assert "{{" not in page.replace("{{}", "")


@pytest.mark.parametrize("name", SCENARIOS)
def test_steps_cover_the_trace(name: str) -> None:
    trace, _ = run(name)
    found = steps(trace)
    assert [first for first, _ in found] == [0, *(last + 1 for _, last in found[:-1])]
    assert found[-1][1] == len(trace.events) - 1
    assert all(trace.events[first].at == trace.events[last].at for first, last in found)


def test_hostile_text_stays_data() -> None:
    page = html(*hostile())
    parsed = Page(page)
    assert parsed.tags.count("script") == 2
    assert "img" not in parsed.tags
    assert "</script><script>" in data_of(page)["algorithm"]
    page.encode()


@pytest.mark.browser
def test_opens_at_a_violation(chromium: str, tmp_path: Path) -> None:
    page = look(chromium, tmp_path, *run("slow-holder"), "t=12")
    assert page.body["data-ready"] == "true"
    assert page.body["data-errors"] == "0"
    assert page.body["data-time"] == "12"
    assert page.body["data-step"] == "10"
    assert "4 receives Grant(2) from 1" in page.text["now"]
    assert "inside · 1" in page.text["processes"]
    assert "inside · 2" in page.text["processes"]
    assert "processes 3 and 4 were inside together" in page.text["verdicts"]
    assert page.text["summary"] == "1 broken"


@pytest.mark.browser
def test_opens_at_a_step_of_an_election_after_a_crash(chromium: str, tmp_path: Path) -> None:
    trace, verdicts = run("bully")
    page = look(chromium, tmp_path, trace, verdicts, f"step={len(steps(trace))}")
    assert page.body["data-errors"] == "0"
    assert page.body["data-step"] == page.body["data-steps"]
    assert "crashed" in page.text["processes"]
    assert "leader" in page.text["processes"]
    assert "follows 4" in page.text["processes"]


@pytest.mark.browser
def test_plays_to_the_end_and_steps_by_keyboard(chromium: str, tmp_path: Path) -> None:
    trace, verdicts = run("ring")
    script = """
      window.requestAnimationFrame = (act) => setTimeout(() => act(performance.now()), 16); // virtual time has few frames
      const key = (name) => dispatchEvent(new KeyboardEvent("keydown", { key: name, cancelable: true }));
      key("Home"); key("ArrowRight"); key("ArrowRight"); key("ArrowLeft"); key("ArrowRight"); key("ArrowRight");
      document.body.dataset.keyed = document.body.dataset.step;
      document.getElementById("slider").value = 0;
      document.getElementById("slider").dispatchEvent(new Event("input"));
      document.body.dataset.slid = document.body.dataset.time;
      document.getElementById("speed").value = "10";
      key(" ");
      document.body.dataset.started = document.body.dataset.playing;
    """
    page = html(trace, verdicts).replace('body.dataset.ready = "true";', f'body.dataset.ready = "true";{script}')
    body = open_page(chromium, tmp_path, page, budget_ms=20_000).body
    assert body["data-keyed"] == "3"
    assert body["data-slid"] == "0"
    assert body["data-started"] == "true"
    assert body["data-step"] == body["data-steps"]
    assert body["data-playing"] == "false"


@pytest.mark.browser
def test_hostile_text_runs_nothing(chromium: str, tmp_path: Path) -> None:
    page = look(chromium, tmp_path, *hostile(), "step=4")
    assert page.body["data-ready"] == "true"
    assert page.body["data-errors"] == "0"
    assert "data-hacked" not in page.body
    assert "img" not in page.tags


@pytest.mark.browser
@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "exclusionbrokenprocesses 3 and 4 were inside together"),
        ("pt", "exclusão mútuavioladaos processos 3 e 4 estiveram dentro ao mesmo tempo"),
    ],
)
def test_verdicts_are_told_in_the_language_of_the_reader(
    language: str, said: str, chromium: str, tmp_path: Path
) -> None:
    page = look(chromium, tmp_path, *run("slow-holder"), f"lang={language}")
    assert said in page.text["verdicts"]
