"""Timelines of threads: complete, limited and safe."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vez.draw.timeline import FORMATS, Bar, Timeline, html, svg, text
from vez.draw.timeline.timeline import MOST_BARS, MOST_LANES

from .browser import Page, open_page
from .hostile import EVIL

SMALL = Timeline(
    "threads: two",
    ("T1", "T2"),
    (
        Bar("T1", "runs", 0, 9000, "T1"),
        Bar("T1", "holds", 1000, 6000, "lock"),
        Bar("T2", "waits", 2000, 6000, "lock"),
        Bar("T2", "says", 7000, 7000, "hello"),
        Bar("T1", "sleeps", 3000, 5000, "sleep 1 s"),
        Bar("T2", "does", 8000, 8000, "read x: 1"),
        Bar("T1", "planned", 4000, 4000, "start"),
    ),
    10_000,
    "as claimed",
)


def test_every_kind_is_drawn_in_its_lane() -> None:
    picture = Page(svg(SMALL))
    for kind in ("runs", "holds", "waits", "sleeps"):
        assert len([one for one in picture.having("bar") if kind in one["class"]]) == 2, "in the lane and in the legend"
    assert len(picture.having("says")) == 2
    assert len(picture.having("step")) == len(picture.having("planned")) == 2
    assert "T2: is blocked lock, 2 to 6 ms" in svg(SMALL)


def test_as_text() -> None:
    assert text(SMALL, width=42).splitlines() == [
        "threads: two",
        "as claimed",
        "    0                                10 ms",
        "T1  ───████████····│····███────────────",
        "T2         ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒   ●   ╷",
        "█ holds a lock   ▒ is blocked   · sleeps",
    ]


def test_what_is_too_much_is_left_out_and_said() -> None:
    lanes = tuple(f"T{number}" for number in range(MOST_LANES + 5))
    bars = tuple(Bar("T1", "does", at, at, "x") for at in range(2 * MOST_BARS))
    drawn = svg(Timeline("many", lanes, bars, 2 * MOST_BARS))
    assert f"the first {MOST_LANES} of {MOST_LANES + 5} threads are drawn" in drawn
    assert f"drawn: 0 to 4 ms of 8 ms, {MOST_BARS:,} steps" in drawn
    assert len(Page(drawn).having("step")) == MOST_BARS + 1
    late = svg(Timeline("many", ("T1",), bars, 2 * MOST_BARS, broken=True))
    assert f"drawn: 4 to 8 ms of 8 ms, {MOST_BARS:,} steps" in late, "of a bad end, the end"


def test_hostile_names_and_lines_stay_text() -> None:
    bars = tuple(Bar(word, "says", at, at, word) for at, word in enumerate(EVIL))
    evil = Timeline(EVIL[0], EVIL, bars, 10, EVIL[1], True, (EVIL[2],))
    for draw in FORMATS.values():
        assert "\x1b" not in draw(evil)
    page = Page(html(evil))
    assert "img" not in page.tags
    assert page.tags.count("script") == 2
    assert set(re.findall(r"https?://[^\"' ]+", html(SMALL))) == {"http://www.w3.org/2000/svg"}


@pytest.mark.browser
def test_in_a_browser_the_threads_and_lines_are_listed(chromium: str, tmp_path: Path) -> None:
    page = open_page(chromium, tmp_path, html(SMALL), "lang=pt")
    assert page.text["printed"] == "T2hello"
    assert page.text["printed-title"] == "Impresso"
    assert page.text["threads"] == "T1—T2—"
