"""`vez detectors`: failure detectors side by side, under delays, loss, a slow observer and a real crash."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console

from vez.cli.parameters.forms import DELAY
from vez.cli.parameters.numbers import Number
from vez.cli.parameters.option_checks import OutputFile, deprecated, not_together
from vez.cli.printing.charts import json_option, save
from vez.cli.printing.output import console, print_json
from vez.cli.printing.progress import progress
from vez.cli.printing.table_files import markdown_table, write_table
from vez.cli.printing.tables import Column, print_table
from vez.core.detectors import Settings
from vez.study.detection.chart import chart
from vez.study.detection.curves import count, curves
from vez.study.detection.quality import CONDITIONS, Condition, Quality, assess, candidates

CURVE_BEATS = 4000
CURVE_TRIALS = 40
"""Number of trials for a point of a curve. It is lower than for a row of the table, because there are hundreds of
points."""
CHARTS = (".svg", ".txt")
"""Suffixes of the chart; the table goes into the other formats."""
TITLES = ("detection ms", "slowest", "mistakes", "per second", "lasting ms", "query accuracy")
COLUMNS = (Column("detector"), *(Column(title, right=True) for title in TITLES))


@click.command(short_help="Compare failure detectors.")
@click.option("--delay", type=DELAY, help="Delay of a heartbeat: exponential(4), pareto(1,1.5), …")
@click.option("--loss", type=Number(0, 1), metavar="P", help="Chance that a heartbeat is lost.")
@click.option("--pause", type=Number(0, 1000, max_open=True), metavar="MS",
              help="The observer stops for this time in every second.")  # fmt: skip
@click.option(
    "--interval",
    "interval_ms",
    type=Number(0.01),
    default=5.0,
    show_default=True,
    metavar="MS",
    help="Time between heartbeats.",
)
@click.option(
    "--timeout",
    "timeout_ms",
    type=Number(0),
    default=15.0,
    show_default=True,
    metavar="MS",
    help="heartbeat: the timeout; adaptive: the first timeout.",
)
@click.option(
    "--step",
    "step_ms",
    type=Number(0),
    default=5.0,
    show_default=True,
    metavar="MS",
    help="adaptive: added to the timeout after each mistake.",
)
@click.option(
    "--threshold",
    type=Number(0, 300, min_open=True),
    default=8.0,
    show_default=True,
    metavar="PHI",
    help="phi: suspect above this value.",
)
@click.option("--window", type=click.IntRange(2, 100_000), default=100, show_default=True, metavar="N",
              help="phi: number of the latest intervals that it uses.")  # fmt: skip
@click.option(
    "--beats",
    type=click.IntRange(100, 10_000_000),
    default=20_000,
    show_default=True,
    metavar="N",
    help="Heartbeats of the run without a crash, in which mistakes are counted.",
)
@click.option("--trials", type=click.IntRange(1, 100_000), default=200, show_default=True, metavar="N",
              help="Number of crashes, of which the detection is timed.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Decides everything random.")
@click.option("--plot", type=OutputFile(".svg"), hidden=True)
@click.option(
    "-o",
    "--output",
    type=OutputFile(*CHARTS, ".md", ".json"),
    help="Write the chart to a file: .svg or .txt; or the table: .md or .json.",
)
@json_option
def detectors(**options: Any) -> None:
    """Compare failure detectors: how soon they notice a crash, and how often they suspect a living process.

    The measures are those of Chen, Toueg and Aguilera (2002): detection time, mistake rate, mistake duration and
    query accuracy. Five standard cases are measured, or one: that of --delay, --loss and --pause.

    \b
      vez detectors
      vez detectors --delay "lognormal(2,1)" --timeout 30
      vez detectors -o detectors.svg
    """
    not_together("output", "plot")
    if options["plot"]:
        deprecated("--plot", "-o")
        options["output"] = options["plot"]
    settings = Settings(**{name: options[name] for name in Settings.__struct_fields__ if name in options})
    conditions = _conditions(options)
    output: Path | None = options["output"]
    charted = output is not None and output.suffix.lower() in CHARTS
    steps = len(conditions) * len(candidates(settings)) + (count(conditions, settings) if charted else 0)
    with progress("measuring", steps) as step:
        found = _assess(settings, conditions, options, step)
        drawn = curves(
            settings, conditions, beats=CURVE_BEATS, trials=CURVE_TRIALS, seed=options["seed"], progress=step
        ) if charted else []  # fmt: skip
    if output and charted:
        save(chart(drawn, settings.interval_ms), output)
    elif output:
        write_table(
            output,
            lambda out: _print(out, found, settings, conditions, options),
            lambda: _markdown(found),
            lambda: _json(found, settings, conditions, options),
        )
    if options["as_json"]:
        print_json(_json(found, settings, conditions, options))
    else:
        _print(console(), found, settings, conditions, options)


def _conditions(options: dict[str, Any]) -> tuple[Condition, ...]:
    given = {name: options[name] for name in ("delay", "loss") if options[name] is not None}
    if options["pause"] is not None:
        given["pause_ms"] = options["pause"]
    return (Condition("as given", **given),) if given else CONDITIONS


def _assess(
    settings: Settings, conditions: tuple[Condition, ...], options: dict[str, Any], progress: Callable[[], None]
) -> list[Quality]:
    found = []
    for condition in conditions:
        for candidate in candidates(settings):
            measured = assess(
                candidate, condition, beats=options["beats"], trials=options["trials"], seed=options["seed"]
            )
            found.append(measured)
            progress()
    return found


def _json(
    found: list[Quality], settings: Settings, conditions: tuple[Condition, ...], options: dict[str, Any]
) -> dict[str, Any]:
    return {
        "settings": {name: getattr(settings, name) for name in settings.__struct_fields__ if name != "tail"},
        "beats": options["beats"],
        "trials": options["trials"],
        "seed": options["seed"],
        "conditions": [msgspec.structs.asdict(condition) for condition in conditions],
        "detectors": [msgspec.structs.asdict(quality) for quality in found],
        "files": _files(options["output"]),
    }


def _files(output: Path | None) -> dict[str, str]:
    if output is None:
        return {}
    return {"plot" if output.suffix.lower() in CHARTS else "table": str(output)}


def _markdown(found: list[Quality]) -> str:
    rows = [[quality.condition, quality.detector, *_cells(quality)] for quality in found]
    return markdown_table(["case", "detector", *TITLES], rows)


def _print(
    out: Console,
    found: list[Quality],
    settings: Settings,
    conditions: tuple[Condition, ...],
    options: dict[str, Any],
) -> None:
    out.print(
        f"[bold]failure detectors[/]  a heartbeat every {settings.interval_ms:g} ms, timeout {settings.timeout_ms:g} "
        f"ms, φ above {settings.threshold:g}; {options['beats']:,} heartbeats and {options['trials']:,} crashes, "
        f"seed {options['seed']}"
    )
    for condition in conditions:
        out.print(f"\n[bold]{condition.name}[/]  {_describe(condition)}")
        rows = [[quality.detector, *_cells(quality)] for quality in found if quality.condition == condition.name]
        print_table(out, COLUMNS, rows, split=True)


def _describe(condition: Condition) -> str:
    parts = [f"delay {condition.delay}"]
    parts += [f"loss {condition.loss:g}"] if condition.loss else []
    if condition.pause_ms:
        parts.append(f"the observer stands still for {condition.pause_ms:g} of every {condition.pause_every_ms:g} ms")
    return ", ".join(parts)


def _cells(quality: Quality) -> list[str]:
    lasting = "" if quality.mistake_ms is None else f"{quality.mistake_ms:.2f}"
    style = "green" if not quality.mistakes else "yellow" if quality.query_accuracy > 0.999 else "red"
    return [
        f"{quality.detection_ms:.1f}",
        f"{quality.slowest_detection_ms:.1f}",
        f"[{style}]{quality.mistakes:,}[/]",
        f"{quality.mistake_rate:.3g}",
        lasting,
        f"{quality.query_accuracy:.6f}",
    ]
