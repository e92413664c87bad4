"""Questions to the checker, and its answers as plain values, so that two processes can compare theirs.

`python -m tests.worlds.check.questions STATES STEP` prints the answers to every STEP-th question.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec

from vez.catalogue.algorithms import ALGORITHMS
from vez.catalogue.load import load_algorithm
from vez.catalogue.zoo import ZOO
from vez.cli.check_search import to_json
from vez.errors import VezError
from vez.locks.models import CONFIGURATIONS
from vez.study.verify.matrix import configuration, worlds
from vez.study.verify.recipes import RECIPE_WORLDS
from vez.study.verify.world import World
from vez.threads.programs import LESSONS
from vez.worlds.check import Budget, Configuration, Limits, check
from vez.worlds.check.arrays import PLAIN
from vez.worlds.check.threads.interleavings import explore
from vez.worlds.sim.scenario import Network, Scenario

MEASURED = ("seconds", "bytes_per_state")
SWITCHES = (("reduce",), ("symmetry",), ("reduce", "symmetry"))
Question = tuple[str, Callable[[int], dict[str, Any]]]


def questions() -> Iterator[Question]:
    """Every kind of fault, reduction, model and program, each with a name."""
    yield from _matrix()
    yield from _reduced()
    for name in (*(f"zoo:{one}" for one in ZOO), *(f"table:{one}" for one in CONFIGURATIONS)):
        for budget in (Budget(), Budget(crashes=1, losses=1)):
            yield f"{name}, {budget.words()}", partial(_checked, name, budget=budget)
    for name, lesson in LESSONS.items():
        for settings in (lesson.right, lesson.wrong):
            if settings is not None:
                program = lesson.maker(**settings)
                yield f"threads:{name} {settings}", partial(_explored, program)


def _matrix() -> Iterator[Question]:
    for name in (*ALGORITHMS, *RECIPE_WORLDS):
        for world in worlds(name, load_algorithm(name)):
            yield f"{name}, {world.name} {world.options}", partial(_in_world, name, world)


def _in_world(name: str, world: World, most: int) -> dict[str, Any]:
    algorithm = load_algorithm(name)
    few = max(2, algorithm.smallest()) if name in ALGORITHMS else 0  # few processes, so that more searches end
    return _answer(configuration(name, algorithm, world, few), most, world.properties)


def _reduced() -> Iterator[Question]:
    for name in ALGORITHMS:
        for fifo in (None, True):
            for switches in SWITCHES:
                ask = partial(_checked, name, budget=Budget(), fifo=fifo, timeouts=True, switches=switches)
                yield f"{name}, {fifo=}, {switches}", ask


def _checked(
    name: str,
    most: int,
    budget: Budget,
    *,
    fifo: bool | None = None,
    timeouts: bool = False,
    switches: tuple[str, ...] = (),
) -> dict[str, Any]:
    algorithm = load_algorithm(name)
    scenario = Scenario(algorithm=name, n=max(3, algorithm.smallest()), network=Network(fifo=fifo))
    return _answer(Configuration(scenario, algorithm, budget=budget, timeouts=timeouts), most, (), switches)


def _answer(
    asked: Configuration, most: int, properties: tuple[str, ...], switches: tuple[str, ...] = ()
) -> dict[str, Any]:
    reduce, symmetry = ("reduce" in switches, "symmetry" in switches)
    report = check(asked, properties, limits=Limits(states=most), reduce=reduce, symmetry=symmetry)
    return {name: value for name, value in to_json(report, {}).items() if name not in MEASURED}


def _explored(program: Any, most: int) -> dict[str, Any]:
    found = explore(program, max_states=most)
    turns = {name: (end, [turn.words for turn in way]) for name, (end, way) in found.broken.items()}
    return {"counts": (found.states, found.transitions, found.depth), "broken": turns, "loop": found.loop}


def answers(most: int, step: int) -> dict[str, Any]:
    """The answers to every `step`-th question, searching about `most` states for each."""
    found: dict[str, Any] = {}
    for number, (name, ask) in enumerate(questions()):
        if number % step == 0:
            try:
                answer = ask(most)
            except VezError as error:
                answer = {"refused": str(error)}
            found[name] = msgspec.to_builtins(answer, str_keys=True)
    return json.loads(json.dumps(found))  # type: ignore[no-any-return]


if __name__ == "__main__":
    if not PLAIN:
        sys.exit("VEZ_NUMPY=0 expected: the other process has NumPy")
    print(json.dumps(answers(*map(int, sys.argv[1:]))))
