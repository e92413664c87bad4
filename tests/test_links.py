"""Every page of the documentation can be reached from `docs/index.md`, and no relative link is dead."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parent.parent
INDEX = ROOT / "docs" / "index.md"
CODE = re.compile(r"^(```|~~~).*?^\1[^\n]*$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|(?:src|href)=\"([^\"]+)\"")
HEADING = re.compile(r"^#{1,6} +(.+?)(?: +#+)?$", re.MULTILINE)


def markdown_files() -> list[Path]:
    """The Markdown files that git knows, or would add."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    found = [ROOT / line for line in listed.stdout.splitlines()] or [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    return sorted(path for path in found if path.exists())


def prose(text: str) -> str:
    return CODE.sub("", text)


def links(page: Path) -> list[str]:
    """The relative links of a page, as they are written."""
    found = (markdown or html for markdown, html in LINK.findall(prose(page.read_text(encoding="utf-8"))))
    return [link for link in found if not re.match(r"[a-z][a-z0-9+.-]*:|//", link)]


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    text = re.sub(r"^(```|~~~).*?^\1[^\n]*$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    seen: dict[str, int] = {}
    found = set()
    for heading in HEADING.findall(text):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        count = seen[slug] = seen.get(slug, -1) + 1
        found.add(f"{slug}-{count}" if count else slug)
    return found


def dead(page: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    found = []
    for link in links(page):
        path, _, anchor = unquote(link).partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            found.append(link)
    return found


@pytest.mark.parametrize("page", markdown_files(), ids=lambda page: str(page.relative_to(ROOT)))
def test_no_relative_link_is_dead(page: Path) -> None:
    assert dead(page) == []


def test_the_index_leads_to_every_page() -> None:
    reached, todo = {INDEX}, [INDEX]
    while todo:
        page = todo.pop()
        for link in links(page):
            target = (page.parent / unquote(link).partition("#")[0]).resolve()
            if target.suffix == ".md" and target.exists() and target not in reached:
                reached.add(target)
                todo.append(target)
    pages = {path.resolve() for path in (ROOT / "docs").rglob("*.md")}
    assert sorted(str(path.relative_to(ROOT)) for path in pages - reached) == []


def test_the_index_leads_to_every_scenario() -> None:
    page = ROOT / "docs" / "reference" / "scenario-list.md"
    linked = {(page.parent / link).resolve() for link in links(page)}
    assert {path.resolve() for path in (ROOT / "scenarios").iterdir()} <= linked


def test_dead_links_and_anchors_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    (tmp_path / "other.md").write_text("# One `two`: three\n\n## Again\n\n## Again\n")
    page.write_text(
        "[a](other.md) [b](other.md#one-two-three) [c](other.md#again-1) [d](#here) <img src=\"none.svg\">\n\n# Here\n\n"
        "[x](missing.md) [y](other.md#four) [z](#there) `[code](no.md)` [web](https://example.org)\n"
        "```text\n[code](no.md)\n```\n"
    )  # fmt: skip
    assert dead(page) == ["none.svg", "missing.md", "other.md#four", "#there"]


def test_the_architecture_names_folders_and_files_that_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w./-]+/[\w./-]*)`", text)
    bases = (ROOT, ROOT / "src", ROOT / "src" / "vez")
    inside = tuple(path.parent for path in (ROOT / "src" / "vez").glob("*/**/__init__.py"))
    assert [name for name in named if not any((base / name).exists() for base in (*bases, *inside))] == []
    folders = {path.name for path in (ROOT / "src" / "vez").glob("*/") if (path / "__init__.py").exists()}
    assert {folder for folder in folders if f"`{folder}/`" not in text} == set()


def test_nothing_cites_a_numbered_text() -> None:
    """`docs/sources.md` has the names of the course notes; a number means nothing outside, and looks like `--seed`."""
    numbered = re.compile(r"\bseeds? 0\d\d\b|\bseeds?\'s? (?:footnote|diagram|Part)|beyond the seeds", re.IGNORECASE)
    places = [*ROOT.glob("src/**/*.py"), *ROOT.glob("scenarios/*"), *markdown_files()]
    assert [str(path.relative_to(ROOT)) for path in places if numbered.search(path.read_text(encoding="utf-8"))] == []
