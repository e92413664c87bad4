"""One election of identical processes on a ring of known size, by chance: the cure for `ring-anonymous`.

Idea:        Every active process draws a name for the round and sends it round the ring. A larger (round, name) makes
             an active process passive, a smaller one is dropped. A process that receives its own name from another
             process marks the message as not unique. A process whose message comes back after n hops leads if the
             message is still unique, and draws again otherwise.
Source:      Itai and Rodeh, FOCS 1981 and Information and Computation 88(1), 1990.
Assumptions: every process knows the size of the ring; reliable channels; nobody crashes. No process reads its
             identifier.
Guarantees:  uniqueness always; termination with probability 1, after a bounded mean number of rounds.
Messages:    O(n log n) on average when all start; then n to announce.
Deviations:  The identifier passed to `io.elected` is for the observer. Followers cannot name the leader, so agreement
             is not promised. A process that was not asked becomes passive when the first message arrives.
"""

from __future__ import annotations

from vez.core import Assumption, Election, Io, Message, Parameter, Property, Ring, View

IDLE, ACTIVE, PASSIVE, LEADER = "", "active", "passive", "leader"
LARGEST = 1_000_000_000


class Candidacy(Message):
    """A drawn name on its way round the ring."""

    round: int
    name: int
    hops: int
    unique: bool


class HabemusLeader(Message):
    """A leader has been elected; the receiver cannot know which process it is."""


class ItaiRodeh(Election):
    """Random names break the symmetry."""

    name = "itai-rodeh"
    topology = Ring
    one_election = True
    assumes = (Assumption.RELIABLE, Assumption.NO_CRASHES)
    symmetry = "rotation"
    guarantees = (Property.UNIQUENESS, Property.TERMINATION, Property.VALIDITY)

    size: Parameter[int] = 0  # of the ring, known to every process; 0: count the processes
    names: Parameter[int] = 0  # number of names to draw from; 0: as many as processes
    state: str = IDLE
    round: int = 0
    drawn: int = 0  # the name drawn in this round; meaningful while active

    def objection(self, ids: tuple[int, ...]) -> str:
        fits = 0 <= min(self.size, self.names) <= max(self.size, self.names) <= LARGEST
        return "" if fits else f"size, names: expected 0 to {LARGEST:,}"

    def on_elect(self, io: Io) -> None:
        if self.state == IDLE:
            self.state = ACTIVE
            self._draw(io)

    def on_candidacy(self, message: Candidacy, sender: int, io: Io) -> None:
        if self.state == IDLE:
            self.state = PASSIVE
        unique = message.unique
        if message.hops == self._size(io):
            if self.state == ACTIVE:
                self._come_home(unique, io)
            return
        if self.state == ACTIVE:
            theirs, ours = (message.round, message.name), (self.round, self.drawn)
            if theirs < ours:
                return
            if theirs > ours:
                self.state = PASSIVE
            else:
                unique = False
        io.send(io.right, Candidacy(message.round, message.name, message.hops + 1, unique))

    def on_habemus_leader(self, message: HabemusLeader, sender: int, io: Io) -> None:
        if self.state != LEADER:
            io.send(io.right, message)

    def _come_home(self, unique: bool, io: Io) -> None:
        if unique:
            self.state = LEADER
            io.elected(io.me)
            io.send(io.right, HabemusLeader())
        else:
            self._draw(io)

    def _draw(self, io: Io) -> None:
        self.round += 1
        self.drawn = io.choose(range(1, (self.names or self._size(io)) + 1))
        io.send(io.right, Candidacy(self.round, self.drawn, 1, True))

    def _size(self, io: Io) -> int:
        return self.size or len(io.peers) + 1

    def status(self) -> str:
        return f"draws {self.drawn} in round {self.round}" if self.state == ACTIVE else self.state

    def view(self) -> View | None:
        return View(active=self.state != PASSIVE) if self.state != IDLE else None
