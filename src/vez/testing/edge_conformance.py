"""The contract at its edges, as tests: very long timeouts."""

from __future__ import annotations

from vez.testing.actors import PATIENCE
from vez.testing.conformance_base import LONG_TIMEOUTS, Base, Make, needs


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
