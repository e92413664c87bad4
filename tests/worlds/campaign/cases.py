"""Cases of the campaign: an algorithm, a kind of fault, and a seed that decides the faults and their times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple

from vez.catalogue.algorithms import ALGORITHMS
from vez.core.process import Election, Mutex
from vez.study.verify.matrix import WORLDS, configuration
from vez.worlds.sim.scenario import Crash, Detector, Elect, Pause, Scenario, Workload

DELAY_MS = 0.5
"""Time of a message on its way, in ms of the algorithm. It is long enough for a fault to occur in between, and a
quarter of the time that algorithms with bounds allow."""
HORIZON_MS = 5.0
"""Faults begin before this time, while requests and elections are under way."""
ENDLESS = 3
"""Number of requests of each process if the matrix has unlimited requests."""


class LinkFault(NamedTuple):
    """A fault of the network between two processes, with its time in ms of the algorithm."""

    at_ms: float
    kind: str
    """`cut`, `hold`, `slow` or `heal`."""
    process: int
    peer: int
    one_way: bool = False
    """True if only packets from the process to the peer are held."""


class Plan(NamedTuple):
    """The faults of a run."""

    crash: tuple[Crash, ...] = ()
    pause: tuple[Pause, ...] = ()
    links: tuple[LinkFault, ...] = ()


Maker = Callable[[Random, tuple[int, ...]], Plan]


def _nothing(chance: Random, ids: tuple[int, ...]) -> Plan:
    return Plan()


def _kill(chance: Random, ids: tuple[int, ...]) -> Plan:
    return Plan(crash=(Crash(process=chance.choice(ids), at_ms=chance.uniform(0, HORIZON_MS)),))


def _back(memory: bool) -> Maker:
    def make(chance: Random, ids: tuple[int, ...]) -> Plan:
        at = chance.uniform(0, HORIZON_MS)
        return Plan(crash=(Crash(process=chance.choice(ids), at_ms=at, recover_ms=at + 1, memory=memory),))

    return make


def _stop(chance: Random, ids: tuple[int, ...]) -> Plan:
    length = chance.choice((2.0, 8.0, 15.0))
    return Plan(pause=(Pause(process=chance.choice(ids), at_ms=chance.uniform(0, HORIZON_MS), for_ms=length),))


def _link(kind: str, *, healed: bool = True, one_way: bool = False) -> Maker:
    def make(chance: Random, ids: tuple[int, ...]) -> Plan:
        one, other = chance.sample(ids, 2)
        return Plan(links=tuple(_broken(chance, kind, [(one, other)], healed=healed, one_way=one_way)))

    return make


def _isolate(kind: str) -> Maker:
    def make(chance: Random, ids: tuple[int, ...]) -> Plan:
        alone = chance.choice(ids)
        pairs = [(alone, other) for other in ids if other != alone]
        return Plan(links=tuple(_broken(chance, kind, pairs)))

    return make


def _broken(
    chance: Random, kind: str, pairs: list[tuple[int, int]], *, healed: bool = True, one_way: bool = False
) -> Iterator[LinkFault]:
    at = chance.uniform(0, HORIZON_MS)
    length = chance.choice((2.0, 10.0))
    for one, other in pairs:
        yield LinkFault(at, kind, one, other, one_way)
        if healed:
            yield LinkFault(at + length, "heal", one, other)


FAULTS: dict[str, Maker] = {
    "none": _nothing,
    "kill": _kill,
    "kill-recover": _back(True),
    "kill-amnesia": _back(False),
    "stop": _stop,
    "cut": _link("cut"),
    "cut-for-good": _link("cut", healed=False),
    "hold": _link("hold"),
    "one-way": _link("hold", one_way=True),
    "slow": _link("slow"),
    "isolate": _isolate("cut"),
    "isolate-silently": _isolate("hold"),
}
"""SIGKILL, with and without a recovery; SIGSTOP and SIGCONT; links broken (cut), silent (hold), late (slow)."""


class Case(NamedTuple):
    """One run of the campaign."""

    algorithm: str
    fault: str
    seed: int

    @property
    def again(self) -> str:
        """The command that repeats this run."""
        return f"python -m tests.worlds.campaign --algorithm {self.algorithm} --fault {self.fault} --seed {self.seed}"

    @property
    def chance(self) -> Random:
        """The random generator that decides everything about this run."""
        return Random(f"{self.seed}/{self.algorithm}/{self.fault}")

    def plan(self, ids: tuple[int, ...]) -> Plan:
        """The faults."""
        return FAULTS[self.fault](self.chance, ids)

    def scenario(self) -> Scenario:
        """The run: as many processes and requests as the matrix has, and the faults of processes."""
        algorithm = ALGORITHMS[self.algorithm]
        asked = configuration(self.algorithm, algorithm, WORLDS[0])
        base = Scenario(
            algorithm=self.algorithm,
            ids=asked.ids,
            edges=asked.scenario.edges,
            parameters=asked.scenario.parameters,
            seed=self.seed,
            detector=Detector(kind="heartbeat"),
        )
        chance = Random(f"{self.seed}/{self.algorithm}/{self.fault}/application")
        if issubclass(algorithm, Mutex):
            most = max(asked.requests.values())
            requests = ENDLESS if most < 0 else most
            base = base.but(workload=Workload(requests=requests, think_ms="uniform(0, 4)", inside_ms="uniform(0.5, 2)"))
        elif issubclass(algorithm, Election):
            base = base.but(elect=tuple(Elect(process=one, at_ms=chance.uniform(0, 3)) for one in asked.ids))
        plan = self.plan(asked.ids)
        return base.but(crash=plan.crash, pause=plan.pause)


def pairs() -> list[tuple[str, str]]:
    """All pairs of an algorithm and a fault."""
    return [(algorithm, fault) for algorithm in ALGORITHMS for fault in FAULTS]


def rotation(seed: int, count: int) -> list[Case]:
    """Some pairs, decided by a seed; over the seeds every pair comes up equally often."""
    chosen = pairs()
    Random(f"rotation/{seed}").shuffle(chosen)
    return [Case(algorithm, fault, seed) for algorithm, fault in chosen[:count]]
