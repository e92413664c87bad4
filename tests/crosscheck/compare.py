"""Compare: one configuration, the checker's opinion and the explorer's, and the first thing in which they differ."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import NamedTuple

from tests.crosscheck.explorer import Explorer, Opinion, TooLarge
from tests.crosscheck.protocols import PROTOCOLS
from tests.crosscheck.world import Rules
from vez.check import Budget, Configuration, Limits, Report, check
from vez.core.process import Process
from vez.core.topology import Complete
from vez.sim.scenario import Network, Scenario

MOST = 3_000
"""States of a configuration that is compared; the explorer makes some thousand a second."""

JUDGED = {
    "mutex": ("exclusion", "deadlock_freedom", "starvation_freedom"),
    "election": ("uniqueness", "termination", "agreement", "validity"),
}
FAULTS = ("crashes", "recoveries", "losses", "duplicates", "mistakes")


class Case(NamedTuple):
    """One configuration, written so that it can be run again."""

    algorithm: type[Process]
    n: int
    edges: tuple[tuple[int, int], ...]  # of a graph; none for the topology of the algorithm
    fifo: bool
    requests: int
    budget: dict[str, int]
    seed: int
    amnesia: bool = False

    def configuration(self) -> Configuration:
        """For the checker."""
        scenario = Scenario(
            algorithm=self.algorithm.name,
            n=self.n,
            edges=self.edges,
            parameters={"seed": self.seed},
            network=Network(fifo=self.fifo),
        )
        return Configuration(
            scenario,
            self.algorithm,
            requests=self.requests,
            budget=Budget(**self.budget),
            timeouts=True,
            amnesia=self.amnesia,
        )


def drawn(number: int) -> Case:
    """A configuration at random; the number decides it."""
    chance = Random(f"crosscheck/{number}")
    algorithm = chance.choice(PROTOCOLS)
    budget = dict.fromkeys(chance.sample(FAULTS, k=chance.choice((0, 1, 1, 2))), 1)
    if "recoveries" in budget:
        budget["crashes"] = 1
    n = chance.choice((2, 2, 3))
    on_a_path = algorithm.topology is Complete and chance.random() < 0.3
    return Case(
        algorithm=algorithm,
        n=n,
        edges=tuple(pairwise(range(1, n + 1))) if on_a_path else (),
        fifo=chance.random() < 0.5,
        requests=chance.choice((1, 1, 2)),
        budget=budget,
        seed=chance.randrange(1_000_000),
        amnesia="recoveries" in budget and chance.random() < 0.5,
    )


def fairness(algorithm: type[Process]) -> Case:
    """Two processes of a protocol whose verdict depends on what fairness means."""
    return Case(algorithm, n=2, edges=(), fifo=True, requests=1, budget={}, seed=0)


def rules_of(configuration: Configuration) -> Rules:
    """The same configuration, for the explorer."""
    return Rules(
        algorithm=configuration.algorithm,
        topology=configuration.topology,
        fifo=configuration.fifo,
        requests=configuration.requests,
        budget={name: getattr(configuration.budget, name) for name in FAULTS},
        parameters=dict(configuration.setup.values[None]),
        detector=configuration.detector,
        amnesia=configuration.amnesia,
    )


def opinions(configuration: Configuration, most: int = MOST) -> tuple[Report, Opinion] | None:
    """Both, or None where there are too many states."""
    names = JUDGED[configuration.algorithm.role]
    report = check(configuration, names, limits=Limits(states=most), no_return=False)
    if report.stopped or report.states > most:
        return None
    try:
        return report, Explorer(rules_of(configuration), most).opinion()
    except TooLarge:
        return report, Opinion(most + 1, 0, 0, {}, frozenset())


def difference(report: Report, opinion: Opinion) -> str:
    """What they do not agree on; empty where they do."""
    broken = {str(name) for name in report.broken}
    if report.states != opinion.states:
        return f"states: the checker has {report.states}, the explorer {opinion.states}"
    if (report.depth, report.ends) != (opinion.depth, opinion.ends):
        return f"depth and ends: {(report.depth, report.ends)} and {(opinion.depth, opinion.ends)}"
    if broken != opinion.broken.keys():
        return f"verdicts: the checker breaks {sorted(broken)}, the explorer {sorted(opinion.broken)}"
    for name, length in opinion.broken.items():
        if length is not None and report.counterexamples[name].steps != length:
            return f"the shortest run to {name}: {report.counterexamples[name].steps} and {length} steps"
    return ""
