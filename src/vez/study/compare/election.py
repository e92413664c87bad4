"""Comparison of leader election algorithms, measured in the simulator.

Messages include the announcement and probes to dead processes, but not messages to oneself. If an algorithm never
falls silent (heartbeats, groups that look for others), messages count until every process names its leader.

    one starter   each process in turn, on several arrangements of the identifiers
    all start     at once, on many arrangements: on rings and graphs the order matters
    after a crash the leader stops; if no detector wakes the others, the smallest of them is asked to elect
    watched       the cost of the failure detector, if one is used: which process must be told of which crash
    loss          a tenth of all messages is lost, several seeds
    partition     two halves from the start, healed later: how many lead at the same time before that
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from math import log
from random import Random
from typing import Any

from msgspec.structs import replace

from vez.catalogue.algorithms import ALGORITHMS, find
from vez.core import Assumption, Complete, Election, Graph, Grid, Property
from vez.core.process import PARAMETER, marked
from vez.core.trace import Elected, Sent, Trace
from vez.judge.properties.election import leader, uniqueness
from vez.judge.properties.history import History
from vez.judge.properties.verdict import Status
from vez.study.compare.figure import Figure, Metric, Row, figure, spread
from vez.study.compare.formulas import ElectionFormulas, election_formulas, graph_edges
from vez.study.compare.rounds import rounds
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Crash, Detector, Elect, Network, Partition, Suspicion

METRICS = (
    Metric("one_starter", "one starts", "messages when one process starts, from the best to the worst place for it"),
    Metric("all_start", "all start", "messages when all start at once, on the best and the worst arrangement tried"),
    Metric("mean", "mean", "their mean over random arrangements"),
    Metric("rounds", "rounds", "rounds or phases, the leader's last among them, all starting"),
    Metric("time", "time", "message times until the last process names its leader, all starting"),
    Metric("size", "size", "values in the largest message"),
    Metric("leaders", "leaders", "how many led at once when all started"),
    Metric("crash_messages", "after crash", "messages of the next election, when the leader has stopped"),
    Metric("crash_time", "time after", "message times from the crash until the last process names a live leader"),
    Metric("watched", "watched", "ordered pairs of processes in which one must be told of the other's crash"),
    Metric("beats", "heartbeats", "heartbeats of a detector in ten of its intervals, without a crash"),
    Metric("loss", "with loss", "runs that ended with one leader for all, with a tenth of the messages lost"),
    Metric("partition", "partition", "how many led at once during a partition into two halves"),
)
LEGEND = (
    "N processes, H the harmonic number, m edges of the graph (a ring with chords). Time is in messages of 1 ms; "
    "detectors report after 2 ms"
)
GROWTH_TITLE = "Messages of an election, all starting, on random arrangements"
GROWTH_UNIT = "messages"
GROWTH_NS = (4, 16, 64, 256, 1_000, 3_000, 10_000)
MOST_ON_RINGS, MOST_WATCHED = 3_000_000, 200_000
"""A curve ends beyond this many messages per run. Rings run without a trace, so they may take more."""
MOST_ARRANGEMENTS, LEAST_ARRANGEMENTS = 60, 6
PROCESSES_TO_SEE = 600
"""Approximate product of arrangements and processes for one figure."""
RUNS = 20
FEW = 12
"""Up to this many processes, each starts alone once; of more, a selection."""
SETTLED_MS = 400.0
"""Some algorithms start only after a timeout of tens of milliseconds."""
MOST_EVENTS = 5_000_000
GROWTH_SEEDS = 3
DETECTION_MS = 2.0
"""Time after a partition begins or heals until detectors report it, as after a crash."""
SOON_MS = 120.0
"""On a complete network every election has ended by then, for any number of processes."""


def names() -> list[str]:
    """Every election of the catalogue."""
    return [name for name, algorithm in ALGORITHMS.items() if issubclass(algorithm, Election)]


def compare(name: str, n: int) -> Row:
    """One line of the comparison."""
    scenes = _Scenes(name, n)
    figures = scenes.starts() | scenes.crash()
    figures |= scenes.detection()
    figures["loss"] = scenes.loss()
    figures["partition"] = scenes.partition()
    return Row(name, n, {metric.name: figures[metric.name] for metric in METRICS})


def growth(name: str, ns: Iterable[int], step: Callable[[str], None] = lambda words: None) -> list[tuple[int, float]]:
    """Mean number of messages when all start, for growing N, until a size would take too long."""
    found: list[tuple[int, float]] = []
    stuck = False
    for n in ns:
        step(name)
        scenes = _Scenes(name, n)
        stuck = stuck or _foreseen(found, n) > (MOST_ON_RINGS if scenes.on_ring else MOST_WATCHED)
        if stuck:
            continue
        orders = scenes.arrangements(GROWTH_SEEDS)[2:] or scenes.arrangements(1)
        counts = [scenes.count(ids) for ids in orders]
        if None in counts:
            stuck = True
        else:
            found.append((n, sum(count or 0 for count in counts) / len(counts)))
    return found


def _foreseen(found: list[tuple[int, float]], n: int) -> float:
    """Estimated messages of the next size, extrapolated from the last two."""
    if len(found) < 2:
        return 0.0
    (before, few), (last, many) = found[-2:]
    slope = log(max(many, 1.0) / max(few, 1.0)) / log(last / before)
    return float(many * (n / last) ** slope)


class _Scenes:
    """The runs of one election with n processes."""

    def __init__(self, name: str, n: int) -> None:
        algorithm = find(name)
        if not issubclass(algorithm, Election):
            raise TypeError(f"{name} is not an election")
        self.name, self.n, self.algorithm = name, n, algorithm
        self.formulas: ElectionFormulas = election_formulas(name)
        self.settled_ms = SETTLED_MS if algorithm.topology is Complete else SETTLED_MS + 10 * n
        self.soon_ms = SOON_MS if algorithm.topology is Complete else self.settled_ms
        self.runs = max(LEAST_ARRANGEMENTS, min(RUNS, PROCESSES_TO_SEE // n))

    def trace(self, **details: Any) -> Trace:
        places = details.get("ids", tuple(range(1, self.n + 1)))
        graph = graph_edges(self.n) if self.on_graph else ()
        edges = tuple((places[one - 1], places[other - 1]) for one, other in graph)
        base = Scenario(algorithm=self.name, n=None if "ids" in details else self.n, edges=edges)
        trace = simulate(base.but(until_ms=self.settled_ms).but(**details), self.algorithm).trace
        if trace is None:
            raise RuntimeError("a recorded run has a trace")
        return trace

    @property
    def on_ring(self) -> bool:
        """True if the topology is a ring. Elections on rings fall silent by themselves."""
        return "ring" in self.algorithm.topology.name

    @property
    def on_graph(self) -> bool:
        """True if the algorithm runs on any connected graph."""
        return self.algorithm.topology in (Graph, Grid)

    def count(self, ids: tuple[int, ...]) -> int | None:
        """Messages when all start; None if the run does not end within the limits."""
        if self.on_ring:
            sized = {"size": self.n} if "size" in marked(self.algorithm, PARAMETER) else {}
            limits: dict[str, Any] = {"max_events": MOST_EVENTS, "until_ms": 1e9}
            scenario = Scenario(algorithm=self.name, ids=ids, parameters=sized, **limits)
            run = simulate(scenario, self.algorithm, record=False)
            return sum(run.messages.values()) if run.end == "quiet" else None
        trace = self.trace(ids=ids, max_events=MOST_EVENTS, until_ms=self.soon_ms)
        done = trace.header.end != "events" and History(trace).reigns
        return self.messages(trace) if done else None

    def arrangements(self, random: int) -> list[tuple[int, ...]]:
        """Ascending, descending and `random` random orders; only one order unless on a ring or graph."""
        rising = tuple(range(1, self.n + 1))
        if not self.on_ring and not self.on_graph:
            return [rising]
        found = [rising, rising[::-1]]
        for seed in range(random):
            chance, mixed = Random(f"{seed}/arrangement").random, list(rising)
            for place in range(len(mixed) - 1, 0, -1):
                other = int(chance() * (place + 1))
                mixed[place], mixed[other] = mixed[other], mixed[place]
            found.append(tuple(mixed))
        return found

    @cached_property
    def together(self) -> list[Trace]:
        """Traces in which all start at once: one per arrangement, or one per seed if there is one arrangement."""
        orders = self.arrangements(max(LEAST_ARRANGEMENTS, min(MOST_ARRANGEMENTS, PROCESSES_TO_SEE // self.n)))
        if len(orders) > 1:
            return [self.trace(ids=ids, seed=seed) for seed, ids in enumerate(orders)]
        return [self.trace(seed=seed, until_ms=self.soon_ms) for seed in range(LEAST_ARRANGEMENTS)]

    def messages(self, trace: Trace, since: int = 0) -> int:
        """Messages sent; until the last process named its leader if the run does not fall silent."""
        until = trace.header.ended_at if trace.header.end == "quiet" else _last_word(trace)
        sent = (event for event in trace.events if isinstance(event, Sent) and event.to != event.process)
        return sum(since <= event.at <= until for event in sent)

    def starts(self) -> dict[str, Figure]:
        """Messages, time, size and leaders without faults."""
        alone = [
            float(self.messages(self.trace(ids=ids, elect=(Elect(process=starter),), until_ms=self.soon_ms)))
            for ids in self.arrangements(LEAST_ARRANGEMENTS if self.n <= FEW else 1)
            for starter in spread(ids, FEW if self.n <= FEW else FEW // 3)
        ]
        together = [float(self.messages(trace)) for trace in self.together]
        by_chance = together[2:] if len(self.arrangements(1)) > 1 else together
        times = [_last_word(trace) / trace.header.message_us for trace in self.together]
        sizes = [
            float(max((_size(e.fields) for e in t.events if isinstance(e, Sent)), default=0)) for t in self.together
        ]
        f, n = self.formulas, self.n
        return {
            "one_starter": figure(alone, f.one_starter, n),
            "all_start": figure(together, f.all_start, n),
            "mean": figure(by_chance, f.mean, n, mean_only=True),
            "rounds": self.rounds(),
            "time": figure(times, f.time, n),
            "size": figure([max(sizes)], f.size, n),
            "leaders": figure([float(max(_at_once(History(trace)) for trace in self.together))], f.leaders, n),
        }

    def rounds(self) -> Figure:
        """Rounds of the runs in which all start. If they are unbounded, the claim is on their mean."""
        counts = [rounds(self.name, trace) for trace in self.together]
        values = [float(count) for count in counts if count is not None]
        claim, mean_claim = self.formulas.rounds, self.formulas.mean_rounds
        found = figure(values, claim, self.n)
        if mean_claim is None:
            return found
        mean = figure(values, mean_claim, self.n, mean_only=True)
        remark = f"{found.text}, mean {mean.text}"
        return replace(found, claim=mean.claim, passed=mean.passed, remark=remark)

    def crash(self) -> dict[str, Figure]:
        """The leader crashes after the election; measures the next one, if all agree on a live leader."""
        claims = {"crash_messages": self.formulas.crash_messages, "crash_time": self.formulas.crash_time}
        old = leader(History(self.trace()))
        if old is None:
            return {name: Figure(None) for name in claims}
        at_ms = self.settled_ms / 2
        smallest = 2 if old == 1 else 1
        everybody = tuple(Elect(process=process) for process in range(1, self.n + 1))
        again = () if self.algorithm.one_election else ((Elect(process=smallest, at_ms=at_ms + 5),),)
        for asked in ((), *again):  # if no detector wakes them, ask one process
            trace = self.trace(crash=(Crash(process=old, at_ms=at_ms),), elect=everybody + asked)
            history = History(trace)
            if leader(history) not in (None, old) and uniqueness(history).status is not Status.BROKEN:
                since = round(at_ms * 1000)
                values = {
                    "crash_messages": float(self.messages(trace, since)),
                    "crash_time": (_last_word(trace) - since) / trace.header.message_us,
                }
                return {name: figure([values[name]], claim, self.n) for name, claim in claims.items()}
        passed = None if Assumption.NO_CRASHES in self.algorithm.assumes else False
        return {name: Figure(None, passed=passed, remark="none") for name in claims}

    def detection(self) -> dict[str, Figure]:
        """The cost of noticing crashes; empty if the algorithm uses no detector."""
        if not hasattr(self.algorithm, "on_suspect"):
            return {"watched": Figure(None), "beats": Figure(None)}
        ids, f = tuple(range(1, self.n + 1)), self.formulas
        pairs = sum(len(self.algorithm().watches(me, ids)) for me in ids)
        detector = Detector(kind="heartbeat")
        until_ms = 10 * detector.interval_ms - 0.001  # the eleventh heartbeat would be sent then
        run = simulate(Scenario(algorithm=self.name, n=self.n, detector=detector, until_ms=until_ms), self.algorithm)
        return {
            "watched": figure([float(pairs)], f.watched, self.n),
            "beats": figure([float(run.beats)], f.beats, self.n),
        }

    def loss(self) -> Figure:
        """A tenth of the messages is lost."""
        good, two, sent = 0, 0, 0
        for seed in range(self.runs):
            trace = self.trace(seed=seed, network=Network(loss=0.1))
            history = History(trace)
            broken = uniqueness(history).status is Status.BROKEN
            two += broken
            good += not broken and self._done(history)
            sent += any(isinstance(event, Sent) for event in trace.events)
        if not sent:
            return Figure(None)  # no messages to lose: only the detector communicates
        remark = f"{good}/{self.runs}" + (f", two in {two}" if two else "")
        claim, passed = ("never two", not two) if self.bears else ("", None)
        return Figure(float(good), claim=claim, passed=passed, remark=remark)

    def partition(self) -> Figure:
        """Two halves by identifier, partitioned from the start; detectors cannot see across either."""
        half = tuple(range(1, self.n // 2 + 1))
        rest = tuple(range(self.n // 2 + 1, self.n + 1))
        healed_ms = self.settled_ms / 2
        apart = Partition(at_ms=0, until_ms=healed_ms, groups=(half,))
        details: dict[str, Any] = {"partition": (apart,)}
        if self.only_detector:
            pairs = [pair for one in half for other in rest for pair in ((one, other), (other, one))]
            details["suspect"] = tuple(
                Suspicion(process=process, peer=peer, at_ms=DETECTION_MS, until_ms=healed_ms + DETECTION_MS)
                for process, peer in pairs
            )
        history = History(self.trace(**details))
        broken = uniqueness(history).status is Status.BROKEN
        count = _at_once(history)
        healed = ", one when healed" if count > 1 and leader(history) is not None else ""
        claim, passed = ("never two of a term", not broken) if self.bears else ("", None)
        return Figure(float(count), claim=claim, passed=passed, remark=f"{count}{healed}")

    @property
    def bears(self) -> bool:
        """True if the algorithm promises to tolerate loss and partitions."""
        excluded = {Assumption.RELIABLE, Assumption.PERFECT_DETECTOR} & set(self.algorithm.assumes)
        return not excluded and Property.UNIQUENESS in self.algorithm.guarantees

    @property
    def only_detector(self) -> bool:
        """True if the algorithm sends no messages. A partition then shows only as wrong suspicions of its detector."""
        assumes = self.algorithm.assumes
        return Assumption.PERFECT_DETECTOR in assumes and Assumption.RELIABLE not in assumes

    def _done(self, history: History) -> bool:
        """True if there is one leader, named by all processes if the algorithm promises agreement."""
        if Property.AGREEMENT in self.algorithm.guarantees:
            return leader(history) is not None
        return bool(history.reigns)


def _last_word(trace: Trace) -> int:
    return max((event.at for event in trace.events if isinstance(event, Elected)), default=0)


def _at_once(history: History) -> int:
    """The largest number of processes that led at the same time."""
    changes = sorted(
        [(reign.start_index, 1) for reign in history.reigns] + [(reign.end_index, -1) for reign in history.reigns]
    )
    most = now = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most


def _size(value: Any) -> int:
    if isinstance(value, dict):
        return sum(map(_size, value.values()))
    return sum(map(_size, value)) if isinstance(value, list | tuple) else 1
