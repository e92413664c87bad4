"""Configuration: the processes, their requests, and the number of faults that may happen.

It is built on a `Scenario`, which names the algorithm, its processes and its parameters, so that the checker and the
simulator use the same description. Only the checker has budgets of faults.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

import msgspec

from vez.core import overrides
from vez.core.assumptions import Assumption, Property
from vez.core.overrides import LONGEST_MS
from vez.core.process import Election, Mutex, Process, handlers_of, name_of
from vez.errors import Misuse, UnknownName
from vez.judge.words import Sentence, said
from vez.worlds.check.model.clock import Clock
from vez.worlds.check.model.setting import faults, setting
from vez.worlds.sim.delays import us
from vez.worlds.sim.scenario import Detector, Partition, Scenario, Workload
from vez.worlds.sim.setup import Setup, one_election

DEFAULT_N = 3

FOREVER = -1
"""The number of requests that means no limit."""

BUDGETS = (
    "crashes",
    "recoveries",
    "losses",
    "duplicates",
    "mistakes",
    "withdrawals",
    "crashes_inside",
    "partitions",
    "pauses",
)


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """The largest number of faults of each kind in a run."""

    crashes: int = 0
    recoveries: int = 0
    losses: int = 0
    duplicates: int = 0
    mistakes: int = 0
    """The number of times that the failure detector may suspect a live process."""
    withdrawals: int = 0
    """The number of times that a process may stop waiting. This is not a fault, but is counted like one."""
    crashes_inside: int = 0
    """The number of times that a process may crash inside a handler, after some of its actions."""
    partitions: int = 0
    """The number of times that channels may be cut. A partition may heal."""
    pauses: int = 0
    """The number of times that a process may be paused, if time is modelled."""

    def counts(self) -> tuple[int, ...]:
        """The counts in the order of `BUDGETS`."""
        return tuple(getattr(self, name) for name in BUDGETS)

    def words(self) -> str:
        """The faults in a line: `1 crash, 2 losses`, or `no faults`."""
        return ", ".join(map(str, faults(self)))


class Configuration:
    """The processes, requests, faults and bounds that the checker explores."""

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
        longest_delay_ms: float | None = None,
        drift: float = 0.0,
    ) -> None:
        if scenario.n is None and not scenario.ids:
            scenario = scenario.but(n=max(DEFAULT_N, overrides.smallest(algorithm)))
        dropped = _assumptions(algorithm, without)
        self.algorithm = algorithm
        self.dropped = dropped
        self.bounds = bounds or {}
        """Field → its largest value. States beyond it are not explored."""
        self.capacity = capacity
        """The largest number of messages in transit on one channel; 0 for no limit."""
        _check_bounds(algorithm, self.bounds)
        given = budget or Budget()
        if given.withdrawals and not issubclass(algorithm, Mutex):
            raise Misuse(f"{name_of(algorithm)} is not a mutual exclusion algorithm: nobody waits, so nobody withdraws")
        self.budget = _widen(given, dropped)
        self.amnesia = amnesia or Assumption.STABLE_STORAGE in dropped
        """True if a process may also recover without its durable fields."""
        keeps = set(algorithm.assumes) - set(dropped)
        network = scenario.network
        fifo = Assumption.FIFO in keeps if network.fifo is None else network.fifo
        self.scenario = scenario.but(
            network=msgspec.structs.replace(network, fifo=fifo, delay="constant(1)"),
            workload=Workload(requests=0),
        )
        self.setup = Setup(self.scenario, algorithm)
        self.ids = self.setup.ids
        one = self.setup.process(self.ids[0])
        self.candidates = overrides.candidates(one, self.ids)
        """The processes that may lead, the best last."""
        self.topology = self.setup.topology
        self.fifo = fifo
        self.synchronous = Assumption.KNOWN_BOUNDS in keeps and not timeouts
        """True if time is modelled. Otherwise there is no time, and timers run out at any moment."""
        self.clock = self._clock(longest_delay_ms, drift, bounded_stay=Assumption.BOUNDED_STAY in keeps)
        self._check_pauses()
        self.requests = self._requests(scenario, requests)
        self.victims = victims or self._victims(given)
        """The processes that may crash."""
        for process in victims:
            if process not in self.ids:
                raise Misuse(f"victims: there is no process {process}", hint=f"processes: {self.ids}")
        self.partitions, self.cuts = self._partitions()
        """The partitions that may happen, and the channels that each partition cuts."""
        self.detector = scenario.detector.kind == "perfect" and hasattr(algorithm, "on_suspect")

    def _clock(self, longest_delay_ms: float | None, drift: float, *, bounded_stay: bool) -> Clock:
        self._check_drift(drift)
        if not self.synchronous:
            if longest_delay_ms is not None:
                raise Misuse(
                    f"{name_of(self.algorithm)}: no bounds on time are kept, so that messages have no longest delay",
                    hint="leave --longest-delay out",
                )
            return Clock()
        process = self.setup.process(self.ids[0])
        delay_ms = overrides.longest_delay_ms(process) if longest_delay_ms is None else longest_delay_ms
        stay_ms = overrides.longest_stay_ms(process) if bounded_stay else None
        if delay_ms is not None and not 0 <= delay_ms <= LONGEST_MS:
            raise Misuse(f"longest delay: expected milliseconds from 0 to {LONGEST_MS:,}, found {delay_ms!r}")
        return Clock(us(delay_ms or 0), None if stay_ms is None else us(stay_ms), drift)

    def _check_pauses(self) -> None:
        if self.budget.pauses and not self.timed:
            raise Misuse(
                f"{name_of(self.algorithm)}: without bounds on time messages, timers and stays may take any time "
                "anyway, so that a pause adds nothing",
                hint="leave --pauses out",
            )

    def _check_drift(self, drift: float) -> None:
        name = name_of(self.algorithm)
        if not 0 <= drift < 1:
            raise Misuse(f"drift: expected a part of what a timer takes, from 0 to less than 1, found {drift:g}")
        if drift and not handlers_of(self.algorithm).timers:
            raise Misuse(
                f"{name} sets no timers, so that a clock that is off changes nothing", hint="leave --drift out"
            )
        if drift and not self.synchronous:
            raise Misuse(
                f"{name}: without bounds on time timers run out at any moment anyway, so that drift adds nothing",
                hint="leave --drift out",
            )

    @property
    def timed(self) -> bool:
        """True if time is modelled and something takes time."""
        clock = self.clock
        takes_time = handlers_of(self.algorithm).timers or clock.delay_us or clock.stay_us is not None
        return self.synchronous and bool(takes_time)

    def within(self, process: Process) -> bool:
        """True if no field exceeds its bound."""
        return all(_number_in(process, field) <= most for field, most in self.bounds.items())

    def _requests(self, scenario: Scenario, requests: int) -> dict[int, int]:
        """The number of times that each process wants in, or is asked to elect."""
        if requests < FOREVER:
            raise Misuse(f"requests must not be negative, found {requests}")
        if not requests and issubclass(self.algorithm, Election) and not scenario.elect:
            raise Misuse(
                "nobody would start an election, so nothing would be checked", hint="give --requests 1 or more"
            )
        asked: list[int] = []
        askable: tuple[int, ...] = ()
        if issubclass(self.algorithm, Mutex):
            asked, askable = [want.process for want in scenario.want], overrides.contenders(self.algorithm, self.ids)
        elif issubclass(self.algorithm, Election):
            asked, askable = [elect.process for elect in scenario.elect], self.ids
            if self.algorithm.one_election and requests not in (0, 1) and not asked:
                raise one_election(scenario.algorithm, "each process would be asked again (--requests)")
        self.chosen = bool(asked)
        """True if the scenario names the processes that ask, and how often."""
        if asked:
            return {process: asked.count(process) for process in self.ids}
        return {process: requests if process in askable else 0 for process in self.ids}

    def _victims(self, given: Budget) -> tuple[int, ...]:
        """The processes that may crash: all, or only the hub if crashes are allowed only because `hub_stays` was
        dropped."""
        others = {Assumption.NO_CRASHES, Assumption.NO_RECOVERY, Assumption.STABLE_STORAGE} & set(self.dropped)
        only_hub = Assumption.HUB_STAYS in self.dropped and not others and not given.crashes
        return (self.topology.hub,) if only_hub else self.ids

    def _partitions(self) -> tuple[tuple[Partition, ...], tuple[frozenset[tuple[int, int]], ...]]:
        """The partitions that the scenario names, or every split into two groups, cut in both directions and in one."""
        named = self.scenario.partition
        if named and not self.budget.partitions:
            raise Misuse("partitions are named, and none may happen", hint="allow some with --partitions")
        found: dict[frozenset[tuple[int, int]], Partition] = {}
        for partition in (named or splits(self.ids)) if self.budget.partitions else ():
            channels = partition.channels(self.ids)
            cut = frozenset(channel for channel in channels if self.topology.has_channel(*channel))
            if cut:
                found.setdefault(cut, partition)
        return tuple(found.values()), tuple(found)

    def words(self) -> str:
        """The configuration in one line. Verdicts hold only for this configuration."""
        return str(self.sentence)

    @property
    def sentence(self) -> Sentence:
        """`words` as a sentence, which can be worded in a language."""
        return setting(self, " or ".join(map(partition_words, self.partitions)))

    @property
    def endless(self) -> bool:
        """True if a process has no limit of requests."""
        return FOREVER in self.requests.values()

    def extent(self) -> str:
        """The number of requests, for verdicts that may differ with more requests: `within 2 requests each`."""
        return str(self.asked)

    @property
    def asked(self) -> Sentence:
        """`extent` as a sentence, which can be worded in a language."""
        most = max(self.requests.values(), default=0)
        if self.endless:
            return said("however_often")
        return said("within_these_requests") if self.chosen else said("within_requests_each", count=most)

    @property
    def excuses_entries(self) -> bool:
        """True if a fault can explain an entry without a request. Otherwise such an entry ends the run."""
        faults = msgspec.structs.replace(self.budget, withdrawals=0)
        return any(faults.counts()) or bool(self.clock.drift)

    def replayable(self) -> Scenario:
        """The scenario without requests and faults, to which a replay adds its own."""
        return self.scenario.but(
            detector=Detector(kind="none"), elect=(), want=(), crash=(), suspect=(), message=(), choice=(), partition=()
        )


def splits(ids: tuple[int, ...]) -> Iterator[Partition]:
    """Every split of the processes into two groups, cut in both directions and in each single direction."""
    for size in range(1, len(ids)):
        for others in combinations(ids[1:], size):
            rest = tuple(process for process in ids if process not in others)
            yield Partition(groups=(rest, others))
            yield Partition(one_way=tuple(product(rest, others)))
            yield Partition(one_way=tuple(product(others, rest)))


def partition_words(partition: Partition) -> str:
    """A partition in the notation of the command line: `1,2|3` or `1>3, 2>3`."""
    groups = "|".join(",".join(map(str, group)) for group in partition.groups)
    return ", ".join(filter(None, (groups, *(f"{one}>{other}" for one, other in partition.one_way))))


def _check_bounds(algorithm: type[Process], bounds: dict[str, int]) -> None:
    for field in bounds:
        name, dot, place = field.partition(".")
        if name not in algorithm.__struct_fields__:
            raise UnknownName(f"field of {name_of(algorithm)}", name, algorithm.__struct_fields__)
        if dot and not (place.isascii() and place.isdigit()):
            raise Misuse(f"bound {field}: expected the place of a value in {name}", hint=f"say {name}.0 for the first")


def default_requests(
    algorithm: type[Process], properties: tuple[str, ...] = (), *, faults: bool = False, reduced: bool = False
) -> int:
    """The default number of requests of each process: 1, or FOREVER if the algorithm declares `endless_requests`.

    An algorithm with `endless_requests` gets 2 requests in the cases in which unlimited ones cannot be used:
    `request_order` counts requests, `bounded_waiting` cannot distinguish them if there are faults, and reductions do
    not judge endless runs.
    """
    if not vars(algorithm).get("endless_requests"):
        return 1
    names = {name.replace("-", "_") for name in properties}
    counted = Property.REQUEST_ORDER in names or (Property.BOUNDED_WAITING in names and faults)
    return 2 if counted or reduced else FOREVER


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
            f"{field} of {name_of(type(process))} holds {value!r}, which is not a number and cannot be bounded",
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
                f"{name_of(algorithm)} does not assume {assumption}",
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
