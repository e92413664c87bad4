"""Maekawa's voting with timestamps: a vote can be asked back, so there is no deadlock and no starvation.

Idea:        As `maekawa`, but a request has a timestamp, a voter prefers the oldest request, and a vote given to a
             younger request can be asked back (Inquire). A voter tells a request that it failed if it is queued behind
             an older one. A process that failed somewhere returns a vote that is asked back (Relinquish).
Source:      Resumos LEIC, "Algoritmo de Maekawa", the note on happened-before order; Maekawa, ACM TOCS 3(2), 1985; the
             Failed that is missing in that paper: Sanders, ACM TOCS 5(3), 1987.
Assumptions: reliable channels; nobody crashes.
Guarantees:  exclusion, no deadlock, no starvation. Not the order of requests: a younger request may have all its votes
             before an older one reaches the voter that both share. A request is placed when it has arrived at all its
             voters. Then each other process overtakes it at most once, N-1 in all: a process whose clock is behind may
             still ask with an older timestamp, and the vote of the voter that both share brings its clock forward.
Messages:    3(K-1) per entry without contention. At most 6(K-1) with it: Request, Vote, Release, and for each arrival
             at a voter either one Failed or one Inquire, Relinquish and second Vote. Messages to oneself are not
             counted. Client delay 2, synchronization delay 2, and one more round trip if a vote must be asked back.
Deviations:  Every message names its request by timestamp, so that an Inquire or Failed of an earlier request has no
             effect. Channels need not be FIFO: an Inquire that overtakes its Vote waits for it, and a Failed that
             arrives after the Vote is dropped. Vote and Failed carry the voter's clock, so that a process whose clock
             is behind gets a younger timestamp next time.

Why there is no deadlock: every queued request either knows that it failed there, or is the oldest of the queue and
older than the request that has the vote, which is then being asked back. Follow the vote that a request lacks to the
request that has it, and go on from there while that request has not failed anywhere and is not inside. Timestamps only
grow along this walk, so it ends: at a request that enters, or at one that gives the vote back.
"""

from __future__ import annotations

from bisect import bisect

from vez.core import Assumption, Io, Message, Mutex, Parameter, Property, VotingSets, named, voting_set

RELEASED, WANTED, HELD = "RELEASED", "WANTED", "HELD"


class Request(Message):
    """To a voter: I ask for your vote, since this logical time."""

    timestamp: int


class Vote(Message):
    """From a voter: my vote is yours, until your Release or until you give it back."""

    timestamp: int
    clock: int


class Failed(Message):
    """From a voter: an older request comes before yours."""

    timestamp: int
    clock: int


class Inquire(Message):
    """From a voter: an older request has come; if you cannot enter, give my vote back."""

    timestamp: int


class Relinquish(Message):
    """To a voter: here is your vote; keep my request."""

    timestamp: int


class Release(Message):
    """To a voter: that request is over."""

    timestamp: int


class MaekawaFair(Mutex):
    """Entry with the votes of a voting set; voters prefer the oldest request."""

    name = "maekawa-fair"
    assumes = (Assumption.RELIABLE, Assumption.NO_CRASHES)
    guarantees = (
        Property.EXCLUSION,
        Property.DEADLOCK_FREEDOM,
        Property.STARVATION_FREEDOM,
        Property.BOUNDED_WAITING,
    )

    voting_sets: Parameter[VotingSets] = ()  # by ascending identifier; empty: from the grid
    voters: tuple[int, ...] = ()  # our voting set
    clock: int = 0  # Lamport clock; at least every timestamp seen
    state: str = RELEASED
    timestamp: int = 0  # of our request; larger each time
    votes: frozenset[int] = frozenset()  # voters whose vote we have
    refused: frozenset[int] = frozenset()  # voters that prefer an older request; disjoint from votes
    inquiries: frozenset[int] = frozenset()  # voters that ask back the vote of this request and have no answer
    voted_for: tuple[int, int] | None = None  # voter: (timestamp, process) of the request that has the vote
    queue: tuple[tuple[int, int], ...] = ()  # voter: requests that wait for it, oldest first
    inquired: bool = False  # voter: the vote has been asked back

    def objection(self, ids: tuple[int, ...]) -> str:
        for process in ids if self.voting_sets else ():
            voting_set(process, ids, self.voting_sets)  # raises if the sets are wrong
        return ""

    @classmethod
    def bypass_bound(cls, n: int) -> int:
        return n - 1

    def on_start(self, io: Io) -> None:
        self.voters = voting_set(io.me, (io.me, *io.peers), self.voting_sets)

    def on_want(self, io: Io) -> None:
        self.state = WANTED
        self.clock += 1
        self.timestamp = self.clock
        self.votes = self.refused = self.inquiries = frozenset()
        for voter in self.voters:
            io.send(voter, Request(self.timestamp))

    # The voter.

    def on_request(self, message: Request, sender: int, io: Io) -> None:
        self.clock = max(self.clock, message.timestamp)
        request = (message.timestamp, sender)
        if self.voted_for is None:
            self._vote(request, io)
            return
        before = self.queue[0] if self.queue else None
        self._enqueue(request)
        if request > self.voted_for or self.queue[0] != request:
            io.send(sender, Failed(message.timestamp, self.clock))
            return
        if before is not None and before < self.voted_for:  # it was next, and has not been told that it failed
            io.send(before[1], Failed(before[0], self.clock))
        if not self.inquired:
            self.inquired = True
            io.send(self.voted_for[1], Inquire(self.voted_for[0]))

    def on_relinquish(self, message: Relinquish, sender: int, io: Io) -> None:
        request = (message.timestamp, sender)
        if request == self.voted_for:
            self._enqueue(request)
            self._vote_next(io)

    def on_release(self, message: Release, sender: int, io: Io) -> None:
        if (message.timestamp, sender) == self.voted_for:
            self._vote_next(io)

    def _vote_next(self, io: Io) -> None:
        self.voted_for = None
        if self.queue:
            first, self.queue = self.queue[0], self.queue[1:]
            self._vote(first, io)

    def _vote(self, request: tuple[int, int], io: Io) -> None:
        self.voted_for, self.inquired = request, False
        io.send(request[1], Vote(request[0], self.clock))

    def _enqueue(self, request: tuple[int, int]) -> None:
        place = bisect(self.queue, request)
        self.queue = (*self.queue[:place], request, *self.queue[place:])

    # The requester.

    def on_vote(self, message: Vote, sender: int, io: Io) -> None:
        self.clock = max(self.clock, message.clock)
        if self._waits(message.timestamp):
            self.votes |= {sender}
            if sender in self.refused:
                self.refused -= {sender}
            self._settle(io)

    def on_failed(self, message: Failed, sender: int, io: Io) -> None:
        self.clock = max(self.clock, message.clock)
        if self._waits(message.timestamp) and sender not in self.votes:
            self.refused |= {sender}
            self._settle(io)

    def on_inquire(self, message: Inquire, sender: int, io: Io) -> None:
        if self._waits(message.timestamp):
            self.inquiries |= {sender}
            self._settle(io)

    def on_done(self, io: Io) -> None:
        self.state = RELEASED
        for voter in self.voters:
            io.send(voter, Release(self.timestamp))

    def _waits(self, timestamp: int) -> bool:
        """True if a message is about the request that waits now. A process inside answers an Inquire by leaving."""
        return self.state == WANTED and timestamp == self.timestamp

    def _settle(self, io: Io) -> None:
        """Enter with all votes; after a Failed, return the votes that are asked back."""
        if len(self.votes) == len(self.voters):
            self.state = HELD
            io.enter()
        elif self.refused and self.inquiries:
            for voter in sorted(self.inquiries & self.votes):
                self.votes -= {voter}
                self.inquiries -= {voter}
                self.refused |= {voter}
                io.send(voter, Relinquish(self.timestamp))

    def status(self) -> str:
        own = f"{self.state} at {self.timestamp}" if self.state == WANTED else self.state
        vote = f", voted for {named(self.voted_for[1])}" if self.voted_for is not None else ""
        queue = (
            f", queue [{', '.join(f'{named(process)}@{time}' for time, process in self.queue)}]" if self.queue else ""
        )
        return own + vote + queue
