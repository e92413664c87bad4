"""A fixed timeout: suspect whoever has not been heard for so long.

Complete (a crash is always noticed, `timeout_ms` after the last heartbeat arrived at the latest), and accurate only
where a bound on the gaps between arrivals is known and the timeout is above it.
"""

from __future__ import annotations

from vez.detectors.monitor import Monitor


class Heartbeat(Monitor):
    """Silence of a fixed length is taken for death."""

    @property
    def deadline_ms(self) -> float:
        return self.last_ms + self.settings.timeout_ms
