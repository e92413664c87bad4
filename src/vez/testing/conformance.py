"""The contract as tests, for every engine, for threads and for tasks. This is the public name of the suite.

class TestMine(Conformance):
    @pytest.fixture
    def url(self):
        return "mine://..."
"""

from __future__ import annotations

from vez.testing.edge_conformance import EdgeConformance
from vez.testing.election_conformance import ElectionConformance
from vez.testing.lock_conformance import LockConformance
from vez.testing.loss_conformance import CancellationConformance, LossConformance, ToldConformance

__all__ = [
    "CancellationConformance",
    "Conformance",
    "EdgeConformance",
    "ElectionConformance",
    "LockConformance",
    "LossConformance",
    "ToldConformance",
]


class Conformance(
    LockConformance, CancellationConformance, ElectionConformance, LossConformance, ToldConformance, EdgeConformance
):
    """The whole contract within one process."""
