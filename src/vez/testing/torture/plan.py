"""Plan and Outcome of a campaign, and the faults that it can inject."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from vez.core.trace import Trace
from vez.judge.properties.verdict import Status, Verdict
from vez.testing.torture.stays import KindName

FaultKind = Literal[
    "kill", "pause", "fork", "interrupt", "break", "prune", "clock", "container", "descriptors", "disk", "fsync"
]
FAULTS: tuple[FaultKind, ...] = get_args(FaultKind)
USUAL: tuple[FaultKind, ...] = ("kill", "pause", "fork", "interrupt")
"""The default faults. Without breaks the order and the time of hand-overs are judged too."""
NOUNS: dict[FaultKind, str] = {
    "prune": "pruned file", "clock": "clock jump", "descriptors": "descriptor limit", "disk": "full disk",
    "fsync": "failing fsync",
}  # fmt: skip
"""The nouns that the report counts, where they differ from the name of the fault."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The plan of a campaign."""

    url: str
    workers: int = 5
    seconds: float = 5.0
    entries: int = 3000
    """Number of grants after which the campaign ends early."""
    seed: int = 0
    faults: tuple[FaultKind, ...] = USUAL
    name: str = "torture"
    kinds: tuple[KindName, ...] = ("lock",)


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a campaign, with the verdicts."""

    plan: Plan
    trace: Trace
    verdicts: tuple[Verdict, ...]
    entries: int
    tokens: int
    faults: dict[str, int]
    takeover_ms: tuple[float, ...]
    """Milliseconds from the kill of a holder to the next grant."""
    containers: dict[str, int] = {}
    """Workers that were started in each kind of container; the kind `clock` has another monotonic clock."""
    refused: int = 0
    """Requests that the engine refused because of a fault: a full disk, a failing fsync, no descriptor left."""
    skipped: dict[str, str] = {}
    """The chosen faults that this machine does not allow, and why."""
    interrupted: bool = False
    """True if Ctrl-C ended the campaign early."""

    @property
    def broken(self) -> tuple[Verdict, ...]:
        """The verdicts of properties that are broken."""
        return tuple(verdict for verdict in self.verdicts if verdict.status is Status.BROKEN)
