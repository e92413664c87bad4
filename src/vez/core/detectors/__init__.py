"""Failure detectors: decide which peers to suspect, from the arrivals of heartbeats.

A monitor watches one peer. It is called when a heartbeat arrives, and returns the time until which it waits for the
next one. It reads no clock and sends nothing, so the simulator, a node on sockets and `vez detectors` can share it.
Algorithms see only `on_suspect` and `on_trust`, whatever the detector.
"""

from vez.core.detectors.adaptive import Adaptive
from vez.core.detectors.heartbeat import Heartbeat
from vez.core.detectors.monitor import Monitor, Settings
from vez.core.detectors.phi import Phi

MONITORS: dict[str, type[Monitor]] = {
    "heartbeat": Heartbeat,
    "adaptive": Adaptive,
    "phi": Phi,
}

__all__ = ["MONITORS", "Adaptive", "Heartbeat", "Monitor", "Phi", "Settings"]
