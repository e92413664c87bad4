"""The model checker: explores every interleaving, and finds a shortest run to each violation.

checker    explores a configuration, judges the properties, and shows a run for each broken one
coverage   the handlers that never ran, and the fairness that verdicts assume
arrays     array operations, from NumPy if it is installed
model      the processes, runs as scenarios, and the definition of the possible steps (`model/semantics.py`)
search     breadth-first search; `search/packed.py` computes the same steps for many states at once
reduce     partial-order and symmetry reduction
liveness   properties that something happens eventually
threads    the interleavings of programs of threads
"""

from vez.worlds.check.checker import Counterexample, Report, check
from vez.worlds.check.model.configuration import Budget, Configuration
from vez.worlds.check.search.limits import Limits
from vez.worlds.check.search.progress import Progress

__all__ = ["Budget", "Configuration", "Counterexample", "Limits", "Progress", "Report", "check"]
