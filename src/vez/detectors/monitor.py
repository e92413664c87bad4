"""Monitor: one peer as the detector sees it."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Ms = Annotated[float, Meta(ge=0, le=1e12)]


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What can be chosen about a detector. Each kind reads the fields that it needs."""

    interval_ms: Annotated[float, Meta(ge=0.001, le=1e12)] = 5.0
    """Between two heartbeats."""
    timeout_ms: Ms = 15.0
    """`heartbeat`: how long after the last arrival; `adaptive`: the same, at the beginning."""
    step_ms: Ms = 5.0
    """`adaptive`: how much longer after a mistake."""
    threshold: Annotated[float, Meta(gt=0, le=300)] = 8.0
    """`phi`: suspect when the chance that the beat is merely late is below 10^-threshold."""
    window: Annotated[int, Meta(ge=2, le=100_000)] = 100
    """`phi`: how many intervals are remembered."""
    tail: Literal["normal", "exponential"] = "normal"
    """`phi`: the distribution that is fitted to them."""


class Monitor:
    """The base: told of arrivals, it says until when it waits for the next."""

    def __init__(self, settings: Settings, start_ms: float) -> None:
        self.settings = settings
        self.last_ms = start_ms
        """The last arrival, or the beginning."""

    def heard(self, at_ms: float) -> None:
        """A heartbeat has arrived. Times do not run backwards."""
        self.last_ms = at_ms

    @property
    def deadline_ms(self) -> float:
        """When the peer will be suspected if nothing arrives until then."""
        raise NotImplementedError  # pragma: no cover - every monitor says
