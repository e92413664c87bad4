"""The participant: the part of `elected-coordinator` that requests entry, enters and leaves.

It follows one coordinator at a time, and tells a new one what it holds and wants.
"""

from __future__ import annotations

from vez.catalogue.mutex.elected_coordinator.messages import Grant, Holding, Inquiry, Release, Request
from vez.catalogue.mutex.elected_coordinator.voter import Voter
from vez.core import Io


class Participant(Voter):
    """Asks the coordinator that it follows, and accepts grants only from it."""

    coordinator: int | None = None  # the coordinator that we follow; None until an election has named one
    term: int = 0  # of that coordinator
    wanting: bool = False  # a request is open, or we are inside
    held: int = 0  # the token of the current stay; 0 outside
    used: int = 0  # the token of the last stay, the current one included
    newest: int = 0  # the largest token seen, whoever it was granted to
    returned: bool = False  # we have crashed, and our coordinator may not know it

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
        if (sender, message.term) != (self.coordinator, self.term):  # the sender knows of its election before we do
            self._change_coordinator(sender, message.term, io)
        self._report(message.granted, io)

    def _follow(self, leader: int, term: int, io: Io) -> None:
        if (leader, term) == (self.coordinator, self.term) or term < self.term:
            return
        self._change_coordinator(leader, term, io)
        if leader != io.me and (self.wanting or self.returned):
            self._report(0, io)

    def _change_coordinator(self, leader: int, term: int, io: Io) -> None:
        self.coordinator, self.term = leader, term
        io.elected(leader, term)

    def _report(self, about: int, io: Io) -> None:
        if self.coordinator is not None:
            wants = self.wanting and not self.held
            io.send(self.coordinator, Holding(self.term, about, self.held, wants, self.newest))
        self.returned = False
