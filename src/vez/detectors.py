"""vez.detectors: failure detectors without I/O; the code is in `vez.core.detectors`."""

from vez.core.detectors import MONITORS, Adaptive, Heartbeat, Monitor, Phi, Settings

__all__ = ["MONITORS", "Adaptive", "Heartbeat", "Monitor", "Phi", "Settings"]


def __dir__() -> list[str]:
    """The public names, for `dir` and for completion."""
    return sorted(__all__)
