"""vez.check: the model checker; the code is in `vez.worlds.check`."""

from vez.worlds.check import Budget, Configuration, Counterexample, Limits, Progress, Report, check

__all__ = ["Budget", "Configuration", "Counterexample", "Limits", "Progress", "Report", "check"]


def __dir__() -> list[str]:
    """The public names, for `dir` and for completion."""
    return sorted(__all__)
