"""`vez algorithms`: the algorithms, and what each assumes and guarantees."""

from __future__ import annotations

from typing import Any

import click
from rich.markup import escape

from vez.algorithms import ALGORITHMS
from vez.cli.names import complete_algorithm
from vez.cli.output import console, print_json
from vez.cli.tables import Column, print_table
from vez.core import guards
from vez.core.process import PARAMETER, Process, marked
from vez.study import load_algorithm
from vez.study.headers import header


@click.command(short_help="List the algorithms.")
@click.argument("name", required=False, shell_complete=complete_algorithm)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def algorithms(name: str | None, as_json: bool) -> None:
    """List all algorithms, or describe NAME: its idea, source, assumptions, guarantees and parameters.

    NAME is a name from the list, or a class of your own: path/to/file.py:Class.
    """
    if name is not None:
        algorithm = load_algorithm(name)
        guards.check_defaults(algorithm, "process")
        if as_json:
            print_json(describe(algorithm))
        else:
            _print_one(algorithm)
    elif as_json:
        print_json({"algorithms": [describe(algorithm) for algorithm in ALGORITHMS.values()]})
    else:
        _print_all()


def describe(algorithm: type[Process]) -> dict[str, Any]:
    """All that an algorithm declares about itself."""
    page = header(algorithm)
    return {
        "name": algorithm.name or algorithm.__name__,
        "role": algorithm.role,
        "summary": page["Summary"],
        "idea": page.get("Idea", ""),
        "source": page.get("Source", ""),
        "topology": algorithm.topology.name,
        "assumes": [str(assumption) for assumption in algorithm.assumes],
        "guarantees": [str(guarantee) for guarantee in algorithm.guarantees],
        "messages": page.get("Messages", ""),
        "deviations": page.get("Deviations", ""),
        "parameters": {name: getattr(algorithm(), name) for name in marked(algorithm, PARAMETER)},
        "wrong": algorithm.wrong,
    }


def _print_all() -> None:
    out = console()
    for role, title in (("mutex", "Mutual exclusion"), ("election", "Leader election")):
        out.print(f"[bold]{title}[/]")
        rows = []
        for algorithm in (one for one in ALGORITHMS.values() if one.role == role):
            page = header(algorithm)
            assumes = ", ".join(map(str, algorithm.assumes)) or "nothing"
            wrong = f"\n[red]wrong on purpose: {escape(algorithm.wrong)}[/]" if algorithm.wrong else ""
            details = f"{algorithm.topology.name}; assumes {assumes}; {page.get('Source', '')}"
            rows.append([algorithm.name, f"{escape(page['Summary'])}{wrong}\n[dim]{escape(details)}[/]"])
        print_table(out, [Column(style="cyan"), Column()], rows, ruled=False)
    out.print("\nvez algorithms NAME says more; vez sim NAME runs it.")


def _print_one(algorithm: type[Process]) -> None:
    out = console()
    page = header(algorithm)
    out.print(f"[bold]{escape(algorithm.name or algorithm.__name__)}[/]  {escape(page.pop('Summary'))}")
    if algorithm.wrong:
        out.print(f"[bold red]wrong on purpose:[/] {escape(algorithm.wrong)}")
    rows = [[label.lower(), escape(text)] for label, text in page.items()]
    rows.append(["topology", algorithm.topology.name])
    rows += [[f"assumes {assumption}", assumption.meaning] for assumption in algorithm.assumes]
    rows += [[f"promises {guarantee}", guarantee.meaning] for guarantee in algorithm.guarantees]
    for name in marked(algorithm, PARAMETER):
        rows.append([f"parameter {name}", escape(f"{getattr(algorithm(), name)!r}   (--set {name}=…)")])
    print_table(out, [Column(style="dim"), Column()], rows, ruled=False)
