"""Studies of algorithms: runs, sweeps over seeds, shrinking, comparisons. What the commands do, as functions."""

from vez.study.load import load_algorithm
from vez.study.report import Report, report
from vez.study.shrink import shrink
from vez.study.sweep import Sweep, sweep

__all__ = ["Report", "Sweep", "load_algorithm", "report", "shrink", "sweep"]
