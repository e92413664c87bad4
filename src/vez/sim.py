"""vez.sim: the simulator, and the words of a scenario; the code is in `vez.worlds.sim`."""

import sys

from vez.worlds.sim import Progress, Run, parse_delay, scenario, simulate
from vez.worlds.sim.scenario import (
    Choice,
    Crash,
    Detector,
    Drift,
    Elect,
    Expect,
    Fate,
    Nemesis,
    Network,
    Partition,
    Pause,
    Scenario,
    Suspicion,
    Timer,
    Want,
    Workload,
)

sys.modules[f"{__name__}.scenario"] = scenario  # the pages of 0.1 import `Want` and the others from there

__all__ = [
    "Choice",
    "Crash",
    "Detector",
    "Drift",
    "Elect",
    "Expect",
    "Fate",
    "Nemesis",
    "Network",
    "Partition",
    "Pause",
    "Progress",
    "Run",
    "Scenario",
    "Suspicion",
    "Timer",
    "Want",
    "Workload",
    "parse_delay",
    "simulate",
]


def __dir__() -> list[str]:
    """The public names, for `dir` and for completion."""
    return sorted(__all__)
