"""Nemesis: draws the random faults of a seed before the run."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from vez.worlds.sim.delays import US, us
from vez.worlds.sim.scenario import Crash, Nemesis, Partition, Pause


class RandomFaults(NamedTuple):
    """The random faults of a run."""

    crashes: tuple[Crash, ...]
    pauses: tuple[Pause, ...]
    partitions: tuple[Partition, ...]


class Window(NamedTuple):
    """The time in which random faults happen, in microseconds."""

    within: int
    moments: tuple[int, ...] = ()
    """Times of events in the run without these faults. Half of the faults come right after one."""
    message_us: int = US
    """Faults that come right after an event come within this time."""


def draw_faults(nemesis: Nemesis, everybody: tuple[int, ...], random: Random, window: Window) -> RandomFaults:
    """Draw the number of faults of each kind that the nemesis sets. No process crashes twice.

    A fault that ends (by a recovery, at the end of a pause) lasts at most as long as the window. Short faults are as
    interesting as long ones, so durations are cubes of random numbers: half of them are below an eighth of the window.
    """
    chance, within, moments = random.random, window.within, window.moments
    ids = list(everybody)

    def moment() -> float:
        share = chance()
        if not moments or share < 0.5:
            return (1 + int((2 * share if moments else share) * within)) / US
        return (moments[int((2 * share - 1) * len(moments))] + 1 + int(chance() * window.message_us)) / US

    def later(at_ms: float) -> float:
        share = chance()
        return (us(at_ms) + 1 + int(share * share * share * within)) / US

    victims = [ids.pop(int(chance() * len(ids))) for _ in range(min(nemesis.crashes, len(ids)))]
    crashes = []
    for number, victim in enumerate(victims):
        at = moment()
        back = later(at) if number < nemesis.recoveries else None
        crashes.append(Crash(process=victim, at_ms=at, recover_ms=back, memory=nemesis.memory))
    pauses = [
        Pause(process=everybody[int(chance() * len(everybody))], at_ms=moment(), for_ms=later(0))
        for _ in range(nemesis.pauses)
    ]
    partitions = []
    for _ in range(nemesis.partitions):
        group = tuple(process for process in everybody if chance() < 0.5)
        at = moment()
        if 0 < len(group) < len(everybody):
            partitions.append(Partition(at_ms=at, until_ms=later(at), groups=(group,)))
    return RandomFaults(tuple(crashes), tuple(pauses), tuple(partitions))
