"""The second of the three worlds: every interleaving, and the shortest run to what goes wrong."""

from importlib.util import find_spec

from vez.errors import MissingPart

if find_spec("numpy") is None:
    raise MissingPart(
        "the checker needs NumPy, which is not installed", hint="pip install 'vez[check]', or '.[check]' in a clone"
    )

from vez.check.checker import Counterexample, Report, check
from vez.check.model.configuration import Budget, Configuration
from vez.check.search.breadth_first import Limits, Progress

__all__ = ["Budget", "Configuration", "Counterexample", "Limits", "Progress", "Report", "check"]


def __dir__() -> list[str]:
    """The public names, for `dir` and for completion."""
    return sorted(__all__)
