"""The voter: the part of `elected-coordinator` that runs the inner election.

The election is an algorithm of the catalogue, unchanged. Its fields are kept in two fields of this process (see
`vez.core.inner_process`), its messages travel in a `Ballot`, and its timers get the prefix `election_`.
"""

from __future__ import annotations

from typing import Any, Literal

from vez import core
from vez.catalogue.election import bully, bully_stable, chang_roberts, luis, majority
from vez.catalogue.mutex.elected_coordinator.messages import Ballot
from vez.core import Durable, Io, Message, Mutex, Parameter
from vez.core.inner_process import InnerIo, Value, build, take_apart
from vez.core.process import handlers_of

ELECTIONS: dict[str, type[core.Election]] = {
    "bully": bully.Bully,
    "bully-stable": bully_stable.BullyStable,
    "chang-roberts": chang_roberts.ChangRoberts,
    "luis": luis.Luis,
    "majority": majority.Majority,
}
"""The elections that can be held again after a crash; the others of the catalogue assume that there is none."""


class Voter(Mutex):
    """Takes part in the inner election, and calls `_follow` when it names a leader."""

    election: Parameter[Literal["bully", "bully-stable", "chang-roberts", "luis", "majority"]] = "majority"
    votes: Durable[tuple[Value, ...]] = ()  # the durable fields of the inner election
    ballots: tuple[Value, ...] = ()  # its other fields

    def _follow(self, leader: int, term: int, io: Io) -> None:
        """Called when the inner election has named a leader. `Participant` overrides it."""

    def _vote(self, io: Io, handler: str, *arguments: Any) -> None:
        """Run a handler of the inner election, if it has that handler: `majority` has no `on_suspect`, for example."""
        process, inside = self._inside(io)
        handle = getattr(process, handler, None)
        if handle is not None:
            handle(*arguments, inside)
            self._take_back(process, inside, io)

    def on_ballot(self, message: Ballot, sender: int, io: Io) -> None:
        kind = handlers_of(ELECTIONS[self.election]).kinds.get(message.kind)
        if kind is not None:
            process, inside = self._inside(io)
            kind.handler(process, kind.message(*message.fields), sender, inside)
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

    def _inside(self, io: Io) -> tuple[core.Process, InnerIo]:
        return build(ELECTIONS[self.election], self.votes, self.ballots), InnerIo(io, _ballot, "election_")

    def _take_back(self, process: core.Process, inside: InnerIo, io: Io) -> None:
        self.votes, self.ballots = take_apart(process)
        for leader, term in inside.elections:
            if leader is not None:  # without a new leader, the old coordinator still serves
                self._follow(leader, term, io)


def _ballot(message: Message) -> Ballot:
    return Ballot(type(message).__name__, tuple(getattr(message, name) for name in message.__struct_fields__))
