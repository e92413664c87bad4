"""Arguments: the files that the nodes of a cluster share, and the command line of each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import tomli_w

from vez.worlds.node.cluster.scripted import has_conditions
from vez.worlds.sim.scenario import beside, dumps
from vez.worlds.sim.setup import Setup


def write_group(setup: Setup, folder: Path, socket: Callable[[int, int], str]) -> None:
    """Write the files that nodes read: the group with the addresses for each node, and the scenario if nodes need it.

    `socket` names the socket at which a node listens or dials another one.
    """
    for me in setup.ids:
        nodes = {str(one): f"unix:{socket(me, one)}" for one in setup.ids}
        (folder / f"group-{me}.toml").write_text(tomli_w.dumps({"name": "cluster", "nodes": nodes}))
    path = folder / "scenario.toml"
    path.write_text(dumps(beside(setup.scenario, path)))


def arguments_of(setup: Setup, me: int, folder: Path, time_scale: float) -> list[str]:
    """The arguments of `vez node` for one node."""
    scenario, settings = setup.scenario, setup.scenario.detector.settings
    kind = "none" if scenario.detector.kind == "perfect" else scenario.detector.kind
    arguments = ["--id", str(me), "--group", str(folder / f"group-{me}.toml"), "--algorithm", scenario.algorithm]
    arguments += ["--time-scale", f"{time_scale:g}"]
    arguments += ["--state", str(folder / "state"), "--trace", str(folder / "journal")]
    arguments += ["--detector", kind, "--beat", f"{max(1.0, settings.interval_ms * time_scale):g}"]
    arguments += ["--suspect-after", f"{max(1.0, settings.timeout_ms * time_scale):g}"]
    arguments += ["--resource", str(folder / "resource")]
    if scenario.topology is not None:
        arguments += ["--topology", scenario.topology]
    if scenario.edges:
        arguments += ["--edges", ",".join(f"{one}-{other}" for one, other in scenario.edges)]
    for name, value in scenario.parameters.items():
        arguments += ["--set", f"{name}={msgspec.json.encode(value).decode()}"]
    if scenario.initial or has_conditions(scenario):
        arguments += ["--scenario", str(folder / "scenario.toml")]
    return arguments
