"""Judges and measurements of a trace, with the evidence.

judge             all properties that apply to a trace
mutex, election   the judges of each property
verdict           the judgement on one property
history           a trace as intervals: waits, stays, leaders, crashes
causality, hosts  the happened-before order; periods on hosts whose clocks cannot be compared
doorway           the moment at which a request counts as placed
assumptions       the assumptions that a run did not keep
measure           messages, delays, bypasses and waits
"""

from vez.judge.properties.history import History
from vez.judge.properties.judge import judge
from vez.judge.properties.measure import Measurements, measure
from vez.judge.properties.verdict import Status, Verdict

__all__ = ["History", "Measurements", "Status", "Verdict", "judge", "measure"]
