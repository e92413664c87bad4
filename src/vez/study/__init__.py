"""The lab: runs, sweeps over seeds, failing runs made short. What the command line does, as functions."""

from vez.study.load import load_algorithm
from vez.study.report import Report, report
from vez.study.shrink import shrink
from vez.study.sweep import Sweep, sweep

__all__ = ["Report", "Sweep", "load_algorithm", "report", "shrink", "sweep"]
