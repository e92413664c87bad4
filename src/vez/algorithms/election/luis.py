"""The leader is the largest of those whom the failure detector trusts.

Idea:        Everybody starts from the list of all processes and takes the largest for the leader. When the
             detector says that somebody has failed, it is struck off and the largest of the rest leads.
Source:      seed 004, "Algoritmo do Luís".
Assumptions: unique identifiers; a perfect detector; stopped processes stay so.
Guarantees:  uniqueness, termination, agreement, and the largest live identifier leads. With a detector that
             errs they hold again after its last mistake.
Messages:    None; all the work is the detector's, which must watch everybody, not only those who are larger.
Deviations:  A suspicion that is taken back puts the process on the list again.
"""

from __future__ import annotations

from vez.core import Assumption, Election, Io, Property


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
        """There is nothing to ask anybody: whoever leads, leads."""

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
        return f"leader is {self.leader}"
