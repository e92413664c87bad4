"""`vez zoo`: algorithms with one mistake, each with a run that fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.markup import escape
from rich.syntax import Syntax

from vez.catalogue.zoo import ZOO, Specimen, find_specimen
from vez.cli.parameters.completion import complete_zoo
from vez.cli.parameters.option_checks import OutputFile
from vez.cli.printing.output import SUFFIXES, console, print_diagram, print_json
from vez.cli.printing.table_files import TABLE_SUFFIXES, markdown_table, write_table
from vez.cli.printing.tables import Column, print_table
from vez.cli.sim_sweep import shrunk_json
from vez.errors import Misuse
from vez.study.exhibit import Exhibit, exhibit, source


@click.command(short_help="Algorithms with one mistake each: find it.")
@click.argument("name", required=False, shell_complete=complete_zoo)
@click.option("--answer", is_flag=True, help="Also explain the mistake, and show the code.")
@click.option(
    "-o",
    "--output",
    type=OutputFile(*SUFFIXES, ".json"),
    help="Draw the run of NAME into a file: .txt, .mmd, .svg or .html; or write the list: .txt, .md or .json.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def zoo(name: str | None, answer: bool, output: Path | None, as_json: bool) -> None:
    """List the wrong algorithms of the zoo, or show a short run of NAME that fails.

    Each is a correct algorithm with one mistake put in. Read the run, guess the mistake, then ask for the --answer.

    \b
      vez zoo
      vez zoo twins
      vez zoo twins --answer
      vez zoo twins -o twins.html
      vez sim zoo:twins -n 3 --runs 200
    """
    if output is not None:
        _check_suffix(
            output, TABLE_SUFFIXES if name is None else tuple(SUFFIXES), "the list" if name is None else "a run"
        )
    if name is not None:
        shown = exhibit(find_specimen(name))
        if output is not None:
            print_diagram(shown.report, SUFFIXES[output.suffix.lower()], output)
            click.echo(f"wrote {output}", err=True)
        if as_json:
            print_json(_json(shown, answer))
        else:
            print_exhibit(shown, answer, drawn=output is not None)
        return
    if output is not None:
        write_table(
            output, lambda out: _print_list(out, answer), lambda: _list_markdown(answer), lambda: _list_json(answer)
        )
    if as_json:
        print_json(_list_json(answer))
    else:
        _print_list(console(), answer)


def _check_suffix(output: Path, suffixes: tuple[str, ...], what: str) -> None:
    if output.suffix.lower() not in suffixes:
        raise Misuse(
            f"{output}: {what} has no form with the suffix {output.suffix!r}",
            hint=f"use a name that ends in {' or '.join(suffixes)}",
        )


def _list_json(answer: bool) -> dict[str, Any]:
    return {"zoo": [_entry(specimen, answer) for specimen in ZOO.values()]}


def _entry(specimen: Specimen, answer: bool) -> dict[str, Any]:
    entry = {
        "name": specimen.name,
        "honest": specimen.honest.name,
        "breaks": str(specimen.breaks),
        "teaches": specimen.teaches,
    }
    return entry | ({"wrong": specimen.algorithm.wrong, "answer": specimen.answer} if answer else {})


def _json(shown: Exhibit, answer: bool) -> dict[str, Any]:
    found = _entry(shown.specimen, answer) | {
        "seed": shown.found.seed,
        "seeds_tried": shown.found.tried,
        "evidence": _verdict(shown),
        "scenario": msgspec.to_builtins(shown.short.scenario, str_keys=True),
        "shrunk": shrunk_json(shown.short),
        "trace": [msgspec.to_builtins(event) for event in shown.report.trace],
    }
    return found | ({"source": source(shown.specimen)} if answer else {})


def _verdict(shown: Exhibit) -> str:
    verdicts = {verdict.name: verdict.evidence for verdict in shown.report.verdicts}
    return verdicts[shown.specimen.breaks]


COLUMNS = (Column("name", style="cyan"), Column("meant to be"), Column("breaks"), Column("teaches"))


def _list_rows(answer: bool) -> list[list[str]]:
    rows = []
    for specimen in ZOO.values():
        wrong = f"\n[dim]{escape(specimen.algorithm.wrong)}[/]" if answer else ""
        rows.append([specimen.name, specimen.honest.name, str(specimen.breaks), escape(specimen.teaches) + wrong])
    return rows


def _list_markdown(answer: bool) -> str:
    return markdown_table([column.title for column in COLUMNS], _list_rows(answer))


def _print_list(out: Console, answer: bool) -> None:
    print_table(out, COLUMNS, _list_rows(answer), ruled=False)
    out.print("\nvez zoo NAME shows a run that fails; --answer says why.")


def print_exhibit(shown: Exhibit, answer: bool, *, drawn: bool) -> None:
    """Print the run of a specimen, and the answer if asked for."""
    specimen, out = shown.specimen, console()
    out.print(f"[bold]{specimen.name}[/]  meant to be {specimen.honest.name}. {escape(specimen.teaches)}\n")
    if not drawn:
        print_diagram(shown.report, "text", None)
    out.print(f"This run was found with seed {shown.found.seed} of zoo:{specimen.name} and then made short.")
    out.print(escape(shown.short.words))
    if not answer:
        out.print(f"What is wrong?\n  vez zoo {specimen.name} --answer", soft_wrap=True)
        return
    out.print(f"\n[bold]Answer:[/] {escape(specimen.answer)}\n")
    code = source(specimen)
    out.print(Syntax(code, "python", background_color="default") if out.is_terminal else escape(code))
