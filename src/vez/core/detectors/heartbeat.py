"""Fixed timeout: suspect a peer if no heartbeat arrived for `timeout_ms`.

Complete: every crash is detected, at most `timeout_ms` after the last arrival. Accurate only if the gaps between
arrivals have a known bound and the timeout exceeds it.
"""

from __future__ import annotations

from vez.core.detectors.monitor import Monitor


class Heartbeat(Monitor):
    """Suspects after a fixed time without heartbeats."""

    @property
    def deadline_ms(self) -> float:
        return self.last_ms + self.settings.timeout_ms
