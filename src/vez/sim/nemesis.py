"""Nemesis: draws the random faults of a seed before the run."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from vez.sim.delays import US, us
from vez.sim.scenario import Crash, Nemesis, Partition, Pause


class RandomFaults(NamedTuple):
    """The random faults of a run."""

    crashes: tuple[Crash, ...]
    pauses: tuple[Pause, ...]
    partitions: tuple[Partition, ...]


def draw_faults(nemesis: Nemesis, everybody: tuple[int, ...], random: Random) -> RandomFaults:
    """Draw as many faults of each kind as the nemesis says. No process crashes twice."""
    chance = random.random
    ids, within = list(everybody), us(nemesis.within_ms)

    def moment(after: int = 0) -> float:
        return (after + 1 + int(chance() * within)) / US

    victims = [ids.pop(int(chance() * len(ids))) for _ in range(min(nemesis.crashes, len(ids)))]
    crashes = []
    for number, victim in enumerate(victims):
        at = moment()
        back = moment(us(at)) if number < nemesis.recoveries else None
        crashes.append(Crash(process=victim, at_ms=at, recover_ms=back, memory=nemesis.memory))
    pauses = [
        Pause(process=everybody[int(chance() * len(everybody))], at_ms=moment(), for_ms=moment())
        for _ in range(nemesis.pauses)
    ]
    partitions = []
    for _ in range(nemesis.partitions):
        group = tuple(process for process in everybody if chance() < 0.5)
        at = moment()
        if 0 < len(group) < len(everybody):
            partitions.append(Partition(at_ms=at, until_ms=moment(us(at)), groups=(group,)))
    return RandomFaults(tuple(crashes), tuple(pauses), tuple(partitions))
