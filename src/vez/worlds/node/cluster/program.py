"""Program: the steps of a scenario for a cluster, with times: commands to nodes, crashes, pauses, cuts.

Times of a scenario are milliseconds of the algorithm; a cluster multiplies them by its time scale. The nodes themselves
change messages, timers and choices (`scripted`).
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from typing import NamedTuple

from vez.core import overrides
from vez.core.process import Election, Mutex
from vez.worlds.sim.delays import parse_delay
from vez.worlds.sim.scenario import Workload
from vez.worlds.sim.setup import Setup

APART_MS = 0.1
"""The time between requests that a scenario plans for the same time: enough for their messages to keep the order."""
MOST_APART_MS = 0.5
"""The largest time between the first and the last of them: less than a message takes."""


class Stay(NamedTuple):
    """A planned stay: the time of the request, or the time after the previous stay, and the duration."""

    inside_ms: float
    at_ms: float | None = None
    think_ms: float = 0.0
    wait_ms: float | None = None
    linger_ms: float = 0.0


class Step(NamedTuple):
    """A command or fault at a time."""

    at_ms: float
    kind: str
    """`elect`, `crash`, `recover`, `pause`, `resume`, `cut`, `heal`, `suspect` or `trust`."""
    process: int
    peer: int = 0
    memory: bool = True
    after_actions: int | None = None


class Program(NamedTuple):
    """All requests and steps of a scenario."""

    stays: dict[int, deque[Stay]]
    stillborn: tuple[int, ...]
    """The processes that crash at time 0, before they can do anything."""
    steps: list[Step]


def make_program(setup: Setup) -> Program:
    """The program of a scenario."""
    crashes = [crash for crash in setup.scenario.crash if crash.at_ms == 0 and crash.after_actions is None]
    stillborn = tuple(dict.fromkeys(crash.process for crash in crashes))
    return Program(_stays(setup), stillborn, sorted(_steps(setup), key=lambda step: step.at_ms))


def _apart(times: list[float]) -> list[float]:
    """The times in order; equal times are moved slightly apart."""
    counts, seen = Counter(times), Counter[float]()
    spread = []
    for at_ms in times:
        spread.append(at_ms + seen[at_ms] * min(APART_MS, MOST_APART_MS / counts[at_ms]))
        seen[at_ms] += 1
    return spread


def _stays(setup: Setup) -> dict[int, deque[Stay]]:
    scenario, algorithm = setup.scenario, setup.algorithm
    plans: defaultdict[int, deque[Stay]] = defaultdict(deque)
    if not issubclass(algorithm, Mutex):
        return plans
    wants = sorted(scenario.want, key=lambda want: want.at_ms)
    for want, at_ms in zip(wants, _apart([want.at_ms for want in wants]), strict=True):
        wait = None if want.withdraw_ms is None else want.withdraw_ms - want.at_ms
        plans[want.process].append(Stay(want.inside_ms, at_ms, wait_ms=wait, linger_ms=want.linger_ms))
    workload = scenario.workload or Workload(requests=0 if scenario.want else Workload().requests)
    for process in overrides.contenders(algorithm, setup.ids) if workload.requests else ():
        chance = setup.stream(f"workload/{process}")
        think, inside = (
            parse_delay(workload.think_ms).sampler(chance, 0),
            parse_delay(workload.inside_ms).sampler(chance),
        )
        patience = setup.stream(f"withdraw/{process}")
        waits = None if workload.wait_ms is None else parse_delay(workload.wait_ms).sampler(patience, 0)
        for _ in range(workload.requests):
            wait = None if waits is None else waits() / 1000
            think_ms = think() / 1000
            plans[process].append(Stay(inside() / 1000, think_ms=think_ms, wait_ms=wait))
    return plans


def _steps(setup: Setup) -> list[Step]:
    scenario = setup.scenario
    steps = []
    for crash in scenario.crash:
        if crash.at_ms or crash.after_actions is not None:
            steps.append(Step(crash.at_ms, "crash", crash.process, after_actions=crash.after_actions))
        if crash.recover_ms is not None:
            steps.append(Step(crash.recover_ms, "recover", crash.process, memory=crash.memory))
    for pause in scenario.pause:
        steps.append(Step(pause.at_ms, "pause", pause.process))
        steps.append(Step(pause.at_ms + pause.for_ms, "resume", pause.process))
    for partition in scenario.partition:
        for one, other in partition.channels(setup.ids):
            steps.append(Step(partition.at_ms, "cut", one, other))
            if partition.until_ms is not None:
                steps.append(Step(partition.until_ms, "heal", one, other))
    for suspicion in scenario.suspect:
        steps.append(Step(suspicion.at_ms, "suspect", suspicion.process, suspicion.peer))
        if suspicion.until_ms is not None:
            steps.append(Step(suspicion.until_ms, "trust", suspicion.process, suspicion.peer))
    if issubclass(setup.algorithm, Election):
        asked = [(elect.at_ms, elect.process) for elect in scenario.elect] or [(0.0, process) for process in setup.ids]
        asked.sort(key=lambda one: one[0])
        times = _apart([at_ms for at_ms, _ in asked])
        steps += [Step(at_ms, "elect", process) for at_ms, (_, process) in zip(times, asked, strict=True)]
    return steps
