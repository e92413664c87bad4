"""vez.properties: judges and measurements of a trace; the code is in `vez.judge.properties`."""

from vez.judge.properties import History, Measurements, Status, Verdict, judge, measure

__all__ = ["History", "Measurements", "Status", "Verdict", "judge", "measure"]


def __dir__() -> list[str]:
    """The public names, for `dir` and for completion."""
    return sorted(__all__)
