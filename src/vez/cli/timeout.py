"""`vez timeout`: the best time to wait for an answer before a process is considered dead."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import msgspec

from vez.cli.parameters.option_checks import only_with
from vez.cli.printing.charts import json_option, output_option, save, say, show
from vez.cli.printing.output import print_json
from vez.cli.printing.progress import progress
from vez.draw.chart import Axis, Chart, Mark, Series
from vez.errors import Misuse
from vez.study.timeout.choice import TimeoutChoice, best_timeout, check_costs, curve, in_words
from vez.study.timeout.loopback import measure_loopback
from vez.study.timeout.silence import MAX_BYTES, DelayTail, Silence, parse_samples, read_samples
from vez.worlds.sim import parse_delay


@click.command(short_help="How long to wait before a silent process is taken for dead?")
@click.option("-e", "--wait-cost", type=float, required=True, metavar="E", help="Cost of one ms of waiting.")
@click.option(
    "-c", "--mistake-cost", type=float, required=True, metavar="C", help="Cost of taking a living process for dead."
)
@click.option("--delay", metavar="DISTRIBUTION", help="Delay of answers, in ms: lognormal(2,0.5), pareto(1,2), …")
@click.option("--samples", metavar="FILE", help="Measured delays, in ms, one per line; - for standard input.")
@click.option("--live", is_flag=True, help="Measure round trips over a loopback socket of this machine.")
@click.option("--round-trips", type=int, default=2000, show_default=True, metavar="N",
              help="Number of round trips of --live.")  # fmt: skip
@output_option
@json_option
def timeout(
    wait_cost: float,
    mistake_cost: float,
    delay: str | None,
    samples: str | None,
    live: bool,
    round_trips: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Find the timeout t with the smallest expected cost E·t + C·p(t).

    Waiting t ms for a dead process costs E·t. Taking a slow process for dead is a mistake and costs C; p(t), the
    chance of that, is the chance that an answer takes longer than t. Give one source of delays: --delay, --samples
    or --live.

    \b
      vez timeout -e 1 -c 500 --delay 'lognormal(2, 0.5)'
      vez timeout -e 0.2 -c 1e4 --samples delays.txt
      vez timeout -e 1 -c 1000 --live
    """
    only_with("--live", live, "round_trips")
    check_costs(wait_cost, mistake_cost)
    silence = _silence(delay, samples, live, round_trips)
    choice = best_timeout(silence, wait_cost, mistake_cost)
    points = curve(silence, choice)
    drawn = _chart(choice, points)
    if output is not None:
        save(drawn, output)
    if as_json:
        rows = [{"timeout_ms": t, "wait_cost": wait, "expected_mistake_cost": lost} for t, wait, lost in points]
        print_json(msgspec.to_builtins(choice) | {"curve": rows})
    else:
        say(f"E = {wait_cost:g} for each ms of waiting, C = {mistake_cost:g} for a mistake, {silence.words}")
        click.echo("")
        for line in in_words(choice):
            say(line)
        if output is None:
            show(drawn)


def _silence(delay: str | None, samples: str | None, live: bool, round_trips: int) -> Silence:
    if (delay is not None) + (samples is not None) + live != 1:
        raise Misuse("expected one source of delays", hint="give --delay DISTRIBUTION, --samples FILE or --live")
    if delay is not None:
        return DelayTail(parse_delay(delay))
    if samples == "-":
        return parse_samples(sys.stdin.buffer.read(MAX_BYTES + 1), "standard input")
    if samples is not None:
        return read_samples(Path(samples))
    with progress("round trips", round_trips) as step:
        return measure_loopback(round_trips, step)


def _chart(choice: TimeoutChoice, points: list[tuple[float, float, float]]) -> Chart:
    ceiling = _ceiling(choice, points)
    total = Series("E·t + C·p(t)", tuple((t, wait + lost) for t, wait, lost in points if wait + lost <= ceiling))
    waiting = Series("waiting E·t", tuple((t, wait) for t, wait, _ in points))
    mistakes = Series("mistakes C·p(t)", tuple((t, lost) for t, _, lost in points if lost <= ceiling))
    return Chart(
        title=f"Expected cost of a timeout, {choice.source}",
        x=Axis("timeout t (ms)"),
        y=Axis("expected cost"),
        series=(total, waiting, mistakes),
        marks=(Mark(choice.timeout_ms, f"best: {choice.timeout_ms:.4g} ms, cost {choice.cost:.4g}"),),
    )


def _ceiling(choice: TimeoutChoice, points: list[tuple[float, float, float]]) -> float:
    """The upper end of the axis. It cuts the steep left end of the curve, so that the minimum can be seen."""
    return max(6 * choice.cost, points[-1][1] + points[-1][2], min(wait + lost for _, wait, lost in points))
