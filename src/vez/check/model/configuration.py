"""Configuration: which processes take part, what they are asked to do, and how many faults may happen.

It is built on a `Scenario`, which names the algorithm, its processes and its parameters, so that what is
checked is written down in the same words as what is simulated. The budgets are the checker's own.
"""

from __future__ import annotations

import msgspec

from vez.core.assumptions import Assumption
from vez.core.process import Election, Mutex, Process, handlers_of
from vez.errors import Misuse, UnknownName
from vez.sim.scenario import Detector, Scenario, Workload
from vez.sim.setup import Setup

DEFAULT_N = 3
FOREVER = -1
"""As a number of requests: no limit."""

BUDGETS = ("crashes", "recoveries", "losses", "duplicates", "mistakes", "withdrawals")


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """How many faults of each kind a run may contain."""

    crashes: int = 0
    recoveries: int = 0
    losses: int = 0
    duplicates: int = 0
    mistakes: int = 0
    """How often the failure detector may suspect a process that is alive."""
    withdrawals: int = 0
    """How often a process may stop waiting. No fault of the world, but counted like one."""

    def counts(self) -> tuple[int, ...]:
        """The counts in the order of `BUDGETS`."""
        return tuple(getattr(self, name) for name in BUDGETS)

    def words(self) -> str:
        """The faults in a line: `1 crash, 2 losses`, or `no faults`."""
        singular = {"crashes": "crash", "recoveries": "recovery", "losses": "loss"}
        parts = [
            f"{count} {singular.get(name, name[:-1]) if count == 1 else name}"
            for name, count in zip(BUDGETS, self.counts(), strict=True)
            if count
        ]
        return ", ".join(parts) or "no faults"


class Configuration:
    """What the checker explores: processes, requests, faults and bounds."""

    def __init__(
        self,
        scenario: Scenario,
        algorithm: type[Process],
        *,
        requests: int = 1,
        budget: Budget | None = None,
        timeouts: bool = False,
        amnesia: bool = False,
        without: tuple[str, ...] = (),
        bounds: dict[str, int] | None = None,
        capacity: int = 0,
        victims: tuple[int, ...] = (),
    ) -> None:
        if scenario.n is None and not scenario.ids:
            scenario = scenario.but(n=max(DEFAULT_N, algorithm.smallest()))
        dropped = _assumptions(algorithm, without)
        self.algorithm = algorithm
        self.dropped = dropped
        self.bounds = bounds or {}
        """Fields and the largest value up to which they are followed: what lies beyond is not explored."""
        self.capacity = capacity
        """The most messages under way on one channel that are followed; 0: any number."""
        for field in self.bounds:
            name, dot, place = field.partition(".")
            if name not in algorithm.__struct_fields__:
                raise UnknownName(f"field of {algorithm.name}", name, algorithm.__struct_fields__)
            if dot and not (place.isascii() and place.isdigit()):
                raise Misuse(
                    f"bound {field}: expected the place of a value in {name}", hint=f"say {name}.0 for the first"
                )
        given = budget or Budget()
        if given.withdrawals and not issubclass(algorithm, Mutex):
            raise Misuse(f"{algorithm.name} is not a mutual exclusion algorithm: nobody waits, so nobody withdraws")
        self.budget = _widen(given, dropped)
        self.amnesia = amnesia or Assumption.STABLE_STORAGE in dropped
        """A process may also recover without its durable fields."""
        keeps = set(algorithm.assumes) - set(dropped)
        network = scenario.network
        fifo = Assumption.FIFO in keeps if network.fifo is None else network.fifo
        self.scenario = scenario.but(
            network=msgspec.structs.replace(network, fifo=fifo, delay="constant(1)"),
            workload=Workload(requests=0),
        )
        self.setup = Setup(self.scenario, algorithm)
        self.ids = self.setup.ids
        self.topology = self.setup.topology
        self.fifo = fifo
        self.synchronous = Assumption.KNOWN_BOUNDS in keeps and not timeouts
        """Timers run out only when no message is under way; otherwise at any moment."""
        self.bounded_stay = Assumption.BOUNDED_STAY in keeps
        """Where time is kept, it stands still while somebody is inside."""
        self.requests = self._requests(scenario, requests)
        self.victims = victims or self._victims(given)
        """The processes that may crash."""
        for process in victims:
            if process not in self.ids:
                raise Misuse(f"victims: there is no process {process}", hint=f"processes: {self.ids}")
        self.detector = scenario.detector.kind == "perfect" and hasattr(algorithm, "on_suspect")

    def within(self, process: Process) -> bool:
        """True if no field has gone beyond its bound."""
        return all(_number_in(process, field) <= most for field, most in self.bounds.items())

    def _requests(self, scenario: Scenario, requests: int) -> dict[int, int]:
        """How often each process wants in, or is asked to elect."""
        if requests < FOREVER:
            raise Misuse(f"requests must not be negative, found {requests}")
        asked: list[int] = []
        askable: tuple[int, ...] = ()
        if issubclass(self.algorithm, Mutex):
            asked, askable = [want.process for want in scenario.want], self.algorithm.contenders(self.ids)
        elif issubclass(self.algorithm, Election):
            asked, askable = [elect.process for elect in scenario.elect], self.ids
        self.chosen = bool(asked)
        """True if the scenario says who asks, and how often."""
        if asked:
            return {process: asked.count(process) for process in self.ids}
        return {process: requests if process in askable else 0 for process in self.ids}

    def _victims(self, given: Budget) -> tuple[int, ...]:
        """All processes; only the hub if the only reason for a crash is that `hub_stays` was dropped."""
        others = {Assumption.NO_CRASHES, Assumption.NO_RECOVERY, Assumption.STABLE_STORAGE} & set(self.dropped)
        only_hub = Assumption.HUB_STAYS in self.dropped and not others and not given.crashes
        return (self.topology.hub,) if only_hub else self.ids

    def words(self) -> str:
        """The configuration in one line; verdicts hold for it and for nothing else."""
        role = "request" if issubclass(self.algorithm, Mutex) else "election"
        most = max(self.requests.values(), key=abs, default=0)
        often = f"{role}s without end" if most < 0 else f"{most} {role}{'s' * (most != 1)}"
        who = sum(bool(count) for count in self.requests.values())
        asked = f"{often} each"
        if self.chosen and (role == "request" or most != 1):
            times = {process: count for process, count in self.requests.items() if count}
            asked = ", ".join(f"{count} {role}{'s' * (count != 1)} of {process}" for process, count in times.items())
        elif role == "election":
            asked = f"{who} starter{'s' * (who != 1)}" + (f", {asked}" if most != 1 else "")
        parts = [f"n={len(self.ids)}", asked, "FIFO channels" if self.fifo else "any order of delivery"]
        if handlers_of(self.algorithm).timers:
            parts.append("timers when all is quiet" if self.synchronous else "timers at any moment")
        if Assumption.BOUNDED_STAY in self.dropped:
            parts.append("stays of any length")
        parts.append(self.budget.words() + (", memory may be lost" if self.amnesia else ""))
        if self.victims != self.ids:
            parts.append(f"only {', '.join(map(str, self.victims))} may crash")
        if self.capacity:
            parts.append(f"at most {self.capacity} under way on a channel")
        parts += [f"{field} up to {most}" for field, most in sorted(self.bounds.items())]
        return ", ".join(parts)

    def replayable(self) -> Scenario:
        """The scenario without requests and faults, to which a replay adds its own."""
        return self.scenario.but(
            detector=Detector(kind="none"), elect=(), want=(), crash=(), suspect=(), message=(), choice=()
        )


def _number_in(process: Process, field: str) -> float:
    """The value of a bounded field; `field.0` is the first value of a field that holds a tuple."""
    name, dot, place = field.partition(".")
    value = getattr(process, name)
    if dot and isinstance(value, tuple):
        value = value[int(place)] if int(place) < len(value) else None
    if value is None:
        return float("-inf")
    if not isinstance(value, int | float):
        first = f", or {name}.0, the first value in it" if isinstance(value, tuple) else ""
        raise Misuse(
            f"{field} of {type(process).name} holds {value!r}, which is not a number and cannot be bounded",
            hint=f"bound a field that counts{first}",
        )
    return value


def _assumptions(algorithm: type[Process], without: tuple[str, ...]) -> tuple[Assumption, ...]:
    dropped = []
    for name in without:
        key = name.replace("-", "_")
        if key not in set(Assumption):
            raise UnknownName("assumption", name, list(Assumption))
        assumption = Assumption(key)
        if assumption is Assumption.UNIQUE_IDS:
            raise Misuse("unique_ids cannot be turned off: identifiers name the processes of a run")
        if assumption not in algorithm.assumes:
            raise Misuse(
                f"{algorithm.name} does not assume {assumption}",
                hint=f"it assumes {', '.join(algorithm.assumes) or 'nothing'}",
            )
        dropped.append(assumption)
    return tuple(dropped)


def _widen(budget: Budget, dropped: tuple[Assumption, ...]) -> Budget:
    """Allow one fault for each dropped assumption, unless the budget allows more."""
    change: dict[str, int] = {}
    if Assumption.RELIABLE in dropped and not budget.losses and not budget.duplicates:
        change |= {"losses": 1, "duplicates": 1}
    returning = {Assumption.NO_RECOVERY, Assumption.STABLE_STORAGE} & set(dropped)
    if returning or {Assumption.NO_CRASHES, Assumption.HUB_STAYS} & set(dropped):
        change["crashes"] = max(1, budget.crashes)
    if returning:
        change["recoveries"] = max(1, budget.recoveries)
    if Assumption.PERFECT_DETECTOR in dropped:
        change["mistakes"] = max(1, budget.mistakes)
    return msgspec.structs.replace(budget, **change)
