"""Limits: the end of a run, in virtual time and in steps."""

from __future__ import annotations

from vez.worlds.sim.delays import us
from vez.worlds.sim.scenario import Scenario

SLICE = 20_000
"""Steps between two reports of progress: about a fifth of a second of a recorded run."""


class Limits:
    """The limits of a run. The loop reads `deadline` and `steps` before each new time.

    If progress is reported, `steps` is the end of a slice of the run: the loop stops there and is called again. So
    reports cost nothing if they are not used.
    """

    __slots__ = ("_charged", "_max_events", "_until", "deadline", "steps")

    def __init__(self, scenario: Scenario, *, sliced: bool) -> None:
        self._until = us(scenario.until_ms)
        self._max_events = scenario.max_events
        self._charged = 0
        self.deadline = self._until  # microseconds
        self.steps = min(SLICE, scenario.max_events) if sliced else scenario.max_events
        """The largest number of agenda entries; an entry that counts for several steps lowers it."""

    @property
    def charged(self) -> int:
        """The number of steps that were counted by `charge`."""
        return self._charged

    def charge(self, steps: int) -> None:
        """Count steps that the loop does not see."""
        self._charged += steps
        self.steps -= steps

    def begin_slice(self, steps: int) -> bool:
        """Begin the next slice after `steps` steps. Returns False if the run is over."""
        most = self._max_events - self._charged
        if steps < self.steps or steps >= most:
            return False
        self.steps = min(steps + SLICE, most)
        return True

    def end_by(self, at: int) -> None:
        """Stop at this time, if the scenario does not stop earlier."""
        self.deadline = min(self._until, at)

    def run_on(self) -> None:
        """Stop only at the limits of the scenario."""
        self.deadline = self._until
