"""Recorded runs as arguments of a command: the algorithm that they name, and folders of journals."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from vez import plugins
from vez.catalogue.algorithms import ALGORITHMS
from vez.catalogue.load import load_algorithm
from vez.catalogue.zoo import PREFIX, ZOO
from vez.core.process import Process
from vez.core.trace import Trace
from vez.errors import BadData, Misuse, VezError


def algorithm_of(named: str, given: str | None, path: Path) -> type[Process]:
    """The algorithm that the user gave, or else the one that a run names.

    A run may come from anywhere, so a Python file that it names is not run unless the user names it too.
    """
    if given is not None:
        return load_algorithm(given)
    if named.partition(":")[0].endswith(".py"):
        raise Misuse(
            f"{path} is a run of {named}, a file that is not run because a trace names it",
            hint=f"if you trust it: --algorithm {named}",
        )
    if not is_known(named):
        raise BadData(
            f"{path} is a run of {named!r}, which is not an algorithm of vez",
            hint="name one with --algorithm; `vez algorithms` lists them",
        )
    return load_algorithm(named)


def merged(folder: Path, given: str | None) -> Trace:
    """The trace of the journals in a folder. `given` is the algorithm, where the journals name a file."""
    from vez.worlds.node.cluster.assemble import assemble, scenario_of  # here: most traces are files
    from vez.worlds.node.cluster.journals import read_lives
    from vez.worlds.node.cluster.run_file import read_run_file
    from vez.worlds.sim.setup import Setup

    lives = read_lives(folder)
    scenario = scenario_of(lives)
    algorithm = algorithm_of(scenario.algorithm, None if is_known(scenario.algorithm) else given, folder)
    scenario = scenario.but(parameters=_of(algorithm, scenario.parameters))
    return assemble(lives, Setup(scenario, algorithm), kept=read_run_file(folder))


def _of(algorithm: type[Process], parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a run that the algorithm also has. The run may come from another algorithm than the one that
    validates it.

    A validation reads the parameters at the starts in the journals; here they are only used for the header.
    """
    from vez.judge.validate.initial_process import converted_parameters

    found = {}
    for name, value in parameters.items():
        with contextlib.suppress(VezError):
            converted_parameters(algorithm, {name: value})
            found[name] = value
    return found


def is_known(name: str) -> bool:
    """True for an algorithm of vez, or of a package that the user has installed."""
    return name in ALGORITHMS or name.removeprefix(PREFIX) in ZOO or name in plugins.entries(plugins.ALGORITHMS)
