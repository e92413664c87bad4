"""Monitor: the base class of failure detectors, and their settings."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Ms = Annotated[float, Meta(ge=0, le=1e12)]


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The settings of all detectors. Each kind reads the fields that it needs."""

    interval_ms: Annotated[float, Meta(ge=0.001, le=1e12)] = 5.0
    """Time between two heartbeats."""
    timeout_ms: Ms = 15.0
    """`heartbeat`: time from the last arrival to the suspicion. `adaptive`: its initial value."""
    step_ms: Ms = 5.0
    """`adaptive`: increase of the timeout after a mistake."""
    threshold: Annotated[float, Meta(gt=0, le=300)] = 8.0
    """`phi`: suspect when the probability that the heartbeat is only late is below 10^-threshold."""
    window: Annotated[int, Meta(ge=2, le=100_000)] = 100
    """`phi`: number of intervals that are kept."""
    tail: Literal["normal", "exponential"] = "normal"
    """`phi`: the distribution that is fitted to them."""


class Monitor:
    """Watches one peer: it is called for each arrival, and returns the deadline for the next one."""

    def __init__(self, settings: Settings, start_ms: float) -> None:
        self.settings = settings
        self.last_ms = start_ms
        """Time of the last arrival, or of the start."""

    def heard(self, at_ms: float) -> None:
        """Note the arrival of a heartbeat. Times must not decrease."""
        self.last_ms = at_ms

    @property
    def deadline_ms(self) -> float:
        """The time at which the peer is suspected if no heartbeat arrives before."""
        raise NotImplementedError  # pragma: no cover - every monitor overrides it
