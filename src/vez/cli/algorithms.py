"""`vez algorithms`: lists the algorithms, with their assumptions and guarantees."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape

from vez import plugins
from vez.catalogue.algorithms import ALGORITHMS
from vez.catalogue.load import load_algorithm, load_plugin
from vez.cli.parameters.completion import complete_algorithm
from vez.cli.printing.output import console, print_json
from vez.cli.printing.table_files import markdown_table, table_option, write_table
from vez.cli.printing.tables import Column, print_table
from vez.core import class_rules
from vez.core.process import PARAMETER, Process, marked, name_of
from vez.errors import BrokenPlugin
from vez.study.algorithm_header import header


@click.command(short_help="List the algorithms.")
@click.argument("name", required=False, shell_complete=complete_algorithm)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@table_option
def algorithms(name: str | None, as_json: bool, output: Path | None) -> None:
    """List all algorithms, or describe NAME: its idea, source, assumptions, guarantees and parameters.

    NAME is a name from the list, or a class of your own: path/to/file.py:Class.
    """
    text: Callable[[Console], None]
    markdown: Callable[[], str]
    if name is None:
        value: dict[str, Any] = {
            "algorithms": [describe(algorithm) for algorithm in ALGORITHMS.values()],
            "plugins": [_describe_plugin(name) for name in plugins.entries(plugins.ALGORITHMS)],
        }
        text, markdown = _print_all, _all_markdown
    else:
        algorithm = load_algorithm(name)
        class_rules.check_defaults(algorithm, "process")
        value = describe(algorithm)
        text, markdown = partial(_print_one, algorithm), partial(_one_markdown, algorithm)
    if output is not None:  # before printing, because the reader of standard output may close it
        write_table(output, text, markdown, lambda: value)
    if as_json:
        print_json(value)
    else:
        text(console())


def describe(algorithm: type[Process]) -> dict[str, Any]:
    """Everything that an algorithm declares about itself."""
    page = header(algorithm)
    return {
        "name": name_of(algorithm),
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


def _describe_plugin(name: str) -> dict[str, Any]:
    """The description of a plug-in, or the reason why it cannot be used. The rest of the list does not depend on it."""
    package = plugins.package_of(plugins.entries(plugins.ALGORITHMS)[name])
    try:
        return {**describe(load_plugin(name)), "name": name, "package": package}
    except BrokenPlugin as error:
        return {"name": name, "package": package, "broken": error.message}


def _all_rows() -> list[tuple[str, list[list[str]]]]:
    """A title for each role, and the rows of its algorithms: name and summary."""
    found = []
    for role, title in (("mutex", "Mutual exclusion"), ("election", "Leader election")):
        mine = [one for one in ALGORITHMS.values() if one.role == role]
        found.append((title, [[one.name, _summary(one, header(one).get("Source", ""))] for one in mine]))
    entries = plugins.entries(plugins.ALGORITHMS)
    plugged = [[name, _plugged(name, plugins.package_of(entry))] for name, entry in entries.items()]
    return [*found, ("From other packages", plugged)] if plugged else found


def _plugged(name: str, package: str) -> str:
    try:
        return _summary(load_plugin(name), package)
    except BrokenPlugin as error:
        return f"[red]{escape(error.message)}[/]"


def _summary(algorithm: type[Process], source: str) -> str:
    """The summary of an algorithm, and in a second line its topology, its assumptions and its source."""
    assumes = ", ".join(map(str, algorithm.assumes)) or "nothing"
    wrong = f"\n[red]wrong on purpose: {escape(algorithm.wrong)}[/]" if algorithm.wrong else ""
    details = f"{algorithm.topology.name}; assumes {assumes}; {source}"
    return f"{escape(header(algorithm)['Summary'])}{wrong}\n[dim]{escape(details)}[/]"


def _print_all(out: Console) -> None:
    for title, rows in _all_rows():
        out.print(f"[bold]{title}[/]")
        print_table(out, [Column(style="cyan"), Column()], rows, ruled=False)
    out.print("\nvez algorithms NAME says more; vez sim NAME runs it.")


def _all_markdown() -> str:
    return "\n".join(f"## {title}\n\n{markdown_table(['name', 'algorithm'], rows)}" for title, rows in _all_rows())


def _print_one(algorithm: type[Process], out: Console) -> None:
    out.print(f"[bold]{escape(name_of(algorithm))}[/]  {escape(header(algorithm)['Summary'])}")
    if algorithm.wrong:
        out.print(f"[bold red]wrong on purpose:[/] {escape(algorithm.wrong)}")
    print_table(out, [Column(style="dim"), Column()], _one_rows(algorithm), ruled=False)


def _one_markdown(algorithm: type[Process]) -> str:
    title = f"## {name_of(algorithm)}\n\n{header(algorithm)['Summary']}\n\n"
    wrong = f"**Wrong on purpose:** {algorithm.wrong}\n\n" if algorithm.wrong else ""
    return title + wrong + markdown_table(["about", "what"], _one_rows(algorithm))


def _one_rows(algorithm: type[Process]) -> list[list[str]]:
    page = header(algorithm)
    page.pop("Summary")
    rows = [[label.lower(), escape(text)] for label, text in page.items()]
    rows.append(["topology", algorithm.topology.name])
    rows += [[f"assumes {assumption}", assumption.meaning] for assumption in algorithm.assumes]
    rows += [[f"promises {guarantee}", guarantee.meaning] for guarantee in algorithm.guarantees]
    for name in marked(algorithm, PARAMETER):
        rows.append([f"parameter {name}", escape(f"{getattr(algorithm(), name)!r}   (--set {name}=…)")])
    return rows
