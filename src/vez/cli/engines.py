"""`vez engines`: the engines, their traits, and the packages that are missing to use them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from rich.markup import escape

from vez import plugins
from vez.cli.parameters.completion import complete, complete_algorithm
from vez.cli.parameters.option_checks import only_with
from vez.cli.printing.output import console, print_json
from vez.cli.printing.tables import Column, print_table
from vez.errors import BrokenPlugin, Misuse
from vez.locks.engines import ENGINES, provider, schemes
from vez.locks.engines.base import Traits
from vez.locks.engines.promises import freed, missing, rows


@click.command(short_help="List the engines.")
@click.argument("scheme", required=False, shell_complete=complete(schemes))
@click.option("--algorithm", metavar="NAME", shell_complete=complete_algorithm,
              help="With peers: what a group with this algorithm gives and does not tolerate.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def engines(scheme: str | None, algorithm: str | None, as_json: bool) -> int:
    """List the engines: who can take part, when the lock of a dead holder is free, and what is missing to use it.

    With SCHEME, for example `file`, all that this engine gives and does not give. Engines of other packages are listed
    too; one that is broken is named and harms nothing else. What `peers` gives depends on the algorithm: name it with
    --algorithm.
    """
    only_with("SCHEME", scheme is not None, "algorithm")
    found = [_describe(one, algorithm) for one in ([scheme.removesuffix(":")] if scheme else schemes())]
    if scheme and "broken" in found[0]:
        raise BrokenPlugin(found[0]["broken"])
    if as_json:
        print_json(found[0] if scheme else {"engines": found})
    elif scheme:
        _print_one(found[0])
    else:
        _print_all(found)
    return 0


def _describe(scheme: str, algorithm: str | None) -> dict[str, Any]:
    entry = None if scheme in ENGINES else plugins.entries(plugins.ENGINES).get(scheme)
    package = "vez" if entry is None else plugins.package_of(entry)
    try:
        found = provider(scheme)
        traits = found.TRAITS if algorithm is None else _traits_by(scheme, algorithm)
        told = [{"what": what, "here": here} for what, here in rows(traits)]
    except (BrokenPlugin, AttributeError, KeyError, TypeError) as error:
        if entry is None:
            raise
        why = error.message if isinstance(error, BrokenPlugin) else f"its traits cannot be read: {error!r}"
        return {"scheme": scheme, "package": package, "broken": why}
    return {
        "scheme": scheme,
        **({} if algorithm is None else {"algorithm": algorithm}),
        "package": package,
        "needs": found.NEEDS,
        "missing": missing(found.NEEDS),
        "traits": traits._asdict(),
        "gives": told,
        "free": freed(traits),
    }


def _traits_by(scheme: str, algorithm: str) -> Traits:
    """The traits of an engine with this algorithm."""
    by: Callable[[str], Traits] | None = getattr(provider(scheme), "traits_by", None)
    if by is None:
        raise Misuse(f"{scheme}: does not work by an algorithm that can be chosen", hint="leave --algorithm out")
    return by(algorithm)


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
    by = f" by {escape(one['algorithm'])}" if "algorithm" in one else ""
    out.print(f"[bold]{escape(one['scheme'])}:{by}[/]  {_to_use(one)}  [dim]({escape(one['package'])})[/]")
    lines = [[row["what"], escape(row["here"])] for row in one["gives"]]
    print_table(out, [Column(style="dim"), Column()], lines, ruled=False)
    for note in one["traits"]["notes"]:
        out.print(f"- {escape(note)}")
