"""The lab: runs, sweeps over seeds, failing runs made short. What the command line does, as functions."""

from vez.lab.load import load_algorithm
from vez.lab.report import Report, report
from vez.lab.shrink import shrink
from vez.lab.sweep import Sweep, sweep

__all__ = ["Report", "Sweep", "load_algorithm", "report", "shrink", "sweep"]
