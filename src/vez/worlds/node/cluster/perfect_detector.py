"""Perfect detector: the cluster, which kills and starts the nodes, reports every crash to them.

This is the perfect failure detector of the simulator: every process is told of every crash and recovery, a fixed time
later. Between hosts this is impossible; on one host the cluster knows, because it caused the crash.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vez.worlds.node.cluster.member import Member
from vez.worlds.sim.setup import Setup

Later = Callable[..., Any]
"""Calls a function with its arguments after a time in ms of the algorithm: `later(after_ms, function, *arguments)`."""


class PerfectDetector:
    """Reports crashes to the members. Does nothing for other detectors, and for algorithms without `on_suspect`."""

    def __init__(self, setup: Setup, members: Mapping[int, Member], later: Later) -> None:
        detector = setup.scenario.detector
        self._is_used = detector.kind == "perfect" and hasattr(setup.algorithm, "on_suspect")
        self._wait_ms = detector.delay_ms
        self._later = later
        self._members = members

    def crashed(self, process: int) -> None:
        """Report that a member has died."""
        self._plan(process, dead=True)

    def recovered(self, process: int) -> None:
        """Report that a member was started again."""
        self._plan(process, dead=False)

    def _plan(self, process: int, *, dead: bool) -> None:
        if self._is_used:
            starts = self._members[process].starts
            self._later(self._wait_ms, self._tell, process, dead, starts)

    def _tell(self, process: int, dead: bool, starts: int) -> None:
        member = self._members[process]
        if member.starts != starts or member.is_alive == dead:  # the report is out of date
            return
        for other in self._members.values():
            if other.me != process and other.is_alive:
                other.do(f"{'suspect' if dead else 'trust'} {process}")
            elif other.me != process and not dead:
                member.do(f"suspect {other.me}")
