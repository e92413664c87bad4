"""Limits: when a run must stop, in virtual time and in steps."""

from __future__ import annotations

from vez.sim.delays import us
from vez.sim.scenario import Scenario


class Limits:
    """The loop reads `deadline` and `steps` before each new time."""

    __slots__ = ("_max_events", "_until", "deadline", "steps")

    def __init__(self, scenario: Scenario) -> None:
        self._until = us(scenario.until_ms)
        self._max_events = scenario.max_events
        self.deadline = self._until  # microseconds
        self.steps = scenario.max_events  # entries of the agenda; an entry that counts for several lowers it

    @property
    def charged(self) -> int:
        """Steps that were counted by `charge`."""
        return self._max_events - self.steps

    def charge(self, steps: int) -> None:
        """Count steps that the loop does not see."""
        self.steps -= steps

    def end_by(self, at: int) -> None:
        """Stop at this time, if the scenario does not stop earlier."""
        self.deadline = min(self._until, at)

    def run_on(self) -> None:
        """Stop when the scenario says."""
        self.deadline = self._until
