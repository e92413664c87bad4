"""Accrual detector: suspicion is a number, φ = -log₁₀ of the probability that the heartbeat is only late.

Source: Hayashibara, Défago, Yared and Katayama, SRDS 2004. A distribution is fitted to the last intervals
between arrivals. φ grows with the time since the last arrival, and the peer is suspected when φ exceeds the threshold.
With an exponential tail φ = 8 waits 8·ln 10 = 18.4 mean intervals; with a normal one the mean plus 5.6 deviations.
"""

from __future__ import annotations

import math
from collections import deque

from vez.core.detectors.monitor import Monitor, Settings

LEAST_DEVIATION = 0.1
"""Smallest deviation, relative to the mean: after regular arrivals, a slightly late one is not a crash."""


class Phi(Monitor):
    """Suspects by the distribution of the last intervals."""

    def __init__(self, settings: Settings, start_ms: float) -> None:
        super().__init__(settings, start_ms)
        # No arrivals yet: assume the configured interval, plus or minus a quarter.
        interval = settings.interval_ms
        self._intervals = deque((0.75 * interval, 1.25 * interval), maxlen=settings.window)
        self._sum = sum(self._intervals)
        self._squares = sum(value * value for value in self._intervals)
        from statistics import NormalDist  # a large module that nodes with other detectors do not need

        self._normal = NormalDist()
        self._deviations = -self._normal.inv_cdf(10.0**-settings.threshold)

    def heard(self, at_ms: float) -> None:
        if len(self._intervals) == self._intervals.maxlen:
            oldest = self._intervals[0]
            self._sum -= oldest
            self._squares -= oldest * oldest
        interval = at_ms - self.last_ms
        self._intervals.append(interval)
        self._sum += interval
        self._squares += interval * interval
        super().heard(at_ms)

    @property
    def mean_ms(self) -> float:
        """Mean of the kept intervals."""
        return self._sum / len(self._intervals)

    @property
    def deviation_ms(self) -> float:
        """Standard deviation of the kept intervals, at least a tenth of the mean."""
        mean = self.mean_ms
        variance = max(0.0, self._squares / len(self._intervals) - mean * mean)
        return max(math.sqrt(variance), LEAST_DEVIATION * mean)

    @property
    def deadline_ms(self) -> float:
        if self.settings.tail == "exponential":
            return self.last_ms + self.mean_ms * self.settings.threshold * math.log(10)
        return self.last_ms + max(0.0, self.mean_ms + self._deviations * self.deviation_ms)

    def phi(self, at_ms: float) -> float:
        """The suspicion at this time."""
        silence = at_ms - self.last_ms
        if self.settings.tail == "exponential":
            return silence / self.mean_ms / math.log(10)
        late = self._normal.cdf(-(silence - self.mean_ms) / self.deviation_ms)
        return -math.log10(late) if late > 0 else math.inf
