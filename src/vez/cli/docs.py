"""`vez docs`: the pages of the documentation, which are part of the package."""

from __future__ import annotations

from pathlib import Path

import click

from vez.cli.parameters.completion import complete
from vez.errors import MissingFile, Misuse, UnknownName


def folder() -> Path:
    """The folder of the pages: inside an installed package, or beside `src/` in a clone."""
    package = Path(__file__).parents[1]
    found = [path for path in (package / "_docs", package.parents[1] / "docs") if path.is_dir()]
    if not found:
        raise MissingFile("this installation of vez has no pages of documentation", hint="install vez again")
    return found[0]


def pages() -> dict[str, Path]:
    """Every page by the name of its file. If two files have the same name, the second has its folder before it.
    Decisions come last."""
    found: dict[str, Path] = {}
    for path in sorted(folder().rglob("*.md"), key=lambda path: ("decisions" in path.parts, len(path.parts), path)):
        name = path.stem if path.stem not in found else f"{path.parent.name}/{path.stem}"
        found[name] = path
    return found


@click.command(short_help="Print a page of the documentation.")
@click.argument("page", required=False, shell_complete=complete(pages))
def docs(page: str | None) -> None:
    """List the pages of the documentation, or print the one called PAGE as Markdown.

    \b
      vez docs
      vez docs scenarios
      vez docs take-turns | less
    """
    known = pages()
    if page is None:
        for name, path in known.items():
            click.echo(f"{name:32}  {_title(path)}")
    elif page not in known:
        error = UnknownName("page", page, known)
        raise error if error.near else Misuse(error.message, hint="`vez docs` lists the pages")
    else:
        click.echo(known[page].read_text(encoding="utf-8"), nl=False)


def _title(path: Path) -> str:
    lines = path.read_text(encoding="utf-8").splitlines()
    return next((line for line in lines if line.startswith("# ")), "").removeprefix("# ").replace("`", "")
