"""Options of `vez sim`, `vez cluster` and `vez check` that an algorithm would not notice are refused."""

from __future__ import annotations

from typing import Any

import click

from vez.cli.parameters.option_checks import given, not_together, only_with, option
from vez.core.process import Process
from vez.core.trace import TimerSet, Trace
from vez.errors import Misuse
from vez.worlds.sim.scenario import Scenario

_TIMELESS = ("perfect", "none")
"""Failure detectors that set no timers."""


def refuse_for_sim(options: dict[str, Any], scenario: Scenario, algorithm: type[Process]) -> None:
    """Refuse options that have no effect on a run of this algorithm."""
    only_with("--runs", bool(options["runs"]), "jobs")
    _only_for_mutex(algorithm, scenario.algorithm, "requests", "think", "inside")
    if given("detector") and not hasattr(algorithm, "on_suspect"):
        raise Misuse(
            f"--detector has no effect: {scenario.algorithm} listens to no failure detector", hint="leave it out"
        )
    if given("drift") and not _has_timers(algorithm) and scenario.detector.kind in _TIMELESS:
        raise Misuse(f"--drift has no effect: {scenario.algorithm} sets no timers", hint="leave it out")
    nemesis = scenario.nemesis
    if given("within") and not (nemesis.crashes or nemesis.pauses or nemesis.partitions):
        raise Misuse(
            "--within has no effect without random faults",
            hint="give --crashes, --pauses or --partitions, or leave it out",
        )
    if given("recoveries"):
        _check_recoveries(scenario.nemesis.crashes, scenario.nemesis.recoveries)


def say_drift_without_effect(scenario: Scenario, trace: Trace) -> None:
    """Print on standard error which clock drifts had no effect: those of processes that set no timer in this run."""
    if scenario.detector.kind not in _TIMELESS:
        return
    timed = {event.process for event in trace if isinstance(event, TimerSet)}
    idle = sorted({item.process for item in scenario.drift if item.rate != 1.0} - timed)
    if idle:
        who = f"process{'es' * (len(idle) > 1)} {', '.join(map(str, idle))}"
        click.echo(f"vez: the drift of {who} had no effect: no timer was set there in this run", err=True)


def refuse_for_check(options: dict[str, Any], algorithm: type[Process], name: str) -> None:
    """Refuse options that have no effect on a search of this algorithm."""
    not_together("n", "ids")
    not_together("requests", "want")
    not_together("requests", "elect")
    if algorithm.role == "other" and given("requests"):
        raise Misuse(f"--requests has no effect: {name} is neither a Mutex nor an Election", hint="leave it out")
    crashes = options["crashes"] + options["crashes_inside"]
    only_with("--crashes", bool(crashes), "victims")
    only_with("--partitions", bool(options["partitions"]), "partition", "cut")
    only_with("--recoveries", bool(options["recoveries"]), "amnesia")
    if options["timeouts"] and not _has_timers(algorithm):
        raise Misuse(f"--timeouts has no effect: {name} sets no timers", hint="leave it out")
    _check_recoveries(crashes, options["recoveries"])


def refuse_two_outputs(options: dict[str, Any], kind: str | None) -> None:
    """Refuse JSON and a picture together on standard output."""
    if options["as_json"] and kind and options["output"] is None:
        raise Misuse("--json and --diagram both want standard output", hint="give the picture a file with -o")


def _only_for_mutex(algorithm: type[Process], name: str, *parameters: str) -> None:
    wrong = [option(parameter) for parameter in parameters if given(parameter)]
    if wrong and algorithm.role != "mutex":
        raise Misuse(
            f"{', '.join(wrong)}: {name} is not a mutual exclusion algorithm, so nobody can want in",
            hint=f"leave {'it' if len(wrong) == 1 else 'them'} out",
        )


def _check_recoveries(crashes: int, recoveries: int) -> None:
    if recoveries > crashes:
        most = f"at most {crashes} can come back" if crashes else "nobody crashes"
        raise Misuse(f"--recoveries {recoveries}: {most}", hint="give more --crashes")


def _has_timers(algorithm: type[Process]) -> bool:
    return any(name.startswith("on_timer_") for name in dir(algorithm))
