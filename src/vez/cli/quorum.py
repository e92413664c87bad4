"""`vez quorum`: computes how large a quorum must be when coordinators may forget."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from vez.cli.app import settle
from vez.cli.parameters.option_checks import only_with
from vez.cli.printing.charts import json_option, output_option, save, say, show
from vez.cli.printing.output import print_json
from vez.cli.printing.progress import progress
from vez.draw.chart import Axis, Chart, Mark, Series
from vez.errors import Misuse
from vez.study.quorum.chances import QuorumRisk, check_quorum, derivation, over_m, risk, smallest_m
from vez.study.quorum.exact import parse_chance, plain, scientific
from vez.study.quorum.experiment import Experiment, experiment, visible_chance


@click.command(short_help="How large must a quorum be if coordinators may lose their memory?")
@click.option("-n", "n", type=int, required=True, metavar="N", help="Number of coordinators.")
@click.option(
    "-m",
    "m",
    type=int,
    metavar="M",
    help="Permissions needed to enter.  [default: the smallest for --want, or a majority]",
)
@click.option(
    "-p",
    "forget",
    required=True,
    metavar="P",
    help="Chance that a coordinator restarts without its memory while somebody is inside: 1e-4, 3/3600.",
)
@click.option(
    "--down", metavar="P", help="Chance that a coordinator is down when it is asked.  [default: the same as -p]"
)
@click.option("--want", metavar="P_V", help="Find the smallest M with at most this chance of two inside.")
@click.option("--simulate", is_flag=True, help="Also run the real algorithm, with a P large enough to see violations.")
@click.option("--runs", type=int, default=1000, show_default=True, metavar="N", help="Number of runs of --simulate.")
@click.option("--simulate-p", metavar="P", help="The P of --simulate.  [default: a violation in every fifth run]")
@click.option(
    "--seed", type=int, default=0, show_default=True, metavar="N", help="Decides everything random in --simulate."
)
@output_option
@json_option
def quorum(
    n: int,
    m: int | None,
    forget: str,
    down: str | None,
    want: str | None,
    simulate: bool,
    runs: int,
    simulate_p: str | None,
    seed: int,
    output: Path | None,
    as_json: bool,
) -> int:
    """Compute the exact chance that two processes are inside together, because coordinators forgot a permission.

    A process needs the permissions of M of N coordinators to enter. Chances are exact fractions, never rounded to 0.

    \b
      vez quorum -n 32 -m 24 -p 0.0001
      vez quorum -n 8 -p 3/3600 --want 1e-9 -o over-m.svg
      vez quorum -n 5 -m 3 -p 0.001 --simulate
    """
    only_with("--simulate", simulate or simulate_p is not None, "runs", "seed")
    chance = parse_chance(forget, "-p")
    off = chance if down is None else parse_chance(down, "--down")
    check_quorum(n, m)
    wanted = None if want is None else parse_chance(want, "--want")
    smallest = None if wanted is None else smallest_m(n, chance, wanted)
    chosen = m or smallest or (n // 2 + 1 if want is None else n)
    found = risk(n, chosen, chance, off)
    others = over_m(n, chance, off)
    observed = _observe(n, chosen, chance, simulate_p, runs, seed) if simulate or simulate_p else None
    code = settle(broken=observed is not None and bool(observed.surprises))
    drawn = _chart(n, chosen, forget, others)
    if output is not None:
        save(drawn, output)
    if as_json:
        print_json(_as_json(found, others, wanted, smallest, observed))
    else:
        if wanted is not None and smallest is None:
            say(f"No m gives P_v ≤ {plain(wanted)}: even with m = n, that all {n} forget is more likely.")
            click.echo("" if m else f"With m = {n}, the best there is:\n")
        _print(found, forget.strip(), forget.strip() if down is None else down.strip())
        if wanted is not None and smallest is not None:
            _print_wanted(n, wanted, smallest, chance, off)
        if observed is not None:
            _print_experiment(observed)
    if output is None and not as_json and any(other.violation or other.unavailable for other in others):
        show(drawn)
    return code


def _observe(n: int, m: int, chance: Fraction, simulate_p: str | None, runs: int, seed: int) -> Experiment:
    if simulate_p is not None:
        chance = parse_chance(simulate_p, "--simulate-p")
        if not chance:
            raise Misuse("--simulate-p is 0: nothing would ever be seen")
    else:
        chance = max(chance, visible_chance(n, m))
    with progress("runs", runs) as step:
        return experiment(n, m, chance, runs, seed, step)


def _print(found: QuorumRisk, chance: str, down: str) -> None:
    say(f"n = {found.n} coordinators, m = {found.m} permissions, P = {chance}")
    click.echo("")
    click.echo(f"  two inside      P_v = {scientific(found.violation)}")
    click.echo(f"  quorum is up    {plain(found.available)}\n")
    for paragraph in derivation(found, chance, down):
        say(paragraph)


def _print_wanted(n: int, wanted: Fraction, smallest: int, chance: Fraction, down: Fraction) -> None:
    at = risk(n, smallest, chance, down)
    click.echo("")
    say(
        f"Smallest m with P_v ≤ {plain(wanted)}: {smallest} (P_v = {scientific(at.violation)}, quorum up "
        f"{plain(at.available)}, at most {n - smallest} of {n} may be down)."
    )


def _print_experiment(seen: Experiment) -> None:
    click.echo("")
    say(f"The real algorithm, {seen.runs:,} runs at P = {plain(seen.chance)} (seed {seen.seed}):")
    say(f"two inside in {seen.violations:,} runs: {seen.rate:.4f}", indent="  ")
    percent = f"{100 * seen.confidence:g} %"
    say(f"{percent} interval: {_span(seen.exact)} (exact), {_span(seen.wilson)} (Wilson)", indent="  ")
    say(f"formula: {plain(seen.formula)}, {'inside' if seen.agrees else 'outside'} the interval", indent="  ")
    need = f"at least {2 * seen.m - seen.n} of the {seen.m} forgot"
    if seen.surprises:
        say(f"{seen.surprises} runs did not end as the formula says (two inside if and only if {need})", indent="  ")
    else:
        say(f"in every run two were inside if and only if {need}", indent="  ")


def _span(interval: tuple[float, float]) -> str:
    return f"{interval[0]:.4f} to {interval[1]:.4f}"


def _chart(n: int, m: int, chance: str, others: list[QuorumRisk]) -> Chart:
    return Chart(
        title=f"Quorums of n = {n} coordinators, P = {chance.strip()}",
        x=Axis("m: permissions needed"),
        y=Axis("probability", "log"),
        series=(
            Series("two inside (P_v)", tuple((other.m, other.violation) for other in others)),
            Series("no quorum up", tuple((other.m, other.unavailable) for other in others)),
        ),
        marks=(Mark(m, f"m = {m}"),),
    )


def _as_json(
    found: QuorumRisk,
    others: list[QuorumRisk],
    wanted: Fraction | None,
    smallest: int | None,
    observed: Experiment | None,
) -> dict[str, Any]:
    answer = _risk_json(found) | {"over_m": [_risk_json(other) for other in others]}
    if wanted is not None:
        answer |= {"want": scientific(wanted, 6), "smallest_m": smallest}
    if observed is not None:
        answer["simulated"] = {
            "p": scientific(observed.chance, 6),
            "seed": observed.seed,
            "runs": observed.runs,
            "violations": observed.violations,
            "rate": observed.rate,
            "formula": scientific(observed.formula, 6),
            "confidence": observed.confidence,
            "exact_interval": observed.exact,
            "wilson_interval": observed.wilson,
            "formula_inside": observed.agrees,
            "surprises": observed.surprises,
        }
    return answer


def _risk_json(found: QuorumRisk) -> dict[str, Any]:
    """Probabilities as texts, because most readers would round such a JSON number to 0."""
    return {
        "n": found.n,
        "m": found.m,
        "overlap": found.overlap,
        "violation": scientific(found.violation, 6),
        "given_pair": scientific(found.given_pair, 6),
        "all_held": scientific(found.all_held, 6),
        "available": plain(found.available),
        "unavailable": scientific(found.unavailable, 6),
    }
