"""Opens pages in a real browser."""

from __future__ import annotations

import subprocess
from html.parser import HTMLParser
from pathlib import Path

from vez.core.trace import Trace
from vez.draw import html
from vez.judge.properties.verdict import Verdict


class Page(HTMLParser):
    """The elements of a page with their attributes, its scripts, its body, and the text of each element with an id."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.elements: list[dict[str, str]] = []
        self.scripts: list[str] = []
        self.body: dict[str, str | None] = {}
        self.text: dict[str, str] = {}
        self._open: list[tuple[str, str | None]] = []
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.elements.append({name: value or "" for name, value in attrs})
        self._open.append((tag, dict(attrs).get("id")))
        if tag == "script":
            self.scripts.append("")
        if tag == "body":
            self.body = dict(attrs)

    def having(self, name: str) -> list[dict[str, str]]:
        """The elements of a class."""
        return [element for element in self.elements if name in element.get("class", "").split()]

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1][0] == "script":
            self.scripts[-1] += data
        for _, name in self._open:
            if name:
                self.text[name] = self.text.get(name, "") + data


def open_page(chromium: str, folder: Path, page: str, moment: str = "", budget_ms: int = 3000) -> Page:
    """A page after some time in a browser. Fails if the browser reported an error."""
    file = folder / "page.html"
    file.write_text(page, encoding="utf-8")
    quiet = ("no-first-run", "disable-background-networking", "disable-component-update", "disable-sync")
    options = ("headless", "no-sandbox", "disable-gpu", *quiet, "enable-logging=stderr", "dump-dom")
    more = (f"user-data-dir={folder / 'profile'}", f"virtual-time-budget={budget_ms}")
    done = subprocess.run(
        [chromium, *(f"--{option}" for option in (*options, *more)), f"{file.as_uri()}#{moment}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "CONSOLE" not in done.stderr
    return Page(done.stdout)


def look(chromium: str, folder: Path, trace: Trace, verdicts: tuple[Verdict, ...], moment: str) -> Page:
    """The page of a trace, opened at a moment."""
    return open_page(chromium, folder, html(trace, verdicts), moment)
