"""Failure detectors: what turns the arrivals of heartbeats into suspicion and trust.

A monitor watches one peer. It is told when heartbeats arrive and says until when it will wait for the next
one; it reads no clock and sends nothing, so the simulator, a node on sockets and `vez detectors` share it.
Algorithms see `on_suspect` and `on_trust` only, whatever the detector beneath them.
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
