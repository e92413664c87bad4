"""`vez engines`: where turns can be kept, what each engine gives, and what is missing to use it."""

from __future__ import annotations

from typing import Any

import click
import msgspec
from rich.markup import escape

from vez import plugins
from vez.cli.names import complete
from vez.cli.output import console, print_json
from vez.cli.tables import Column, print_table
from vez.engines import ENGINES, provider, schemes
from vez.engines.promises import freed, missing, rows
from vez.errors import BrokenPlugin


@click.command(short_help="List the engines.")
@click.argument("scheme", required=False, shell_complete=complete(schemes))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def engines(scheme: str | None, as_json: bool) -> int:
    """List the engines: who can take part, when the lock of a dead holder is free, and what is missing to use it.

    With SCHEME, for example `file`, all that this engine gives and does not give. Engines of other packages are listed
    too; one that is broken is named and harms nothing else.
    """
    found = [_describe(one) for one in ([scheme.removesuffix(":")] if scheme else schemes())]
    if scheme and "broken" in found[0]:
        raise BrokenPlugin(found[0]["broken"])
    if as_json:
        print_json(found[0] if scheme else {"engines": found})
    elif scheme:
        _print_one(found[0])
    else:
        _print_all(found)
    return 0


def _describe(scheme: str) -> dict[str, Any]:
    entry = None if scheme in ENGINES else plugins.entries(plugins.ENGINES).get(scheme)
    package = "vez" if entry is None else plugins.package_of(entry)
    try:
        found = provider(scheme)
        traits = found.TRAITS
        told = [{"what": what, "here": here} for what, here in rows(traits)]
    except (BrokenPlugin, AttributeError, KeyError, TypeError) as error:
        if entry is None:
            raise
        why = error.message if isinstance(error, BrokenPlugin) else f"its traits cannot be read: {error!r}"
        return {"scheme": scheme, "package": package, "broken": why}
    return {
        "scheme": scheme,
        "package": package,
        "needs": found.NEEDS,
        "missing": missing(found.NEEDS),
        "traits": msgspec.to_builtins(traits),
        "gives": told,
        "free": freed(traits),
    }


def _to_use(one: dict[str, Any]) -> str:
    if one["missing"]:
        return f"[yellow]missing: {escape(', '.join(one['missing']))}; pip install {escape(repr(one['needs']))}[/]"
    return "ready"


def _print_all(found: list[dict[str, Any]]) -> None:
    lines = []
    for one in found:
        name = f"[cyan]{escape(one['scheme'])}:[/]"
        if "broken" in one:
            lines.append([name, f"[red]{escape(one['broken'])}[/]", "", "", "broken"])
            continue
        here = {row["what"]: row["here"] for row in one["gives"]}
        token = "yes" if one["traits"]["token"] else "no"
        lines.append([name, here["who can take part"], one["free"], token, _to_use(one)])
    columns = ["engine", "who can take part", "lock of a dead holder is free", "token", "to use it"]
    out = console()
    print_table(out, [Column(title) for title in columns], lines)
    out.print("vez engines SCHEME says more; vez doctor URL looks at a real one.", soft_wrap=True)


def _print_one(one: dict[str, Any]) -> None:
    out = console()
    out.print(f"[bold]{escape(one['scheme'])}:[/]  {_to_use(one)}  [dim]({escape(one['package'])})[/]")
    lines = [[row["what"], escape(row["here"])] for row in one["gives"]]
    print_table(out, [Column(style="dim"), Column()], lines, ruled=False)
    for note in one["traits"]["notes"]:
        out.print(f"- {escape(note)}")
