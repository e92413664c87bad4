"""Opens pages in a real browser."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

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


QUIET = ("no-first-run", "disable-background-networking", "disable-component-update", "disable-sync")


def open_page(chromium: str, folder: Path, page: str, moment: str = "", budget_ms: int = 3000) -> Page:
    """A page after some time in a browser. Fails if the browser reported an error."""
    file = folder / "page.html"
    file.write_text(page, encoding="utf-8")
    options = ("headless", "no-sandbox", "disable-gpu", *QUIET, "enable-logging=stderr", "dump-dom")
    files = ("allow-file-access-from-files", f"user-data-dir={folder / 'profile'}")
    done = subprocess.run(
        [chromium, *(f"--{one}" for one in (*options, *files, f"virtual-time-budget={budget_ms}")),
         f"{file.as_uri()}#{moment}"],
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )  # fmt: skip
    assert "CONSOLE" not in done.stderr, done.stderr
    return Page(done.stdout)


def look(chromium: str, folder: Path, trace: Trace, verdicts: tuple[Verdict, ...], moment: str) -> Page:
    """The page of a trace, opened at a moment."""
    return open_page(chromium, folder, html(trace, verdicts), moment)


def measure(
    chromium: str, folder: Path, pages: Mapping[str, str], size: tuple[int, int], moments: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """What `measure.js` finds in each page at each moment, in a window of that size."""
    for name, page in pages.items():
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    job = {"pages": list(pages), "width": size[0], "height": size[1], "moments": list(moments)}
    script = Path(__file__).with_name("measure.js").read_text(encoding="utf-8")
    body = f'<pre id="findings"></pre><script>const JOB = {json.dumps(job)};\n{script}</script>'
    budget = 2000 + len(pages) * (400 + 100 * len(moments))
    found = open_page(chromium, folder, f"<!doctype html><body>{body}", budget_ms=budget)
    return dict(json.loads(found.text["findings"]))
