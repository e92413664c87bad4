"""A process needs only the votes of its voting set, because any two sets share a voter.

Idea:        Each process has a voting set, and any two sets have a common member. Each process has one vote, which it
             gives to one request at a time. A process that wants in asks its voting set and enters with all its votes.
             When it leaves it returns the votes, and each voter votes for the next request of its queue. With the
             processes in a square, the voting set is the row and the column: about 2√N voters instead of N.
Source:      Resumos LEIC, "Algoritmo de Maekawa"; Maekawa, ACM TOCS 3(2), 1985 (without its cure for the deadlock: see
             `maekawa-fair`).
Assumptions: reliable channels; nobody crashes.
Guarantees:  exclusion. Not deadlock freedom: with the sets {1,2}, {2,3}, {3,1} each process may vote for itself.
Messages:    3K per entry for a voting set of K: Request, Vote, Release. Messages to oneself are not counted, so 3(K-1)
             are. Client delay 2, synchronization delay 2.
Deviations:  Voting sets are a parameter, or come from the grid, even if N is not a square: in rows of ⌈√N⌉ with a
             shorter last row, the row of one process and the column of another still cross. In Resumos LEIC, a process
             that is HELD also queues requests; here its own vote, which it keeps until its Release, has the same
             effect.
"""

from __future__ import annotations

from vez.core import Assumption, Io, Message, Mutex, Parameter, Property, View, VotingSets, named, voting_set

RELEASED, WANTED, HELD = "RELEASED", "WANTED", "HELD"


class Request(Message):
    """To a voter: I ask for your vote."""


class Vote(Message):
    """From a voter: my vote is yours until your Release."""


class Release(Message):
    """To a voter: your vote is free again."""


class Maekawa(Mutex):
    """Entry with the votes of a voting set: a row and a column of a grid."""

    name = "maekawa"
    assumes = (Assumption.RELIABLE, Assumption.NO_CRASHES)
    guarantees = (Property.EXCLUSION,)

    voting_sets: Parameter[VotingSets] = ()  # by ascending identifier; empty: from the grid
    voters: tuple[int, ...] = ()  # our voting set
    state: str = RELEASED
    votes: frozenset[int] = frozenset()  # the voters that have voted for us
    voted_for: int | None = None  # voter: who has the vote
    queue: tuple[int, ...] = ()  # voter: who waits for the vote, in the order of arrival

    def objection(self, ids: tuple[int, ...]) -> str:
        for process in ids if self.voting_sets else ():
            voting_set(process, ids, self.voting_sets)  # raises if the sets are wrong
        return ""

    def on_start(self, io: Io) -> None:
        self.voters = voting_set(io.me, (io.me, *io.peers), self.voting_sets)

    def on_want(self, io: Io) -> None:
        self.state = WANTED
        self.votes = frozenset()
        for voter in self.voters:
            io.send(voter, Request())

    def on_request(self, message: Request, sender: int, io: Io) -> None:
        self.queue += (sender,)
        self._vote(io)

    def on_vote(self, message: Vote, sender: int, io: Io) -> None:
        self.votes |= {sender}
        if self.state == WANTED and len(self.votes) == len(self.voters):
            self.state = HELD
            io.enter()

    def on_done(self, io: Io) -> None:
        self.state = RELEASED
        for voter in self.voters:
            io.send(voter, Release())

    def on_release(self, message: Release, sender: int, io: Io) -> None:
        if self.voted_for == sender:
            self.voted_for = None
            self._vote(io)

    def _vote(self, io: Io) -> None:
        if self.voted_for is None and self.queue:
            self.voted_for, self.queue = self.queue[0], self.queue[1:]
            io.send(self.voted_for, Vote())

    def view(self) -> View | None:
        missing = frozenset(self.voters) - self.votes if self.state == WANTED else frozenset()
        holder = frozenset(() if self.voted_for is None or not self.queue else (self.voted_for,))
        return View(waits_for=tuple(sorted(missing | holder)))

    def status(self) -> str:
        vote = f", voted for {named(self.voted_for)}" if self.voted_for is not None else ""
        queue = f", queue [{', '.join(map(named, self.queue))}]" if self.queue else ""
        return f"{self.state}{vote}{queue}"
