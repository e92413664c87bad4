"""The comparison of the textbooks for mutual exclusion, measured in the simulator.

Five scenes, each with message delays of 1 ms where a formula is to be met:

    idle        one process after another, no contention: messages and client delay
    full        every process always wants in: messages, rate of entries, load
    hand-over   one process is inside, another waits: synchronization delay
    contention  as full, with random delays and several seeds: bypasses and broken properties
    crashes     one idle process (then every two, …) crashes before a request; one crashes inside
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import combinations, islice, pairwise

from vez.catalogue.algorithms import ALGORITHMS, find
from vez.core import Mutex, Property
from vez.core.trace import Sent, Trace
from vez.judge.properties.history import History
from vez.judge.properties.measure import measure
from vez.judge.properties.mutex import deadlock_freedom, exclusion, starvation_freedom
from vez.judge.properties.verdict import Status
from vez.study.compare.figure import Figure, Metric, Row, figure, spread
from vez.study.compare.formulas import INSIDE_MS, MutexFormulas, mutex_formulas
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Crash, Network, Want, Workload

METRICS = (
    Metric("idle_messages", "messages idle", "messages per entry without contention"),
    Metric("full_messages", "messages full", "messages per entry when every process always wants in"),
    Metric("client_delay", "client delay", "message times from the request to the entry without contention"),
    Metric("synchronization_delay", "sync. delay", "message times from an exit to the entry of a waiting process"),
    Metric("entries_per_ms", "entry rate", "entries per message time when every process wants in and stays for one"),
    Metric("load", "largest load", "share of all messages that the busiest process sends or receives"),
    Metric(
        "bypasses", "bypasses", "largest number of later requests served before one that was placed, with random delays"
    ),
    Metric("contention", "breaks", "what broke under contention with random delays"),
    Metric("idle_crashes", "idle crashes", "number of other processes whose crash still lets a process get in"),
    Metric("any_crashes", "any crashes", "how many others may have crashed, whichever they are"),
    Metric("inside_crash", "crash inside", "whether others get in after one crashed inside"),
)
GROWTH_TITLE = "Messages per entry, everybody wanting in"
GROWTH_UNIT = "messages per entry"
GROWTH_NS = (4, 9, 16, 25, 49, 100, 169, 256)
LEGEND = (
    "N processes; quorum: n = 3 of them coordinate and m = 2 must permit; K voters in a set of the grid; "
    "D the diameter of the tree"
)
SAMPLE = 8
"""Number of processes, or pairs, that are sampled where each costs a run."""
MOST_SEEDS = 20
MESSAGES_TO_SEE = 20_000
"""Approximate number of messages recorded for one figure; at least two seeds in any case."""
MOST_SETS = 40
BROKEN = (
    (Property.EXCLUSION, "two inside"),
    (Property.DEADLOCK_FREEDOM, "deadlock"),
    (Property.STARVATION_FREEDOM, "starving"),
)
"""Properties, the worst violation first: a cell names the first of these that is broken."""
MOST_EVENTS = 20_000_000
ENOUGH_ENTRIES = 100
"""Enough entries that the few messages after the last one do not matter."""
UNDULY = 10
"""Limit of message times per entry; algorithms with a queue need at most three."""


def names() -> list[str]:
    """Every algorithm of mutual exclusion in the catalogue."""
    return [name for name, algorithm in ALGORITHMS.items() if issubclass(algorithm, Mutex)]


def compare(name: str, n: int) -> Row:
    """One line of the comparison."""
    scenes = _Scenes(name, n)
    formulas = scenes.formulas
    figures = scenes.idle() | scenes.full()
    figures["synchronization_delay"] = figure(scenes.hand_overs(), formulas.synchronization_delay, n)
    figures |= scenes.contention() | scenes.crashes()
    return Row(name, n, {metric.name: figures[metric.name] for metric in METRICS})


def growth(name: str, ns: Iterable[int], step: Callable[[str], None] = lambda words: None) -> list[tuple[int, float]]:
    """Messages per entry under full contention, for growing N, until a size takes too long."""
    found: list[tuple[int, float]] = []
    stuck = False
    for n in ns:
        step(name)
        if stuck:
            continue
        scenes = _Scenes(name, n)
        rounds = max(1, ENOUGH_ENTRIES // n)
        scenario = scenes.saturated(rounds).but(until_ms=100.0 + UNDULY * n * rounds)
        run = simulate(scenario, scenes.algorithm, record=False)
        stuck = not run.all_served
        if not stuck:
            found.append((n, sum(run.messages.values()) / len(scenes.contenders) / rounds))
    return found


class _Scenes:
    """The runs of one algorithm with n processes."""

    def __init__(self, name: str, n: int) -> None:
        algorithm = find(name)
        if not issubclass(algorithm, Mutex):
            raise TypeError(f"{name} is not a mutual exclusion algorithm")
        self.name, self.n, self.algorithm = name, n, algorithm
        self.ids = tuple(range(1, n + 1))
        self.contenders = algorithm.contenders(self.ids)
        self.formulas: MutexFormulas = mutex_formulas(name)

    def scenario(self, **details: object) -> Scenario:
        return Scenario(algorithm=self.name, n=self.n).but(**details)

    def trace(self, scenario: Scenario) -> Trace:
        trace = simulate(scenario, self.algorithm).trace
        if trace is None:
            raise RuntimeError("a recorded run has a trace")
        return trace

    def idle(self) -> dict[str, Figure]:
        """One process after another, with time for all messages to arrive in between."""
        gap = 10.0 + 4 * self.n
        who = spread(self.contenders, SAMPLE)
        wants = tuple(Want(process=p, at_ms=gap * (1 + k), inside_ms=INSIDE_MS) for k, p in enumerate(who))
        trace = self.trace(self.scenario(want=wants, until_ms=gap * (len(who) + 2)))
        history = History(trace)
        delays = [((stay.entered_at or 0) - stay.wanted_at) / trace.header.message_us for stay in history.stays]
        sent = Counter(int(event.at / 1000 // gap) for event in _messages(trace))
        return {
            "idle_messages": figure([float(sent[1 + k]) for k in range(len(who))], self.formulas.idle_messages, self.n),
            "client_delay": figure(delays, self.formulas.client_delay, self.n),
        }

    def saturated(self, rounds: int = 0) -> Scenario:
        """Every process wants in, again as soon as it is out: three times, or once for many processes."""
        rounds = rounds or (3 if self.n <= 32 else 1)
        work = Workload(requests=rounds, think_ms=0, inside_ms=INSIDE_MS)
        return self.scenario(workload=work, until_ms=200.0 + 50 * self.n * rounds, max_events=MOST_EVENTS)

    def full(self) -> dict[str, Figure]:
        """Messages, rate and load under full contention, or "stuck"."""
        trace = self.trace(self.saturated())
        history = History(trace)
        stuck = any(not stay.served for stay in history.stays)
        names = ("full_messages", "entries_per_ms", "load")
        if stuck:
            promised = Property.DEADLOCK_FREEDOM in self.algorithm.guarantees
            claims = {name: getattr(self.formulas, name) for name in names}
            return {
                name: Figure(
                    None, claim=claim.text if claim else "", passed=False if promised else None, remark="stuck"
                )
                for name, claim in claims.items()
            }
        last = max(stay.left_at or 0 for stay in history.stays)
        sent = [message for message in _messages(trace) if message.at <= last]  # a token may go on circulating
        entered = sorted(stay.entered_at or 0 for stay in history.stays)
        span = (entered[-1] - entered[0]) / trace.header.message_us
        values = {
            "full_messages": len(sent) / len(entered),
            "entries_per_ms": (len(entered) - 1) / span if span else 0.0,
            "load": _largest_load(sent),
        }
        return {name: figure([values[name]], getattr(self.formulas, name), self.n) for name in names}

    def hand_overs(self) -> list[float]:
        """One process is inside, another waits: the delays from the exit to the entry."""
        delays = []
        lead = 10.0 + 4 * self.n
        around = spread(self.contenders, SAMPLE // 2)
        for one, other in (pair for two in pairwise(around) for pair in (two, two[::-1])):
            wants = (Want(process=one, at_ms=1, inside_ms=2 * lead), Want(process=other, at_ms=lead))
            parameters = self.formulas.for_long_stays
            trace = self.trace(self.scenario(want=wants, parameters=parameters, until_ms=6 * lead))
            summary = measure(trace).synchronization_delay
            if summary.mean is not None:
                delays.append(summary.mean * 1000 / trace.header.message_us)
        return delays

    def contention(self) -> dict[str, Figure]:
        """Random delays: bypasses, and the worst property that broke."""
        worst: list[float] = []
        broken: Counter[str] = Counter()
        judges = (exclusion, deadlock_freedom, starvation_freedom)
        scenario = self.saturated().but(network=Network(delay="uniform(0.5, 1.5)"))
        for seed in range(max(2, min(MOST_SEEDS, MESSAGES_TO_SEE // (9 * self.n**2)))):
            history = History(self.trace(scenario.but(seed=seed)))
            broken.update(v.name for v in (judge(history) for judge in judges) if v.status is Status.BROKEN)
            worst.append(float(max(history.bypasses, default=0)))
        passed: bool | None
        seen = next((words for name, words in BROKEN if name in broken), "nothing")
        if self.algorithm.wrong:
            claim, passed = "known wrong", True if broken else None
        else:
            may = next((words for name, words in BROKEN if name not in self.algorithm.guarantees), "")
            claim = f"may be {may}" if may == "starving" else f"may {may}" if may else "nothing"
            passed = not any(name in self.algorithm.guarantees for name in broken)
        return {
            "bypasses": figure([max(worst)], self.formulas.bypasses, self.n),
            "contention": Figure(None, claim=claim, passed=passed, remark=seen),
        }

    def crashes(self) -> dict[str, Figure]:
        """The number of processes that may crash, found by crashing them."""
        asker = self.contenders[-1]
        others = [process for process in self.ids if process != asker]
        survived = sum(self._served(asker, (victim,)) for victim in others)

        def too_many(size: int) -> bool:
            return not all(self._served(asker, victims) for victims in islice(combinations(others, size), MOST_SETS))

        # By bisection: an algorithm that survives a number of crashes survives fewer.
        sizes = range(2, len(others) + 1)
        most = 1 + bisect_left(sizes, True, key=too_many) if survived == len(others) else 0
        inside = self._after_crash_inside()
        return {
            "idle_crashes": figure([float(survived)], self.formulas.idle_crashes, self.n),
            "any_crashes": figure([float(most)], self.formulas.any_crashes, self.n),
            "inside_crash": _yes(figure([float(inside)], self.formulas.inside_crash, self.n)),
        }

    def _served(self, asker: int, victims: tuple[int, ...]) -> bool:
        """True if `asker` gets in after the victims crashed while idle."""
        calm = 20.0 + 3 * self.n
        crashes = tuple(Crash(process=victim, at_ms=5) for victim in victims)
        wants = (Want(process=asker, at_ms=calm, inside_ms=INSIDE_MS),)
        scenario = self.scenario(want=wants, crash=crashes, until_ms=3 * calm + 100)
        return simulate(scenario, self.algorithm, record=False).all_served

    def _after_crash_inside(self) -> bool:
        """True if another process gets in after one crashed inside."""
        first, second = self.contenders[0], self.contenders[-1]
        if first == second:
            return False
        calm = 20.0 + 3 * self.n
        wants = (Want(process=first, inside_ms=8 * calm), Want(process=second, at_ms=2 * calm))
        # The first process stays long, and crashes during its stay.
        crash = (Crash(process=first, at_ms=calm + 5),)
        long = {name: 2 * calm for name in self.formulas.for_long_stays if name == "lease_ms"}
        trace = self.trace(self.scenario(want=wants, crash=crash, until_ms=8 * calm, parameters=long))
        stays = History(trace).stays
        if not stays[0].served:
            raise RuntimeError(f"{self.name}: process {first} did not get in within {calm + 5:g} ms")
        return stays[-1].served


def _messages(trace: Trace) -> list[Sent]:
    return [event for event in trace.events if isinstance(event, Sent) and event.to != event.process]


def _largest_load(messages: list[Sent]) -> float:
    handled = Counter(message.process for message in messages)
    handled.update(message.to for message in messages)
    return max(handled.values()) / len(messages) if messages else 0.0


def _yes(found: Figure) -> Figure:
    return Figure(None, claim=found.claim, passed=found.passed, remark="yes" if found.value else "no")
