"""The coordinator of mutual exclusion is elected, and replaced when it fails.

Idea:        As `coordinator`, but every process also takes part in an election, and whoever it makes leader
             coordinates. A new coordinator asks everybody what they hold and want; when all who are not dead
             have answered it goes on where the old one stopped. Tokens are (term, counter) in one number.
Source:      seeds 000 and 001: "what if we replaced the coordinator when it fails?"
Assumptions: those of the election; reliable FIFO channels; a perfect detector; answers within `takeover_ms`.
Guarantees:  exclusion, no deadlock, no starvation. With `majority`, whose terms never repeat, a resource that
             checks tokens is safe whatever happens; with `bully` two coordinators hand out the same tokens when
             the network is partitioned.
Messages:    3 per entry: Request, Grant, Release. A change of coordinator costs the election and 2(N-1).
Deviations:  A participant takes grants from the coordinator that it follows only. Who gets a grant that it does
             not want gives it back, so that a process that crashed in the queue and came back holds nobody up.
             The election is one of those that can be held again after a crash; the others assume there is none.
"""

from __future__ import annotations

from typing import Any, Literal

from vez import core
from vez.algorithms.election import bully, bully_stable, chang_roberts, luis, majority
from vez.core import Assumption, Durable, Io, Message, Mutex, Parameter, Property
from vez.core.inside import Inside, Value, build, take_apart
from vez.core.message import handler_name

ELECTIONS: dict[str, type[core.Election]] = {
    "bully": bully.Bully,
    "bully-stable": bully_stable.BullyStable,
    "chang-roberts": chang_roberts.ChangRoberts,
    "luis": luis.Luis,
    "majority": majority.Majority,
}
KINDS: dict[str, dict[str, type[Message]]] = {
    "bully": {kind.__name__: kind for kind in (bully.Election, bully.Answer, bully.Coordinator)},
    "bully-stable": {
        kind.__name__: kind
        for kind in (
            bully_stable.Return,
            bully_stable.Present,
            bully_stable.Election,
            bully_stable.Answer,
            bully_stable.Coordinator,
        )
    },
    "chang-roberts": {kind.__name__: kind for kind in (chang_roberts.Election, chang_roberts.Elected)},
    "luis": {},
    "majority": {kind.__name__: kind for kind in (majority.RequestVote, majority.Vote, majority.Heartbeat)},
}
TERM_STEP = 10**9
"""A token is the term times this, plus the counter: people can read it, and later terms are larger."""


class Ballot(Message):
    """A message of the election inside."""

    kind: str
    fields: tuple[int | None, ...]


class Request(Message):
    """Participant to coordinator: I want in."""


class Grant(Message):
    """Coordinator to participant: it is your turn."""

    token: int


class Release(Message):
    """Participant to coordinator: I am out."""

    token: int


class Inquiry(Message):
    """Coordinator to participant: what do you hold, what do you want? `granted` says what it should hold."""

    term: int
    granted: int


class Holding(Message):
    """The token of the current stay or 0, whether a request is open, the largest token seen.

    `about` is the question's `granted`, so that the coordinator knows that a grant had arrived before the answer left.
    """

    term: int
    about: int
    held: int
    wants: bool
    newest: int


def _ballot(message: Message) -> Ballot:
    return Ballot(type(message).__name__, tuple(getattr(message, name) for name in message.__struct_fields__))


class ElectedCoordinator(Mutex):
    """The central server that can be replaced."""

    name = "elected-coordinator"
    assumes = (
        Assumption.UNIQUE_IDS,
        Assumption.RELIABLE,
        Assumption.FIFO,
        Assumption.KNOWN_BOUNDS,
        Assumption.PERFECT_DETECTOR,
        Assumption.STABLE_STORAGE,
    )
    guarantees = (
        Property.EXCLUSION,
        Property.DEADLOCK_FREEDOM,
        Property.STARVATION_FREEDOM,
        Property.FENCED_EXCLUSION,
    )

    election: Parameter[Literal["bully", "bully-stable", "chang-roberts", "luis", "majority"]] = "majority"
    takeover_ms: Parameter[float] = 6.0  # longer than an Inquiry and its answer take
    votes: Durable[tuple[Value, ...]] = ()  # the durable fields of the election inside
    ballots: tuple[Value, ...] = ()  # its other fields
    coordinator: int | None = None  # whom we follow
    term: int = 0  # of that coordinator
    wanting: bool = False  # a request is open, or we are inside
    held: int = 0  # the token of the current stay; 0 outside
    returned: bool = False  # we have crashed, and our coordinator may not know it
    used: int = 0  # the token of the last stay, this one included
    newest: int = 0  # the largest token seen, of anybody
    suspected: frozenset[int] = frozenset()
    awaited: frozenset[int] = frozenset()  # coordinator: who has not said what it holds
    ruling: bool = False  # coordinator: knows what everybody holds, and grants
    queue: tuple[int, ...] = ()  # coordinator: who waits; nobody twice
    holder: int | None = None  # coordinator: who has been granted and has not released
    granted: int = 0  # coordinator: with which token

    def on_start(self, io: Io) -> None:
        self._vote(io, "on_start")
        if io.me == io.hub:
            self._vote(io, "on_elect")

    def on_recover(self, io: Io) -> None:
        self.returned = True
        self._vote(io, "on_recover")

    # The participant.

    def on_want(self, io: Io) -> None:
        self.wanting = True
        if self.coordinator is None:
            self._vote(io, "on_elect")
        else:
            io.send(self.coordinator, Request())

    def on_grant(self, message: Grant, sender: int, io: Io) -> None:
        if message.token == self.held:
            return
        fresh = self.wanting and not self.held and message.token != self.used
        if fresh and sender == self.coordinator:
            self.held = self.used = message.token
            self.newest = max(self.newest, message.token)
            io.enter(message.token)
        else:
            io.send(sender, Release(message.token))

    def on_done(self, io: Io) -> None:
        token, self.held, self.wanting = self.held, 0, False
        if self.coordinator is not None:
            io.send(self.coordinator, Release(token))

    def on_inquiry(self, message: Inquiry, sender: int, io: Io) -> None:
        if message.term < self.term:
            return
        if (sender, message.term) != (self.coordinator, self.term):
            self._abdicate(io)
            self.coordinator, self.term = sender, message.term
            io.elected(sender, message.term)
        self._report(message.granted, io)

    def _report(self, about: int, io: Io) -> None:
        if self.coordinator is not None:
            wants = self.wanting and not self.held
            io.send(self.coordinator, Holding(self.term, about, self.held, wants, self.newest))
        self.returned = False

    # The coordinator.

    def _follow(self, leader: int, term: int, io: Io) -> None:
        if (leader, term) == (self.coordinator, self.term) or term < self.term:
            return
        self._abdicate(io)
        self.coordinator, self.term = leader, term
        io.elected(leader, term)
        if leader == io.me:
            self._take_over(io)
        elif self.wanting or self.returned:
            self._report(0, io)

    def _take_over(self, io: Io) -> None:
        if self.held:
            self.holder, self.granted = io.me, self.held
        elif self.wanting:
            self.queue = (io.me,)
        self.awaited = frozenset(io.peers) - self.suspected
        for peer in sorted(self.awaited):
            io.send(peer, Inquiry(self.term, 0))
        io.set_timer("takeover", self.takeover_ms)
        if not self.awaited:
            self._rule(io)

    def on_holding(self, message: Holding, sender: int, io: Io) -> None:
        if self.coordinator != io.me or message.term != self.term:
            return
        self.newest = max(self.newest, message.newest)
        if sender == self.holder and message.held != self.granted:
            if message.about == self.granted:  # it got the grant, and has forgotten it in a crash
                self.holder, self.granted = None, 0
            else:
                io.send(sender, Inquiry(self.term, self.granted))
        if message.held and self.holder is None:
            self.holder, self.granted = sender, message.held
        if message.wants:
            self._enqueue(sender)
        self._no_longer_await(sender, io)

    def on_timer_takeover(self, io: Io) -> None:
        self._rule(io)

    def _rule(self, io: Io) -> None:
        io.cancel_timer("takeover")
        self.ruling = True
        self.awaited = frozenset()
        self._grant_next(io)

    def _abdicate(self, io: Io) -> None:
        io.cancel_timer("takeover")
        self.ruling, self.awaited = False, frozenset()
        self.queue, self.holder, self.granted = (), None, 0

    def on_request(self, message: Request, sender: int, io: Io) -> None:
        if self.coordinator == io.me:
            self._enqueue(sender)
            self._grant_next(io)

    def on_release(self, message: Release, sender: int, io: Io) -> None:
        if message.token == self.granted:
            self._free(io)

    def _enqueue(self, process: int) -> None:
        if process not in self.queue and process != self.holder:
            self.queue += (process,)

    def _free(self, io: Io) -> None:
        self.holder, self.granted = None, 0
        self._grant_next(io)

    def _grant_next(self, io: Io) -> None:
        if not self.ruling or self.holder is not None:
            return
        self.holder = next((process for process in self.queue if process not in self.suspected), None)
        if self.holder is not None:
            place = self.queue.index(self.holder)
            self.queue = self.queue[:place] + self.queue[place + 1 :]
            self.newest = self.granted = max(self.newest, self.term * TERM_STEP) + 1
            io.send(self.holder, Grant(self.granted))

    def _no_longer_await(self, process: int, io: Io) -> None:
        self.awaited -= {process}
        if self.ruling:
            self._grant_next(io)
        elif self.coordinator == io.me and not self.awaited:
            self._rule(io)

    # The detector, for the coordinator and for the election inside.

    def on_suspect(self, peer: int, io: Io) -> None:
        self.suspected |= {peer}
        self._vote(io, "on_suspect", peer)
        if self.coordinator == io.me:
            if self.holder == peer:
                self._free(io)
            self._no_longer_await(peer, io)

    def on_trust(self, peer: int, io: Io) -> None:
        self.suspected -= {peer}
        self._vote(io, "on_trust", peer)
        if self.coordinator == io.me:
            io.send(peer, Inquiry(self.term, self.granted))  # it may have forgotten, or not been heard
            self._grant_next(io)

    # The election inside.

    def on_ballot(self, message: Ballot, sender: int, io: Io) -> None:
        kind = KINDS[self.election].get(message.kind)
        if kind is not None:
            process, inside = self._inside(io)
            getattr(process, handler_name(kind))(kind(*message.fields), sender, inside)
            self._take_back(process, inside, io)

    def on_timer_election_answer(self, io: Io) -> None:
        self._vote(io, "on_timer_answer")

    def on_timer_election_coordinator(self, io: Io) -> None:
        self._vote(io, "on_timer_coordinator")

    def on_timer_election_present(self, io: Io) -> None:
        self._vote(io, "on_timer_present")

    def on_timer_election_campaign(self, io: Io) -> None:
        self._vote(io, "on_timer_campaign")

    def on_timer_election_heartbeat(self, io: Io) -> None:
        self._vote(io, "on_timer_heartbeat")

    def _vote(self, io: Io, handler: str, *arguments: Any) -> None:
        process, inside = self._inside(io)
        handle = getattr(process, handler, None)
        if handle is not None:  # `majority` listens to no detector
            handle(*arguments, inside)
            self._take_back(process, inside, io)

    def _inside(self, io: Io) -> tuple[core.Process, Inside]:
        return build(ELECTIONS[self.election], self.votes, self.ballots), Inside(io, _ballot, "election_")

    def _take_back(self, process: core.Process, inside: Inside, io: Io) -> None:
        self.votes, self.ballots = take_apart(process)
        for leader, term in inside.elections:
            self._follow(leader, term, io)

    def status(self) -> str:
        if self.ruling:
            holder = "free" if self.holder is None else f"{self.holder} inside"
            return f"coordinates: {holder}, queue [{', '.join(map(str, self.queue))}]"
        if self.awaited:
            return f"takes over, awaits {', '.join(map(str, sorted(self.awaited)))}"
        return "" if self.coordinator is None else f"follows {self.coordinator}"
