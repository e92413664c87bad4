"""Cases: configurations that are compared. A number decides one, so that it can be looked at again."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

from tests.worlds.crosscheck.early import EARLY
from tests.worlds.crosscheck.protocols import ELECTIONS, PROTOCOLS
from tests.worlds.crosscheck.symmetric import SYMMETRIC
from tests.worlds.crosscheck.timed import TIMED
from vez.core.assumptions import Assumption
from vez.core.process import Process
from vez.core.topology import Complete
from vez.worlds.check import Budget, Configuration
from vez.worlds.check.model.configuration import BUDGETS
from vez.worlds.sim.scenario import Elect, Network, Scenario

FAULTS = BUDGETS


class Case(NamedTuple):
    """One configuration."""

    algorithm: type[Process]
    n: int = 2
    edges: tuple[tuple[int, int], ...] = ()  # of a graph; none for the topology of the algorithm
    fifo: bool = True
    requests: int = 1
    starters: tuple[int, ...] = ()  # the processes that are asked to elect; all if empty
    budget: dict[str, int] = {}  # noqa: RUF012 - never changed
    parameters: dict[str, Any] = {}  # noqa: RUF012 - never changed
    amnesia: bool = False
    without: tuple[str, ...] = ()
    drift: float = 0.0

    @property
    def scenario(self) -> Scenario:
        """The scenario of the participants, without requests."""
        return Scenario(
            algorithm=self.algorithm.name,
            n=self.n,
            edges=self.edges,
            parameters=self.parameters,
            network=Network(fifo=self.fifo),
            elect=tuple(Elect(process=process) for process in self.starters * self.requests),
        )

    def configuration(self) -> Configuration:
        """The configuration for the checker."""
        return Configuration(
            self.scenario,
            self.algorithm,
            requests=self.requests,
            budget=Budget(**self.budget),
            amnesia=self.amnesia,
            without=self.without,
            drift=self.drift,
        )


def untimed(number: int) -> Case:
    """A case without time: timers run out at any moment."""
    chance = Random(f"untimed/{number}")
    algorithm = chance.choice(PROTOCOLS)
    return _case(chance, algorithm, {"seed": chance.randrange(1_000_000)})


def timed(number: int) -> Case:
    """A case with time, with and without a longest delay, a longest stay and wrong clocks."""
    chance = Random(f"timed/{number}")
    algorithm = chance.choice((*TIMED, *EARLY))
    parameters = {
        "seed": chance.randrange(1_000_000),
        "delay": chance.choice((0.0, 2.0, 2.0, 4.0)),
        "stay": chance.choice((0.0, 2.0, 4.0)),
    }
    without = chance.choice(((), (), (), (algorithm.assumes[-1],)))
    case = _case(chance, algorithm, parameters)._replace(without=without)
    if Assumption.KNOWN_BOUNDS in without:
        case.budget.pop("pauses", None)
        return case
    return case._replace(drift=chance.choice((0.0, 0.0, 0.5)))


def symmetric(number: int) -> Case:
    """A case with a declared symmetry, which may be wrong."""
    chance = Random(f"symmetric/{number}")
    algorithm = chance.choice(SYMMETRIC)
    case = _case(chance, algorithm, {"seed": chance.randrange(1_000_000)}, n=3)
    return case._replace(edges=())


def unasked(number: int) -> Case:
    """An election that only some processes are asked to start, all of which may crash before."""
    chance = Random(f"unasked/{number}")
    case = _case(chance, chance.choice(ELECTIONS), {"seed": chance.randrange(1_000_000)})
    starters = tuple(sorted(chance.sample(range(1, case.n + 1), chance.randint(1, case.n - 1))))
    crash = chance.choice(("crashes", "crashes", "crashes_inside"))
    return case._replace(starters=starters, budget={**case.budget, crash: len(starters)})


KINDS = {"untimed": untimed, "timed": timed, "symmetric": symmetric, "unasked": unasked}


def _case(chance: Random, algorithm: type[Process], parameters: dict[str, Any], n: int = 0) -> Case:
    n = n or chance.choice((2, 2, 2, 3))
    useless = {
        "withdrawals": algorithm.role != "mutex",
        "mistakes": not hasattr(algorithm, "on_suspect"),
        "crashes_inside": bool(algorithm.symmetry),  # a handler sends to one process before another
        "partitions": bool(algorithm.symmetry),
        "pauses": Assumption.KNOWN_BOUNDS not in algorithm.assumes,  # without time they add nothing
    }
    faults = [fault for fault in FAULTS if not useless.get(fault)]
    budget = dict.fromkeys(chance.sample(faults, k=chance.choice((0, 1, 1, 2) if n == 2 else (0, 1))), 1)
    if "recoveries" in budget and "crashes_inside" not in budget:
        budget["crashes"] = 1
    if "partitions" in budget and n == 2 and Random(f"overlap/{parameters['seed']}").random() < 0.4:
        budget["partitions"] = 2  # two that overlap are more than one after the other
    on_a_path = algorithm.topology is Complete and chance.random() < 0.3
    return Case(
        algorithm=algorithm,
        n=n,
        edges=tuple(pairwise(range(1, n + 1))) if on_a_path else (),
        fifo=chance.random() < 0.5,
        requests=chance.choice((1, 1, 2)) if n == 2 else 1,
        budget=budget,
        parameters=parameters,
        amnesia="recoveries" in budget and chance.random() < 0.5,
    )
