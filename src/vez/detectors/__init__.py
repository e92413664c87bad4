"""Failure detectors: decide from the arrivals of heartbeats whom to suspect.

A monitor watches one peer. It is told when heartbeats arrive, and gives the time until which it waits for the next
one. It reads no clock and sends nothing, so the simulator, a node on sockets and `vez detectors` can share it.
Algorithms see only `on_suspect` and `on_trust`, whatever the detector.
"""

from vez.detectors.adaptive import Adaptive
from vez.detectors.heartbeat import Heartbeat
from vez.detectors.monitor import Monitor, Settings
from vez.detectors.phi import Phi

MONITORS: dict[str, type[Monitor]] = {
    "heartbeat": Heartbeat,
    "adaptive": Adaptive,
    "phi": Phi,
}

__all__ = ["MONITORS", "Adaptive", "Heartbeat", "Monitor", "Phi", "Settings"]
