"""Switches: turn an assumption off, and find the first run in which a guarantee breaks without it.

For each assumption there are a few kinds of scenario that break it and keep the others as far as possible; seeds
alternate among them. A violation that is found is a fact. Finding none is not a proof, so it is always reported with
the number of seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from random import Random
from typing import Any

from vez.core import overrides
from vez.core.assumptions import Assumption
from vez.core.process import PARAMETER, Mutex, Process, marked, name_of
from vez.errors import Misuse, UnknownName
from vez.study.explain import shown_events
from vez.study.search import Break, breaks, first_break
from vez.study.shortest import Shortest, smallest_of
from vez.study.shrink import shrink
from vez.study.tidy import tidied
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Crash, Nemesis, Network, Suspicion, Want, Workload
from vez.worlds.sim.setup import DEFAULT_N

SEEDS = 300
SPREAD = "uniform(0.5, 1.5)"
"""Message delays of scenarios that break another assumption: random, but within what the timers tolerate."""
BUSY_MS = 30.0
"""Faults that are drawn here happen within this time, while requests or an election are in progress."""
LONG_STAY_MS = 10.0
"""Longest stay in milliseconds where the algorithm names none."""
SIZES = (3, DEFAULT_N, 4)
"""Numbers of processes to try if none is given. Fewer processes give shorter runs."""
CANDIDATES = 4
ATTEMPTS = 600
UNTIL_MS = 400.0
"""Requests and elections take tens of milliseconds here, so longer runs would show nothing more."""
MOST_EVENTS = 5_000
"""Limit of events: without its assumptions an algorithm may send for ever; a normal run needs hundreds."""


World = Callable[[type[Process], Scenario, Random], Scenario]


def find_break(
    algorithm: type[Process],
    assumption: Assumption | str,
    *,
    n: int | None = None,
    seeds: int = SEEDS,
    parameters: dict[str, Any] | None = None,
    progress: Callable[[int], None] = lambda tried: None,
) -> Break | None:
    """The first seed in which a guarantee of the algorithm breaks without the assumption, or None."""
    worlds = worlds_without(algorithm, assumption, n=n, seeds=seeds, parameters=parameters or {})
    return first_break(worlds, algorithm, algorithm.guarantees, progress=progress)


def shortest_break(
    algorithm: type[Process],
    assumption: Assumption | str,
    *,
    n: int | None = None,
    seeds: int = SEEDS,
    parameters: dict[str, Any] | None = None,
    progress: Callable[[int], None] = lambda tried: None,
) -> tuple[Break, Shortest] | None:
    """Shorten the first few violations, and ask the checker for a run that is smaller than the shortest of them.

    The result contains the violation from which it was made. After Ctrl-C it is the best result so far; if no violation
    was found before, `KeyboardInterrupt` is raised.
    """
    worlds = worlds_without(algorithm, assumption, n=n, seeds=seeds, parameters=parameters or {})
    found = islice(breaks(worlds, algorithm, algorithm.guarantees, progress=progress), CANDIDATES)
    short: list[tuple[Break, Scenario]] = []
    try:
        for one in found:
            short.append((one, one.scenario))
            shrunk = shrink(one.scenario, algorithm, one.property, attempts=ATTEMPTS)
            short[-1] = (one, tidied(shrunk, algorithm, one.property))
        if not short:
            return None
        source, best = min(short, key=lambda pair: _size(pair[1], algorithm))
        return source, smallest_of(best, algorithm, source.property)
    except KeyboardInterrupt:
        if not short:
            raise
    source, best = min(short, key=lambda pair: _size(pair[1], algorithm))
    return source, Shortest(scenario=best, minimal=False, words="not known to be minimal: interrupted")


def _size(scenario: Scenario, algorithm: type[Process]) -> int:
    run = simulate(scenario, algorithm)
    return shown_events(run.trace) if run.trace is not None else 0


def worlds_without(
    algorithm: type[Process],
    assumption: Assumption | str,
    *,
    n: int | None = None,
    seeds: int = SEEDS,
    parameters: dict[str, Any] | None = None,
) -> Iterator[Scenario]:
    """Yield scenarios, one per seed, in which the assumption is not kept."""
    if assumption not in set(Assumption):
        raise UnknownName("assumption", str(assumption), list(Assumption))
    wanted = Assumption(assumption)
    if wanted not in algorithm.assumes:
        known = ", ".join(algorithm.assumes) or "nothing"
        raise Misuse(f"{name_of(algorithm)} does not assume {wanted}", hint=f"it assumes {known}")
    if wanted not in WORLDS:
        raise Misuse(
            f"{wanted} cannot be turned off: {wanted.meaning}", hint="identifiers are the addresses of the channels"
        )
    return _generate(algorithm, WORLDS[wanted], n, seeds, parameters or {})


def _generate(
    algorithm: type[Process], worlds: tuple[World, ...], n: int | None, seeds: int, parameters: dict[str, Any]
) -> Iterator[Scenario]:
    for seed in range(seeds):
        place, round_ = seed % len(worlds), seed // len(worlds)
        size = n or max(SIZES[round_ % len(SIZES)], overrides.smallest(algorithm))
        requests = 1 + round_ // len(SIZES) % 3
        base = Scenario(
            algorithm=algorithm.name,
            n=size,
            seed=seed,
            parameters=parameters,
            until_ms=UNTIL_MS,
            max_events=MOST_EVENTS,
            network=Network(delay=SPREAD),
            workload=_workload(algorithm, parameters, requests) if issubclass(algorithm, Mutex) else None,
        )
        yield worlds[place](algorithm, base, Random(f"{seed}/switch"))


def _workload(algorithm: type[Mutex], parameters: dict[str, Any], requests: int) -> Workload:
    """A workload with contention, and with stays shorter than a lease."""
    longest = min(3.0, _stay_bound(algorithm, parameters) / 2)
    return Workload(requests=requests, think_ms="uniform(0, 10)", inside_ms=f"uniform(0.5, {longest:g})")


def _stay_bound(algorithm: type[Mutex], parameters: dict[str, Any]) -> float:
    known = {name: value for name, value in parameters.items() if name in marked(algorithm, PARAMETER)}
    bound = overrides.longest_stay_ms(algorithm(**known))
    return LONG_STAY_MS if bound is None else bound


def _loss(algorithm: type[Process], base: Scenario, chance: Random) -> Scenario:
    return base.but(network=Network(delay=SPREAD, loss=0.05))


def _duplication(algorithm: type[Process], base: Scenario, chance: Random) -> Scenario:
    return base.but(network=Network(delay=SPREAD, duplicate=0.2))


def _late_copies(algorithm: type[Process], base: Scenario, chance: Random) -> Scenario:
    """Late duplicates: a copy may arrive when the receiver is already busy with its next request."""
    return _pair(algorithm, base.but(network=Network(delay="exponential(1)", duplicate=0.5)), chance, inside_ms=1.0)


def _pair(algorithm: type[Process], base: Scenario, chance: Random, inside_ms: float) -> Scenario:
    """Two processes that want in often. Algorithms without a progress guarantee get stuck less often than with more."""
    if not issubclass(algorithm, Mutex):
        return base
    contenders = overrides.contenders(algorithm, _ids(base))
    first = int(chance.random() * len(contenders))
    wants = tuple(
        Want(process=process, at_ms=float(at), inside_ms=inside_ms)
        for at in range(0, 30, 5)
        for process in (contenders[first], contenders[first - 1])
    )
    return base.but(workload=None, want=wants)


def _ids(base: Scenario) -> tuple[int, ...]:
    return tuple(range(1, (base.n or DEFAULT_N) + 1))


def _overtaking(algorithm: type[Process], base: Scenario, chance: Random) -> Scenario:
    return base.but(network=Network(delay="exponential(1)", fifo=False, reorder=0.3))


def _crash(algorithm: type[Process], base: Scenario, chance: Random) -> Scenario:
    return base.but(nemesis=Nemesis(crashes=1))


def _hub_crash(algorithm: type[Process], base: Scenario, chance: Random) -> Scenario:
    return base.but(crash=(Crash(process=1, at_ms=round(0.1 + chance.random() * BUSY_MS, 3)),))


def _recovery(algorithm: type[Process], base: Scenario, chance: Random) -> Scenario:
    """Crashed processes recover: in half of the scenarios with their durable fields, in half without."""
    memory = chance.random() < 0.5
    return base.but(nemesis=Nemesis(crashes=2, recoveries=2, memory=memory))


def _amnesia(algorithm: type[Process], base: Scenario, chance: Random) -> Scenario:
    """About half of the processes restart without memory at about the same time, during long stays."""
    at = chance.random() * BUSY_MS / 2
    crashes = tuple(
        Crash(process=process, at_ms=round(at, 3), recover_ms=round(at + 0.1 + chance.random(), 3), memory=False)
        for process in _ids(base)
        if chance.random() < 0.5
    )
    return _pair(algorithm, base.but(crash=crashes), chance, inside_ms=6.0)


def _forgotten(algorithm: type[Process], base: Scenario, chance: Random) -> Scenario:
    """All processes restart without memory a few times. Messages are slow, so others still rely on old promises."""
    crashes = tuple(
        Crash(process=process, at_ms=at, recover_ms=round(at + 0.1, 3), memory=False)
        for process in range(1, (base.n or DEFAULT_N) + 1)
        for at in sorted(round(0.1 + chance.random() * BUSY_MS / 2, 3) for _ in range(3))
    )
    return base.but(network=Network(delay="exponential(3)"), crash=crashes)


def _pause(algorithm: type[Process], base: Scenario, chance: Random) -> Scenario:
    return base.but(nemesis=Nemesis(pauses=2))


def _late_messages(algorithm: type[Process], base: Scenario, chance: Random) -> Scenario:
    return base.but(network=Network(delay="pareto(0.3, 1.3)"))


def _long_stay(algorithm: type[Process], base: Scenario, chance: Random) -> Scenario:
    bound = _stay_bound(algorithm, base.parameters) if issubclass(algorithm, Mutex) else 0.0
    return base.but(workload=Workload(requests=2, think_ms="uniform(0, 10)", inside_ms=f"uniform(1, {4 * bound:g})"))


def _false_suspicion(algorithm: type[Process], base: Scenario, chance: Random) -> Scenario:
    """Some processes suspect a live process; in half of the scenarios for ever."""
    ids = _ids(base)
    peer = ids[int(chance.random() * len(ids))]
    believers = [process for process in ids if process != peer and chance.random() < 0.5]
    at = round(chance.random() * BUSY_MS, 3) if chance.random() < 0.5 else 0.0
    until = round(at + 1 + chance.random() * BUSY_MS, 3) if chance.random() < 0.5 else None
    mistakes = tuple(Suspicion(process=one, peer=peer, at_ms=at, until_ms=until) for one in believers)
    return base.but(suspect=mistakes)


WORLDS: dict[Assumption, tuple[World, ...]] = {
    Assumption.RELIABLE: (_loss, _duplication, _late_copies),
    Assumption.FIFO: (_overtaking,),
    Assumption.NO_CRASHES: (_crash, _amnesia),
    Assumption.HUB_STAYS: (_hub_crash,),
    Assumption.NO_RECOVERY: (_recovery, _amnesia),
    Assumption.KNOWN_BOUNDS: (_pause, _late_messages),
    Assumption.BOUNDED_STAY: (_long_stay,),
    Assumption.PERFECT_DETECTOR: (_false_suspicion,),
    Assumption.STABLE_STORAGE: (_forgotten, _amnesia),
}
"""The scenarios that break each assumption. `unique_ids` is missing: equal identifiers could not be addressed."""
