"""Recorded runs that a command was given: the algorithm that they name, and folders of journals."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from vez import plugins
from vez.algorithms import ALGORITHMS
from vez.core.process import Process
from vez.core.trace import Trace
from vez.errors import BadData, Misuse, VezError
from vez.study.load import load_algorithm
from vez.zoo import PREFIX, ZOO


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
    from vez.cluster.assemble import assemble, scenario_of  # here: most traces are files
    from vez.cluster.journals import read_lives
    from vez.cluster.kept import read_kept
    from vez.sim.setup import Setup

    lives = read_lives(folder)
    scenario = scenario_of(lives)
    algorithm = algorithm_of(scenario.algorithm, None if is_known(scenario.algorithm) else given, folder)
    scenario = scenario.but(parameters=_of(algorithm, scenario.parameters))
    return assemble(lives, Setup(scenario, algorithm), kept=read_kept(folder))


def _of(algorithm: type[Process], parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a run that an algorithm has too. The run may be that of another one, against which it is held.

    A validation looks at the starts in the journals; here they only decide what the header says.
    """
    from vez.validate.beginning import converted_parameters

    found = {}
    for name, value in parameters.items():
        with contextlib.suppress(VezError):
            converted_parameters(algorithm, {name: value})
            found[name] = value
    return found


def is_known(name: str) -> bool:
    """True for an algorithm of vez, or of a package that the user has installed."""
    return name in ALGORITHMS or name.removeprefix(PREFIX) in ZOO or name in plugins.entries(plugins.ALGORITHMS)
