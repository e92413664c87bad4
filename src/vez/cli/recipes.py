"""`vez check recipe:`: the recipes that the checker knows, right and wrong."""

from __future__ import annotations

from rich.markup import escape

from vez.cli.output import console, print_json
from vez.cli.tables import Column, print_table
from vez.core.process import PARAMETER, marked
from vez.models.recipes import RECIPES, WRONG_RECIPES


def print_recipes(*, as_json: bool) -> None:
    """Print each recipe, what it is, or what is wrong with it, and its parameters."""
    known = RECIPES | WRONG_RECIPES
    summaries = {name: kind.wrong or (kind.__doc__ or "").partition("\n")[0] for name, kind in known.items()}
    if as_json:
        print_json(
            {
                name: {"what": summaries[name], "wrong": bool(kind.wrong), "parameters": marked(kind, PARAMETER)}
                for name, kind in known.items()
            }
        )
        return
    out = console()
    rows = [(name, "wrong" if kind.wrong else "", escape(summaries[name])) for name, kind in known.items()]
    print_table(out, [Column("recipe"), Column(""), Column("what it is, or what is wrong")], rows)
    parameters = dict.fromkeys(name for kind in known.values() for name in marked(kind, PARAMETER))
    out.print(f"parameters (--set): {', '.join(parameters)}")
    out.print("check one: vez check recipe:NAME")
