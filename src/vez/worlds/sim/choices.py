"""Choices: the results of `io.choose`, drawn from the seed or taken from the scenario."""

from __future__ import annotations

from collections import defaultdict

from vez.core.effects import check_options
from vez.worlds.sim.scenario import Choice, Scenario
from vez.worlds.sim.setup import Setup


class Choices:
    """The choices of a run. They are numbered per process, so that a scenario can set each of them."""

    def __init__(self, setup: Setup, *, explain: bool) -> None:
        self._algorithm = setup.algorithm.__name__
        self._explain = explain
        self._given = {(choice.process, choice.number): choice.index for choice in setup.scenario.choice}
        self._counts: defaultdict[int, int] = defaultdict(int)
        self._chance = setup.stream("choose").random
        self._made: list[Choice] = []

    def pick(self, process: int, count: int) -> int:
        """Choose one of `count` options; return its index."""
        check_options(self._algorithm, count)
        if not self._given and not self._explain:
            return min(int(self._chance() * count), count - 1)
        self._counts[process] += 1
        number = self._counts[process]
        index = self._given.get((process, number))
        if index is None:
            index = int(self._chance() * count)
        index = min(index, count - 1)
        self._made.append(Choice(process=process, number=number, index=index))
        return index

    def explicit(self, scenario: Scenario) -> Scenario:
        """The scenario with every choice written out."""
        return scenario.but(choice=tuple(self._made))
