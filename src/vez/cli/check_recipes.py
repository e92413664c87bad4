"""`vez check recipe:`: the recipes that the checker knows, right and wrong."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from typing import Any

import click
from click.core import ParameterSource
from rich.markup import escape

from vez.cli.printing.output import console, print_json
from vez.cli.printing.tables import Column, print_table
from vez.core.process import PARAMETER, marked
from vez.locks.models.recipes import RECIPES, WRONG_RECIPES

_HOW = (
    "algorithm",
    "first",
    "jobs",
    "max_states",
    "max_memory",
    "diagram",
    "output",
    "save_scenario",
    "trace_file",
    "as_json",
)
"""Options that do not change which runs are explored."""


def print_recipes(*, as_json: bool) -> None:
    """Print each recipe with its description and parameters; for a wrong one, its mistake and the options that find
    it."""
    known = RECIPES | WRONG_RECIPES
    summaries = {name: kind.wrong or (kind.__doc__ or "").partition("\n")[0] for name, kind in known.items()}
    options = {name: WRONG_RECIPES[name].found_with if name in WRONG_RECIPES else "" for name in known}
    if as_json:
        print_json(
            {
                name: {
                    "what": summaries[name],
                    "wrong": bool(kind.wrong),
                    "check": f"vez check {name} {options[name]}".rstrip(),
                    "parameters": marked(kind, PARAMETER),
                }
                for name, kind in known.items()
            }
        )
        return
    out = console()
    rows = [
        (name, "wrong" if kind.wrong else "", escape(summaries[name]), escape(options[name]))
        for name, kind in known.items()
    ]
    titles = ("recipe", "", "what it is, or what is wrong", "found with")
    print_table(out, [Column(title) for title in titles], rows)
    parameters = dict.fromkeys(name for kind in known.values() for name in marked(kind, PARAMETER))
    out.print(f"parameters (--set): {', '.join(parameters)}")
    out.print("check one: vez check recipe:NAME; without options, a wrong one is checked with those that find it")


def as_found(options: dict[str, Any], given: Collection[str]) -> dict[str, Any]:
    """The options for a wrong recipe: those that find its mistake, unless the user chose what to explore."""
    kind = WRONG_RECIPES.get(options["algorithm"])
    if kind is None or not kind.found_with or set(given).difference(_HOW):
        return options
    command = click.get_current_context().command
    asked = command.make_context("check", [kind.name, *shlex.split(kind.found_with)])
    typed = {name for name in asked.params if asked.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    click.echo(f"vez: {kind.name} is wrong on purpose; checked with {kind.found_with}", err=True)
    return options | {name: asked.params[name] for name in typed}
