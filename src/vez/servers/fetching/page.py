"""A page that needs twelve files: two style sheets, three scripts and seven pictures."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

STYLES = ("style.css", "print.css")
SCRIPTS = ("menu.js", "search.js", "table.js")
PICTURES = tuple(f"picture-{number}.svg" for number in range(1, 8))
FILES = (*STYLES, *SCRIPTS, *PICTURES)
INDEX = "index.html"

_TELL = """
addEventListener("load", () => setTimeout(() => {
  const of = entry => ({name: entry.name, queued: entry.startTime, connecting: entry.connectStart,
    connected: entry.connectEnd, sent: entry.requestStart, first: entry.responseStart, end: entry.responseEnd});
  const entries = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
  document.getElementById("timing").textContent = JSON.stringify(entries.map(of));
}));
"""
"""A script that writes the browser's own record of its requests into the page, where `--dump-dom` shows it."""


def write_page(folder: Path) -> None:
    """Write the page and its files into a folder."""
    links = [f'<link rel="stylesheet" href="{name}">' for name in STYLES]
    links += [f'<script src="{name}" defer></script>' for name in SCRIPTS]
    images = "".join(f'<img src="{name}" width="120" height="80" alt="{name}">' for name in PICTURES)
    # An icon is named, and empty, so that a browser does not ask for a thirteenth file.
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,">{"".join(links)}'
    body = f'<h1>Twelve files</h1><p>{images}</p><pre id="timing" hidden></pre><script>{_TELL}</script>'
    (folder / INDEX).write_text(f"{head}<title>A page and its files</title><body>{body}</body></html>\n")
    for place, name in enumerate(FILES):
        (folder / name).write_text(_content(name, place))


def _content(name: str, place: int) -> str:
    if name.endswith(".css"):
        return f"/* {name} */\n" + "".join(f".rule-{number} {{ margin: {number}px }}\n" for number in range(60))
    if name.endswith(".js"):
        return f"// {name}\n" + "".join(f"const value{place}_{number} = {number};\n" for number in range(120))
    dots = "".join(
        f'<circle cx="{number * 37 % 120}" cy="{number * 53 % 80}" r="{number % 9 + 2}" '
        f'fill="hsl({number * 11 + place * 40} 60% 55%)"/>'
        for number in range(60)
    )
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120 80">{dots}</svg>\n'


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "link" and given.get("rel") == "stylesheet":
            self.found.append(given.get("href") or "")
        elif tag in ("script", "img"):
            self.found.append(given.get("src") or "")


def needed(html: str) -> list[str]:
    """The files that a page needs from its own server, in the order in which they are named, each once."""
    links = _Links()
    links.feed(html)
    own = (name for name in links.found if name and ":" not in name and not name.startswith("//"))
    return list(dict.fromkeys(own))
