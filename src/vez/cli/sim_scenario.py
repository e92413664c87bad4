"""The scenario of `vez sim`: its options, applied to a scenario file or to an empty scenario."""

from __future__ import annotations

from typing import Any

import msgspec

from vez.errors import Misuse
from vez.worlds.sim.scenario import Scenario, Workload, checked, load

SWEEP_DELAY = "uniform(0.5, 1.5)"
"""Default delay of a sweep: with one fixed delay most orders of messages never happen."""

_NETWORK = ("delay", "fifo", "loss", "duplicate", "reorder")
_NEMESIS = ("crashes", "recoveries", "pauses", "partitions")
_LISTS = ("want", "elect", "crash", "pause", "drift", "suspect")


def build_scenario(options: dict[str, Any]) -> Scenario:
    """The scenario file, if any, changed by the options of the command line."""
    scenario = _base(options)
    if options["n"] is not None and options["ids"]:
        raise Misuse("-n and --ids are both given", hint="give one of the two")
    changes: dict[str, Any] = {key: options[key] for key in ("topology", "edges", "seed") if options[key] is not None}
    if options["n"] is not None:
        changes |= {"n": options["n"], "ids": ()}
    elif options["ids"]:
        changes |= {"n": None, "ids": options["ids"]}
    if options["until"] is not None:
        changes["until_ms"] = options["until"]
    for field, names in (("network", _NETWORK), ("nemesis", _NEMESIS)):
        given = {name: options[name] for name in names if options[name] is not None}
        changes[field] = msgspec.structs.replace(getattr(scenario, field), **given)
    if options["within"] is not None:
        changes["nemesis"] = msgspec.structs.replace(changes["nemesis"], within_ms=options["within"])
    if options["runs"] and changes["network"].delay is None:
        changes["network"] = msgspec.structs.replace(changes["network"], delay=SWEEP_DELAY)
    if options["detector"]:
        changes["detector"] = msgspec.structs.replace(scenario.detector, kind=options["detector"])
    for part in _LISTS:
        changes[part] = (*getattr(scenario, part), *options[part])
    changes["partition"] = (*scenario.partition, *options["partition"], *options["cut"])
    changes["parameters"] = scenario.parameters | dict(options["parameters"])
    return checked(scenario.but(**changes, **_workload(scenario, options)))


def _base(options: dict[str, Any]) -> Scenario:
    name = options["algorithm"]
    if options["scenario"]:
        scenario = load(options["scenario"])
        if name and name != scenario.algorithm:
            raise Misuse(f"the scenario is about {scenario.algorithm}, not {name}", hint="leave the name out")
        return scenario
    if name:
        return Scenario(algorithm=name)
    raise Misuse("which algorithm?", hint="give a name from `vez algorithms`, or --scenario FILE")


def _workload(scenario: Scenario, options: dict[str, Any]) -> dict[str, Any]:
    asked = {"requests": options["requests"], "think_ms": options["think"], "inside_ms": options["inside"]}
    asked |= {"wait_ms": options["wait"]}
    given = {key: value for key, value in asked.items() if value is not None}
    if not given:
        return {}
    return {"workload": msgspec.structs.replace(scenario.workload or Workload(), **given)}
