"""Plan: the options with which a node is started."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from vez.core.detectors import Settings
from vez.core.process import Process
from vez.core.topology import Topology
from vez.worlds.node.conditions import Conditions
from vez.worlds.node.group import Group
from vez.worlds.node.limits import Limits


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The options with which a node is started."""

    group: Group
    me: int
    algorithm: str
    topology: Topology
    fresh: Callable[[], Process]
    """Makes a process with its parameters and initial fields."""
    state: Path | None = None
    """Directory of the durable fields; None if nothing is stored, and every start is a first start."""
    journal: Path | None = None
    """Directory of the journals; None if nothing is recorded."""
    control: Path | None = None
    """Path of the control socket."""
    memory: bool = True
    """False to recover without the durable fields of an earlier life."""
    hold: bool = False
    """True to wait for the command `start`."""
    detector: str = "heartbeat"
    detector_settings: Settings = Settings(interval_ms=100, timeout_ms=1000, step_ms=500)
    time_scale: float = 1.0
    limits: Limits = Limits()
    conditions: Conditions | None = None
    """The effects of a scenario on messages, timers and choices."""
    resource: Path | None = None
    """A file to which every stay with a token writes at its start and at its end."""
