"""Adaptive timeout: every mistake makes it longer.

Source: the eventually perfect detector of Chandra and Toueg, JACM 43(2), 1996.

If the gaps between arrivals are bounded, even by an unknown bound, the timeout exceeds the bound after a finite number
of mistakes, and there are no more. The price: the timeout never becomes shorter, so crashes are detected later.
"""

from __future__ import annotations

from vez.core.detectors.monitor import Monitor, Settings


class Adaptive(Monitor):
    """A timeout that grows with each mistake."""

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
