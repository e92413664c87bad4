"""The quality of a failure detector: the measures of Chen, Toueg and Aguilera (IEEE TC 51(5), 2002).

One observer watches one target. While the target is alive, every suspicion is a mistake. The measures are the frequency
of mistakes (mistake rate), their length (mistake duration), and the probability that the answer at a random time is
right (query accuracy). After the target crashes, the measure is the time until it is suspected for ever (detection
time).

A slow observer is paused now and then. When it resumes, it looks at its clock before it reads the heartbeats that
have arrived meanwhile, as in the simulator. So it suspects others because it was paused itself.
"""

from __future__ import annotations

from random import Random

import msgspec

from vez.core.detectors import MONITORS, Monitor, Settings
from vez.worlds.sim.delays import US, parse_delay

WARM_UP = 120
"""Heartbeats before the crash of a trial: more than the default window of `phi`."""


class Condition(msgspec.Struct, frozen=True):
    """Network and observer under which a detector is measured."""

    name: str
    delay: str = "uniform(0.5, 1.5)"
    loss: float = 0.0
    pause_ms: float = 0.0
    """Length of each pause of the observer."""
    pause_every_ms: float = 1000.0

    def handled_ms(self, at_ms: float) -> float:
        """The time at which the observer handles an event of this time."""
        if not self.pause_ms:
            return at_ms
        number, into = divmod(at_ms, self.pause_every_ms)
        return number * self.pause_every_ms + self.pause_ms if number and into < self.pause_ms else at_ms


class Candidate(msgspec.Struct, frozen=True):
    """A detector and its settings."""

    name: str
    kind: str
    settings: Settings

    def monitor(self) -> Monitor:
        """A new monitor, from time 0."""
        return MONITORS[self.kind](self.settings, 0.0)


class Quality(msgspec.Struct, frozen=True):
    """Measured quality of a detector under a condition."""

    detector: str
    condition: str
    detection_ms: float
    """Mean detection time over all trials."""
    slowest_detection_ms: float
    mistakes: int
    mistake_rate: float
    """Mistakes per second of the target's life."""
    mistake_ms: float | None
    """Mean duration of a mistake; None without mistakes."""
    query_accuracy: float
    alive_ms: float


CONDITIONS = (
    Condition("steady"),
    Condition("jitter", delay="exponential(4)"),
    Condition("heavy tail", delay="pareto(1, 1.5)"),
    Condition("loss", loss=0.2),
    Condition("slow observer", pause_ms=40.0),
)


def candidates(settings: Settings) -> tuple[Candidate, ...]:
    """Every detector, and `phi` with both tails."""
    normal, exponential = (msgspec.structs.replace(settings, tail=tail) for tail in ("normal", "exponential"))
    return (
        Candidate("heartbeat", "heartbeat", settings),
        Candidate("adaptive", "adaptive", settings),
        Candidate("phi", "phi", normal),
        Candidate("phi, exponential", "phi", exponential),
    )


def assess(candidate: Candidate, condition: Condition, *, beats: int, trials: int, seed: int = 0) -> Quality:
    """Measure mistakes over one long life, and detection time over many crashes."""
    interval = candidate.settings.interval_ms
    alive_ms = beats * interval
    chance = Random(f"{seed}/{condition.name}/life")  # the same arrivals for every detector
    suspicions, _ = _watch(candidate, condition, arrivals(condition, interval, beats, chance))
    mistakes = [(start, min(end, alive_ms)) for start, end in suspicions if start < alive_ms]
    wrong_ms = sum(end - start for start, end in mistakes)
    detections = []
    for trial in range(trials):
        chance = Random(f"{seed}/{condition.name}/death/{trial}")
        crash_ms = (WARM_UP + chance.random() + trial % 7) * interval
        times = arrivals(condition, interval, int(crash_ms / interval), chance)
        suspicions, end = _watch(candidate, condition, times)
        detections.append(max(0.0, end - crash_ms))
    return Quality(
        detector=candidate.name,
        condition=condition.name,
        detection_ms=sum(detections) / len(detections),
        slowest_detection_ms=max(detections),
        mistakes=len(mistakes),
        mistake_rate=len(mistakes) / alive_ms * 1000,
        mistake_ms=wrong_ms / len(mistakes) if mistakes else None,
        query_accuracy=1 - wrong_ms / alive_ms,
        alive_ms=alive_ms,
    )


def arrivals(condition: Condition, interval_ms: float, beats: int, chance: Random) -> list[float]:
    """Arrival times of the heartbeats that are not lost, ascending."""
    draw = parse_delay(condition.delay).sampler(chance)
    times = []
    for number in range(1, beats + 1):
        delay = draw() / US
        if not condition.loss or chance.random() >= condition.loss:
            times.append(number * interval_ms + delay)
    return sorted(times)


def _watch(candidate: Candidate, condition: Condition, times: list[float]) -> tuple[list[tuple[float, float]], float]:
    """The suspicions that ended, as (start, end), and the start of the last one, which did not."""
    monitor = candidate.monitor()
    suspicions = []
    for at_ms in times:
        now = condition.handled_ms(at_ms)
        deadline = monitor.deadline_ms
        if deadline < now:
            suspicions.append((condition.handled_ms(deadline), now))
        monitor.heard(now)
    return suspicions, condition.handled_ms(monitor.deadline_ms)
