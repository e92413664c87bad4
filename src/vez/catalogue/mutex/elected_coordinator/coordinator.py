"""The coordinator: the part of `elected-coordinator` that queues requests and grants them.

Every process has this part; only the one that the others follow uses it. A new coordinator first asks all processes
what they hold and want (it takes over). It grants requests after all have answered (it rules).
"""

from __future__ import annotations

from vez.catalogue.mutex.elected_coordinator.messages import Grant, Holding, Inquiry, Release, Request
from vez.catalogue.mutex.elected_coordinator.participant import Participant
from vez.core import Io, Parameter

TERM_STEP = 10**9
"""A token is the term times this, plus a counter: tokens of later terms are larger, and people can read both parts."""


class Coordinator(Participant):
    """Grants one request at a time, in the order of arrival."""

    takeover_ms: Parameter[float] = 6.0  # longer than an Inquiry and its answer take
    suspected: frozenset[int] = frozenset()  # by the failure detector
    awaited: frozenset[int] = frozenset()  # processes that have not said what they hold; empty unless taking over
    ruling: bool = False  # True if the takeover is complete, and requests are granted
    queue: tuple[int, ...] = ()  # waiting processes, in the order of arrival; none twice
    holder: int | None = None  # the process that has been granted and has not released
    granted: int = 0  # the token of that grant; 0 if there is no holder

    # A change of coordinator.

    def _change_coordinator(self, leader: int, term: int, io: Io) -> None:
        self._abdicate(io)
        super()._change_coordinator(leader, term, io)
        if leader == io.me:
            self._take_over(io)

    def _abdicate(self, io: Io) -> None:
        io.cancel_timer("takeover")
        self.ruling, self.awaited = False, frozenset()
        self.queue, self.holder, self.granted = (), None, 0

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
            if message.about == self.granted:  # the sender got the grant, and forgot it in a crash
                self.holder, self.granted = None, 0
            else:  # the grant may still be on its way: ask again behind it
                io.send(sender, Inquiry(self.term, self.granted))
        if message.held and self.holder is None:
            self.holder, self.granted = sender, message.held
        if message.wants:
            self._enqueue(sender)
        self._no_longer_await(sender, io)

    def on_timer_takeover(self, io: Io) -> None:
        self._rule(io)

    def _no_longer_await(self, process: int, io: Io) -> None:
        self.awaited -= {process}
        if self.ruling:
            self._grant_next(io)
        elif self.coordinator == io.me and not self.awaited:
            self._rule(io)

    def _rule(self, io: Io) -> None:
        io.cancel_timer("takeover")
        self.ruling = True
        self.awaited = frozenset()
        self._grant_next(io)

    # Requests and grants.

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
        """Grant the first of the queue that is not suspected; a suspected one keeps its place."""
        if not self.ruling or self.holder is not None:
            return
        self.holder = next((process for process in self.queue if process not in self.suspected), None)
        if self.holder is not None:
            place = self.queue.index(self.holder)
            self.queue = self.queue[:place] + self.queue[place + 1 :]
            self.newest = self.granted = max(self.newest, self.term * TERM_STEP) + 1
            io.send(self.holder, Grant(self.granted))

    # Reports of the failure detector.

    def _strike_off(self, peer: int, io: Io) -> None:
        """Remove a dead process: it holds nothing, and will not answer."""
        if self.coordinator == io.me:
            if self.holder == peer:
                self._free(io)
            self._no_longer_await(peer, io)

    def _ask_again(self, peer: int, io: Io) -> None:
        """Ask a process that is trusted again: it may have forgotten what it held, or its messages may be lost."""
        if self.coordinator == io.me:
            io.send(peer, Inquiry(self.term, self.granted))
            self._grant_next(io)
