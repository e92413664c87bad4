"""The leader is the largest process that the failure detector trusts.

Idea:        Every process starts with the list of all processes, and the largest leads. When the detector reports a
             failure, the failed process is removed from the list, and the largest of the rest leads.
Source:      Resumos LEIC, "Algoritmo do Luís".
Assumptions: unique identifiers; a perfect detector; a stopped process does not come back.
Guarantees:  uniqueness, termination, agreement; the largest live identifier leads. If the detector makes mistakes, they
             hold again after its last one.
Messages:    None. The detector does all the work, and must watch all processes, not only the larger ones.
Deviations:  A process that is trusted again returns to the list.
"""

from __future__ import annotations

from vez.core import Assumption, Election, Io, Property, named


class Luis(Election):
    """Election without a message."""

    name = "luis"
    assumes = (Assumption.UNIQUE_IDS, Assumption.PERFECT_DETECTOR, Assumption.NO_RECOVERY)
    guarantees = (Property.UNIQUENESS, Property.TERMINATION, Property.AGREEMENT, Property.VALIDITY)
    best_wins = True

    suspected: frozenset[int] = frozenset()
    leader: int | None = None

    def on_start(self, io: Io) -> None:
        self._choose(io)

    def on_elect(self, io: Io) -> None:
        """Does nothing: every process knows the leader already."""

    def on_suspect(self, peer: int, io: Io) -> None:
        self.suspected |= {peer}
        self._choose(io)

    def on_trust(self, peer: int, io: Io) -> None:
        self.suspected -= {peer}
        self._choose(io)

    def _choose(self, io: Io) -> None:
        self.leader = max(process for process in (*io.peers, io.me) if process not in self.suspected)
        io.elected(self.leader)

    def status(self) -> str:
        return "" if self.leader is None else f"leader is {named(self.leader)}"
