"""The second of the three worlds: every interleaving, and the shortest run to what goes wrong."""

from vez.check.checker import Counterexample, Report, check
from vez.check.configuration import Budget, Configuration
from vez.check.search import Limits, Progress

__all__ = ["Budget", "Configuration", "Counterexample", "Limits", "Progress", "Report", "check"]
