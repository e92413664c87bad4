"""Scripted: the conditions of a scenario for one node: delays, losses and copies of messages, drift, choices, timers.

Random values are drawn from the seed, separately for each channel and each life of a node. A message, choice or timer
that the scenario names by its number is counted over all lives of the node, as in the simulator.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

from vez.core.detectors import MONITORS
from vez.core.trace import Chose, Sent, TimerSet
from vez.worlds.node.cluster.journals import read_life
from vez.worlds.node.conditions import Conditions, Fate
from vez.worlds.sim.delays import us
from vez.worlds.sim.scenario import Scenario
from vez.worlds.sim.setup import Setup


class Earlier:
    """The numbers of messages, choices and timers in earlier lives of a node, from their journals."""

    def __init__(self, folder: Path | None = None, me: int = 0) -> None:
        found = [] if folder is None else [read_life(path) for path in folder.glob(f"{me}-*.jsonl")]
        lives = [life for life in found if life is not None and life.head.node == me]
        done = [event for life in lives for event in life.events]
        self.lives = len(lives)
        self.messages = Counter(event.to for event in done if isinstance(event, Sent))
        self.choices = sum(isinstance(event, Chose) for event in done)
        self.timers = sum(isinstance(event, TimerSet) for event in done)


class Scripted(Conditions):
    """The conditions of one node."""

    def __init__(self, setup: Setup, me: int, time_scale: float, earlier: Earlier) -> None:
        scenario = setup.scenario
        self._setup = setup
        self._network = scenario.network
        self._me = me
        self._scale = time_scale
        self._life = earlier.lives
        self._fates = {(fate.to, fate.number): fate for fate in scenario.message if fate.sender == me}
        self._indices = {choice.number: choice.index for choice in scenario.choice if choice.process == me}
        self._durations = {timer.number: timer.after_ms for timer in scenario.timer if timer.process == me}
        self._messages = Counter(earlier.messages)
        self._choices, self._timers = earlier.choices, earlier.timers
        self._streams: dict[str, Random] = {}
        self.fifo = setup.fifo
        self.drift = next((drift.rate for drift in scenario.drift if drift.process == me), 1.0)
        copies = scenario.network.duplicate or any(fate.copies for fate in scenario.message)
        found = {"order": not self.fifo, "copies": copies, "timers": scenario.timer, "clock": self.drift != 1.0}
        self.alters = tuple(name for name, value in found.items() if value)

    def message(self, to: int) -> Fate:
        self._messages[to] += 1
        fate = self._fates.get((to, self._messages[to]))
        chance = self._stream(f"channel/{to}")
        if fate is not None:
            delay = self._delay(chance) if fate.delay_ms is None else us(fate.delay_ms)
            delays = [] if fate.lost else [delay]
            return self._scaled([*delays, *map(us, fate.copies)], lost=fate.lost)
        network, delay, random = self._network, self._delay(chance), chance.random
        if to == self._me:
            return self._scaled([delay])
        if network.loss and random() < network.loss:
            return Fate((), lost=True)
        if network.reorder and random() < network.reorder:
            delay += int(random() * 3 * self._setup.message_us)
        delays = [delay]
        if network.duplicate and random() < network.duplicate:
            delays.append(delay + self._delay(chance))
        return self._scaled(delays)

    def beat(self, to: int) -> int | None:
        chance = self._stream(f"beats/{to}")
        delay = self._delay(chance)
        if self._network.loss and chance.random() < self._network.loss:
            return None
        return round(delay * self._scale)

    def choice(self) -> int | None:
        self._choices += 1
        return self._indices.get(self._choices)

    def timer_ms(self, after_ms: float) -> float:
        self._timers += 1
        return self._durations.get(self._timers, after_ms)

    def _delay(self, chance: Random) -> int:
        """A random delay in microseconds of the scenario; 0 if the scenario gives no delay."""
        return 0 if self._network.delay is None else self._setup.delay.sampler(chance)()

    def _scaled(self, delays_us: list[int], *, lost: bool = False) -> Fate:
        return Fate(tuple(round(delay * self._scale) for delay in delays_us), lost)

    def _stream(self, purpose: str) -> Random:
        if purpose not in self._streams:
            self._streams[purpose] = self._setup.stream(f"node/{self._me}/{self._life}/{purpose}")
        return self._streams[purpose]


def has_conditions(scenario: Scenario) -> bool:
    """True if the scenario changes messages, timers or choices."""
    network = scenario.network
    return bool(
        network.delay is not None or network.loss or network.duplicate or network.reorder
        or scenario.message or scenario.drift or scenario.choice or scenario.timer
    )  # fmt: skip


def reacts_to_heartbeats(setup: Setup) -> bool:
    """True if the detector counts heartbeats, and the algorithm is told whom it suspects."""
    return setup.scenario.detector.kind in MONITORS and hasattr(setup.algorithm, "on_suspect")


def can_suspect_the_living(setup: Setup) -> bool:
    """True if the algorithm may be told of suspicions that only the network causes: heartbeats are lost, have random
    delays, or come later than the first deadline of the detector."""
    if not reacts_to_heartbeats(setup):
        return False
    network, detector = setup.scenario.network, setup.scenario.detector
    delay_ms = 0.0 if network.delay is None else setup.delay.mean_ms
    deadline_ms = MONITORS[detector.kind](detector.settings, 0.0).deadline_ms
    is_steady = network.delay is None or setup.delay.is_constant
    return bool(network.loss) or not is_steady or detector.interval_ms + delay_ms >= deadline_ms
