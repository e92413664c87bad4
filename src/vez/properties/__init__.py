"""Judges and measurements: what a trace says about each property, with the evidence."""

from vez.properties.history import History
from vez.properties.judge import judge
from vez.properties.measure import Measurements, measure
from vez.properties.verdict import Status, Verdict

__all__ = ["History", "Measurements", "Status", "Verdict", "judge", "measure"]


def __dir__() -> list[str]:
    """The public names, for `dir` and for completion."""
    return sorted(__all__)
