"""Every mistake lengthens the timeout: the eventually perfect detector of Chandra and Toueg (JACM 43(2), 1996).

If there is a bound on the gaps between arrivals, known or not, the timeout is above it after a finite number of
mistakes and no more are made. The price: it never shortens again, so crashes are noticed ever later.
"""

from __future__ import annotations

from vez.detectors.monitor import Monitor, Settings


class Adaptive(Monitor):
    """A timeout that learns from its mistakes."""

    def __init__(self, settings: Settings, start_ms: float) -> None:
        super().__init__(settings, start_ms)
        self.timeout_ms = settings.timeout_ms

    def heard(self, at_ms: float) -> None:
        if at_ms > self.deadline_ms:
            self.timeout_ms += self.settings.step_ms
        super().heard(at_ms)

    @property
    def deadline_ms(self) -> float:
        return self.last_ms + self.timeout_ms
