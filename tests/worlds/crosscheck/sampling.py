"""Sampling: runs of the simulator that stay within a configuration of the checker, so that the checker must know them.

A seed decides a calm run, and a few runs that differ from it by faults of the configuration's budget and by the time of
some requests. A run is the same up to the first difference, so faults are placed at moments, messages and waits of the
calm run, where they meet something. With time, every delay, stay, timer and report is within its bounds; in half of the
seeds all of them are at ticks, including both ends of their ranges, where several events happen at the same moment.
Without time, delays and timers take any time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import count, takewhile
from random import Random
from typing import NamedTuple, TypeVar

import msgspec

from tests.worlds.crosscheck.bounds import Bounds, message_of
from vez.core.process import handlers_of
from vez.core.trace import Crashed, Delivered, Lost, Recovered, Sent, TimerSet, Trace, Wanted
from vez.errors import ProtocolBug
from vez.worlds.check import Configuration
from vez.worlds.check.model.configuration import FOREVER
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.delays import us
from vez.worlds.sim.scenario import (
    Crash,
    Detector,
    Drift,
    Elect,
    Fate,
    Network,
    Partition,
    Pause,
    Suspicion,
    Timer,
    Want,
)

NO_TIME = 0.001
"""The shortest delay of the simulator, in milliseconds."""
UNTIMED = ("constant(1)", "uniform(0, 6)", "exponential(2)", "pareto(0.1, 1.2)", "lognormal(1, 2)")
"""Delays where a message may take any time."""
DRAWN = 12
"""How many messages of each channel, and timers of each process, have a drawn time of their own."""
LIMITS = {"until_ms": 400.0, "patience_ms": 150.0, "max_events": 1_500}
LONG_LIMITS = {"until_ms": 60_000.0, "patience_ms": 6_000.0, "max_events": 300_000}
"""A run that seems endless is continued to these limits before it counts."""
VARIANTS = 3
"""The number of runs with faults for each calm run."""
HORIZON = 80.0
"""Faults begin before this time in milliseconds, also where the algorithm sends for ever."""


Request = TypeVar("Request", Want, Elect)


class Seen(NamedTuple):
    """A scenario with its run."""

    scenario: Scenario
    trace: Trace
    raised: str
    """The exception of a handler; empty if there was none."""
    beyond: bool
    """True if the run goes beyond the bounds of the configuration, where the checker does not follow."""


def observe(configuration: Configuration, scenario: Scenario) -> Seen:
    """Run a scenario in the simulator, with the excuses that the checker gives."""
    bounds = Bounds(configuration)
    try:
        trace, raised = simulate(scenario, bounds.algorithm, excused=configuration.excuses_entries).trace, ""
    except ProtocolBug as error:
        trace, raised = error.trace, str(error)
        if trace is None:
            raise
    assert trace is not None
    return Seen(scenario, trace, raised, bounds.exceeded or bounds.exceeds(trace))


def runs(configuration: Configuration, seed: str) -> Iterator[Seen]:
    """Runs of one seed: a calm one, and some with faults if the configuration allows any, and other requests."""
    calm = _Calm(configuration, Random(f"calm/{seed}"))
    seen = observe(configuration, calm.scenario(seed))
    yield seen
    if not seen.raised:
        for variant in range(VARIANTS):
            chance = Random(f"faults/{seed}/{variant}")
            faulty = observe(configuration, _Faults(configuration, chance, calm, seen).scenario())
            yield faulty
            reports = _reports(configuration, chance, faulty) if configuration.detector else None
            if reports is not None:
                scenario = faulty.scenario.but(detector=Detector(kind="none"), suspect=reports)
                yield observe(configuration, scenario)


class _Calm:
    """A run without faults: delays, timers, clocks and requests."""

    def __init__(self, configuration: Configuration, chance: Random) -> None:
        self.configuration, self.chance = configuration, chance
        self.ids = configuration.ids
        clock = configuration.clock
        self.timed = configuration.timed
        self.longest = max(NO_TIME, clock.delay_us / 1000) if self.timed else 6.0 if configuration.synchronous else None
        """The longest delay in milliseconds; None if there is none."""
        self.stay = clock.stay_us / 1000 if self.timed and clock.stay_us is not None else None
        self.tick = _tick(configuration) if self.timed and chance.random() < 0.5 else 0.0
        self.mean_stay = chance.choice((0.1, 2.0, 20.0, 60.0))

    def time(self, low: float, high: float) -> float:
        """A time within a range; the largest moment is as likely as any other if all times are at ticks."""
        if not self.tick:
            return self.chance.uniform(low, high)
        return min(high, self.tick * self.chance.randint(math.ceil(low / self.tick), max(1, int(high // self.tick))))

    def scenario(self, seed: str) -> Scenario:
        """The complete scenario."""
        configuration = self.configuration
        mutex = configuration.algorithm.role == "mutex"
        window = self.chance.choice((0.0, 3.0, 12.0, 40.0))
        return configuration.scenario.but(
            seed=Random(seed).randrange(2**40),
            network=Network(fifo=configuration.fifo, delay=self._delay()),
            detector=self._detector(),
            message=tuple(self._fates()),
            timer=tuple(self._timers()),
            drift=tuple(self._drifts()),
            want=tuple(self._wants(window)) if mutex else (),
            elect=() if mutex else tuple(self._elections(window)),
            crash=(),
            suspect=(),
            partition=(),
            pause=(),
            **LIMITS,
        )

    def _delay(self) -> str:
        if self.longest is None:
            return self.chance.choice(UNTIMED)
        return self.chance.choice((f"uniform(0, {self.longest})", f"constant({self.longest})"))

    def _detector(self) -> Detector:
        if not self.configuration.detector:
            return Detector(kind="none")
        if self.longest is not None:  # the report comes after the messages of the dead process
            return Detector(delay_ms=self.longest + self.chance.choice((0.5, 0.5, 5.0)))
        return Detector(delay_ms=self.chance.choice((NO_TIME, 0.5, 2.0, 20.0)))

    def _fates(self) -> Iterator[Fate]:
        """Delays of the first messages. Without bounds some messages, or all of a channel, are slow."""
        crossing = [(sender, to) for sender in self.ids for to in self.ids]
        slow = self.chance.choice(crossing) if self.chance.random() < 0.4 else None
        if self.longest is None and slow is None and self.chance.random() < 0.5:
            return
        if self.longest is not None and not self.tick:
            return
        for sender, to in crossing:
            for number in range(1, DRAWN + 1):
                if self.longest is not None:
                    delay = self.time(0, self.longest)
                elif (sender, to) == slow or self.chance.random() < 0.1:
                    delay = self.chance.expovariate(1 / 25)
                else:
                    continue
                yield Fate(sender=sender, to=to, number=number, delay_ms=delay)

    def _timers(self) -> Iterator[Timer]:
        """Without bounds on time a timer runs out at any moment."""
        if self.configuration.synchronous or not handlers_of(self.configuration.algorithm).timers:
            return
        style = self.chance.choice(("own", "soon", "late", "any"))
        for process in self.ids if style != "own" else ():
            for number in range(1, 2 * DRAWN + 1):
                scale = {"soon": 0.5, "late": 60.0}.get(style) or 10 ** self.chance.uniform(-2, 2)
                yield Timer(process=process, number=number, after_ms=self.chance.expovariate(1 / scale))

    def _drifts(self) -> Iterator[Drift]:
        error = float(self.configuration.clock.drift)
        for process in self.ids if error else ():
            low, high = 1 - error, 1 + error
            yield Drift(process=process, rate=self.chance.choice((low, 1.0, high, self.chance.uniform(low, high))))

    def _requests(self) -> Iterator[tuple[int, int]]:
        for process, most in self.configuration.requests.items():
            number = self.chance.choice((1, 2, 3, 6)) if most == FOREVER else most
            yield from ((process, turn) for turn in range(number))

    def _wants(self, window: float) -> Iterator[Want]:
        for process, turn in self._requests():
            yield Want(process=process, at_ms=self.time(0, window * (1 + turn)), inside_ms=self.length())

    def length(self) -> float:
        """The length of a stay."""
        if self.stay is not None:
            return self.time(0, self.stay)
        return self.chance.expovariate(1 / self.mean_stay)

    def _elections(self, window: float) -> Iterator[Elect]:
        for process, _ in self._requests():
            yield Elect(process=process, at_ms=self.time(0, window))


class _Faults:
    """Faults for a calm run."""

    def __init__(self, configuration: Configuration, chance: Random, calm: _Calm, seen: Seen) -> None:
        self.configuration, self.chance, self.calm, self.seen = configuration, chance, calm, seen
        self.budget, self.ids = configuration.budget, configuration.ids
        self.times = sorted({event.at / 1000 for event in seen.trace if event.at < HORIZON * 1000}) or [0.0]
        self.end = self.times[-1] + 1

    def scenario(self) -> Scenario:
        """The scenario of the calm run with the faults. In some, requests come after a fault or an event instead."""
        crashes = (*self._crashes(), *self._crashes_inside())
        partitions, pauses = tuple(self._partitions()), tuple(self._pauses())
        over = [crash.recover_ms or crash.at_ms for crash in crashes]
        over += [cut.until_ms or cut.at_ms for cut in partitions] + [pause.at_ms + pause.for_ms for pause in pauses]
        late = [*over, self._moment(), self._moment()] if self.chance.random() < 0.4 or not over else []
        calm = self.seen.scenario
        return calm.but(
            crash=crashes,
            suspect=tuple(self._suspicions()),
            partition=partitions,
            pause=pauses,
            message=tuple(self._fates().values()),
            want=tuple(self._wants(tuple(self._later(want, late) for want in calm.want))),
            elect=tuple(self._later(elect, late) for elect in calm.elect),
        )

    def _later(self, request: Request, late: list[float]) -> Request:
        """The request, or the same one some time after another moment."""
        if not late or self.chance.random() < 0.5:
            return request
        wait = self.chance.choice((NO_TIME, self.chance.expovariate(0.5)))
        return msgspec.structs.replace(request, at_ms=self.chance.choice(late) + wait)

    def _moment(self) -> float:
        """A moment after the start: just before or after an event of the calm run, or any other."""
        if self.chance.random() < 0.2:
            return max(NO_TIME, self.chance.uniform(0, self.end))
        later = self.chance.choice((0.0, NO_TIME, 2 * NO_TIME, self.chance.uniform(0, 1)))
        return max(NO_TIME, self.chance.choice(self.times) + later)

    def _after(self, moment: float) -> float:
        """A later moment: soon, at a moment of the calm run, or long after it."""
        later = [time for time in self.times if time > moment]
        near = self.chance.choice(later) + NO_TIME if later else moment + 1
        soon = self.chance.expovariate(1)
        return max(moment + NO_TIME, self.chance.choice((near, near, moment + soon, moment + 30 * soon)))

    def _crashes(self) -> Iterator[Crash]:
        for number in range(self.budget.crashes):
            yield self._crash(self._moment(), number)

    def _crashes_inside(self) -> Iterator[Crash]:
        for number in range(self.budget.crashes_inside):
            at = self.chance.choice((0.0, *(self._moment() for _ in range(4))))
            crash = self._crash(at, self.budget.crashes + number)
            yield Crash(
                process=crash.process,
                at_ms=at,
                recover_ms=crash.recover_ms,
                memory=crash.memory,
                after_actions=self.chance.choice((0, 0, 1, 1, 2, 3, 4)),
            )

    def _crash(self, at: float, number: int) -> Crash:
        back = self._after(at) if number < self.budget.recoveries else None
        memory = not (self.configuration.amnesia and self.chance.random() < 0.5)
        return Crash(process=self.chance.choice(self.configuration.victims), at_ms=at, recover_ms=back, memory=memory)

    def _suspicions(self) -> Iterator[Suspicion]:
        for _ in range(self.budget.mistakes):
            process, peer = self.chance.sample(self.ids, 2)
            at = self._moment()
            yield Suspicion(process=process, peer=peer, at_ms=at, until_ms=self._after(at))

    def _partitions(self) -> Iterator[Partition]:
        for _ in range(self.budget.partitions):
            one, at = self.chance.choice(self.configuration.partitions), self._moment()
            until = self.chance.choice((None, self._after(at), self._after(at)))
            yield Partition(at_ms=at, until_ms=until, groups=one.groups, one_way=one.one_way)

    def _pauses(self) -> Iterator[Pause]:
        for _ in range(self.budget.pauses):
            at = self._moment()
            yield Pause(process=self.chance.choice(self.ids), at_ms=at, for_ms=self._after(at) - at)

    def _fates(self) -> dict[tuple[int, int, int], Fate]:
        """The delays of the calm run, and the messages of it that are lost or copied."""
        fates = {(fate.sender, fate.to, fate.number): fate for fate in self.seen.scenario.message}
        names = _names(self.seen.trace)
        wanted = self.budget.losses + self.budget.duplicates
        chosen = self.chance.sample(names, min(wanted, len(names)))
        self.chance.shuffle(chosen)
        for number, name in enumerate(chosen):
            sender, to, which = name
            if number < self.budget.losses:
                fates[name] = Fate(sender=sender, to=to, number=which, lost=True)
                continue
            longest = self.calm.longest
            delay = self.calm.time(0, longest) if longest is not None else self.chance.expovariate(0.1)
            first = fates[name].delay_ms if name in fates else None
            fates[name] = Fate(sender=sender, to=to, number=which, delay_ms=first, copies=(delay,))
        return fates

    def _wants(self, wants: tuple[Want, ...]) -> Iterator[Want]:
        """The requests, of which some are withdrawn, most of them while they wait."""
        many = min(self.budget.withdrawals, len(wants))
        chosen = set(self.chance.sample(range(len(wants)), many))
        asked = [event.at / 1000 for event in self.seen.trace if isinstance(event, Wanted)]
        for place, want in enumerate(wants):
            if place not in chosen:
                yield want
                continue
            at = self._after(self.chance.choice([time for time in asked if time >= want.at_ms] or [want.at_ms]))
            yield Want(
                process=want.process,
                at_ms=want.at_ms,
                inside_ms=want.inside_ms,
                withdraw_ms=max(want.at_ms, at),
                linger_ms=self.calm.length(),
            )


def _reports(configuration: Configuration, chance: Random, seen: Seen) -> tuple[Suspicion, ...] | None:
    """Reports of the only crash of a run, which each process gets at a moment of its own; None if there is another."""
    crashes = [event for event in seen.trace if isinstance(event, Crashed)]
    if len(crashes) != 1 or seen.scenario.suspect or seen.raised:
        return None
    [crash] = crashes
    back = next((event.at for event in seen.trace if isinstance(event, Recovered)), None)
    earliest = crash.at
    if configuration.synchronous:  # its messages arrive first
        before = takewhile(lambda event: event is not crash, seen.trace)
        sent = {event.number for event in before if isinstance(event, Sent) and event.process == crash.process}
        ends = {message_of(event): event.at for event in seen.trace if isinstance(event, Delivered | Lost)}
        earliest = max(crash.at, *(ends.get((crash.process, number), 0) for number in sent), 0)
    found = []
    for process in configuration.ids:
        at = earliest + us(chance.choice((NO_TIME, chance.expovariate(1), chance.expovariate(0.1))))
        if process != crash.process and (back is None or at < back):
            until = None if back is None else back / 1000 + chance.choice((NO_TIME, chance.expovariate(0.3)))
            found.append(Suspicion(process=process, peer=crash.process, at_ms=at / 1000, until_ms=until))
    return tuple(found)


def _names(trace: Trace) -> list[tuple[int, int, int]]:
    """The messages between two processes, named as in a scenario: sender, receiver, number on that channel."""
    numbers: dict[tuple[int, int], Iterator[int]] = {}
    found = []
    for event in trace:
        if isinstance(event, Sent) and event.at < HORIZON * 1000:
            channel = (event.process, event.to)
            number = next(numbers.setdefault(channel, count(1)))
            found += [(*channel, number)] * (event.process != event.to)
    return found


def _tick(configuration: Configuration) -> float:
    """The tick in milliseconds, as far as one run shows it."""
    clock, error = configuration.clock, configuration.clock.drift
    seen = observe(configuration, configuration.scenario.but(network=Network(fifo=configuration.fifo), until_ms=60))
    timers = [event.after_us for event in seen.trace if isinstance(event, TimerSet)]
    off = [math.ceil(after * error) for after in timers]
    return math.gcd(clock.delay_us, clock.stay_us or 0, *timers, *off) / 1000
