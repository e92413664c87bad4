"""The contract at its edges, as tests: very long timeouts."""

from __future__ import annotations

from vez.testing.actors import PATIENCE
from vez.testing.conformance_base import Base, Make, needs

LONG_TIMEOUTS = (3e6, 3e9, 1e10, 1e18, 1e300, float("inf"), 10**400)
"""Seconds. Python lets no thread wait for 1e10, and some systems no socket for 3e6; the last fits into no float."""


class EdgeConformance(Base):
    """What is allowed and seldom done."""

    @needs("locks")
    def test_a_very_long_timeout_waits(self, actor: Make) -> None:
        one, other = actor(), actor()
        for seconds in LONG_TIMEOUTS:
            grant = one.acquire("lock", "long", seconds)
            waiting = other.queue_up("lock", "long", seconds)
            assert not waiting.done()
            one.release(grant)
            other.release(waiting.result(PATIENCE))
