"""On any connected graph, the smallest sources win; the waves go down and come up like a yo-yo.

Idea:        Every edge points from the smaller to the larger process, which makes sources, sinks and internal
             processes. Down: sources send their names, everybody passes on the least it has heard. Up: sinks
             say yes to whoever sent the least and no to the rest, internal processes pass that up; a no turns
             its edge round, so that losers stop being sources. What can teach nobody anything is pruned: an
             edge that brought a value that another brought too, and a sink with one edge. A source without
             edges is the only one left, and leads.
Source:      seed 000; Santoro, Design and Analysis of Distributed Algorithms, 2007, section 3.8.3.
Assumptions: unique identifiers; a connected graph; reliable channels; nobody crashes.
Guarantees:  uniqueness, termination, agreement; the smallest identifier leads.
Messages:    Set-up 2m (m edges), each round at most 2m on the edges that are left, at most ⌈log₂ s⌉ rounds from
             s sources to one and one more to prune the rest. Then at most 2m to announce.
Deviations:  A process says no upwards if any edge below said no (the seed: if all did). A pruned edge has no
             say: the value that it brought is answered by the edge that is kept. A process left without lower
             edges prunes itself in the same wave. Neighbours suspected before the first round do not count.
"""

from __future__ import annotations

from vez import core
from vez.core import Assumption, Grid, Io, Message, Property


class Name(Message):
    """Set-up: this is who I am."""

    name: int


class Down(Message):
    """The least name heard from above."""

    least: int
    round: int


class Up(Message):
    """Whether that was the least for everybody below; with `prune` the edge is dropped instead."""

    yes: bool
    prune: bool
    round: int


class Elected(Message):
    """The last source leads; flooded."""

    leader: int


class YoYo(core.Election):
    """Extinction of sources on a directed acyclic graph."""

    name = "yoyo"
    topology = Grid  # unless the scenario gives edges: any connected graph will do
    assumes = (Assumption.UNIQUE_IDS, Assumption.RELIABLE, Assumption.NO_CRASHES)
    guarantees = (Property.UNIQUENESS, Property.TERMINATION, Property.AGREEMENT, Property.VALIDITY)

    awake: bool = False
    round: int = 0  # 0 during the set-up
    unnamed: frozenset[int] = frozenset()  # neighbours whose name has not come
    above: frozenset[int] = frozenset()  # in-neighbours; none: a source
    below: frozenset[int] = frozenset()  # out-neighbours; none: a sink
    values: tuple[tuple[int, int], ...] = ()  # (in-neighbour, what it sent down) in this round
    votes: tuple[tuple[int, bool, bool], ...] = ()  # (out-neighbour, yes, prune) in this round
    early: tuple[tuple[int, Down | Up], ...] = ()  # of later rounds, from neighbours that are ahead
    suspected: frozenset[int] = frozenset()
    leader: int | None = None

    def on_elect(self, io: Io) -> None:
        if not self.awake:
            self._wake(io)

    def _wake(self, io: Io) -> None:
        self.awake = True
        self.unnamed = frozenset(io.neighbours) - self.suspected
        for peer in sorted(self.unnamed):
            io.send(peer, Name(io.me))
        if not self.unnamed:
            self._next_round(io)

    def on_name(self, message: Name, sender: int, io: Io) -> None:
        if not self.awake:
            self._wake(io)
        if sender not in self.unnamed:
            return
        self.unnamed -= {sender}
        if message.name < io.me:
            self.above |= {sender}
        else:
            self.below |= {sender}
        if not self.unnamed:
            self._next_round(io)

    def on_suspect(self, peer: int, io: Io) -> None:
        if self.round:
            return  # too late: the assumption that nobody crashes is broken
        self.suspected |= {peer}
        self.above -= {peer}
        self.below -= {peer}
        if peer in self.unnamed:
            self.unnamed -= {peer}
            if not self.unnamed:
                self._next_round(io)

    def _next_round(self, io: Io) -> None:
        self.round += 1
        self.values = self.votes = ()
        if not self.above:
            if not self.below:
                self._announce(io.me, io)  # alone from the beginning
            self._send_down(io.me, io)
        waiting, self.early = self.early, ()
        for sender, message in waiting:
            if isinstance(message, Down):
                self.on_down(message, sender, io)
            else:
                self.on_up(message, sender, io)

    def _send_down(self, least: int, io: Io) -> None:
        for peer in sorted(self.below):
            io.send(peer, Down(least, self.round))

    def on_down(self, message: Down, sender: int, io: Io) -> None:
        if message.round > self.round:
            self.early += ((sender, message),)
            return
        self.values += ((sender, message.least),)
        if len(self.values) == len(self.above):
            if self.below:
                self._send_down(min(value for _, value in self.values), io)
            else:
                self._answer(io)

    def on_up(self, message: Up, sender: int, io: Io) -> None:
        if message.round > self.round:
            self.early += ((sender, message),)
            return
        self.votes += ((sender, message.yes, message.prune),)
        if len(self.votes) == len(self.below):
            self._answer(io)

    def _answer(self, io: Io) -> None:
        """Turn and drop the edges below as they voted, tell those above, and go into the next round."""
        was_source = not self.above
        yes = all(vote or pruned for _, vote, pruned in self.votes)
        above = {peer for peer, vote, pruned in self.votes if not vote and not pruned}
        below = {peer for peer, vote, pruned in self.votes if vote and not pruned}
        kept = {value: peer for peer, value in sorted(self.values, reverse=True)}  # of each value the first
        is_useless = not above and not below and len(kept) == 1
        for peer, value in sorted(self.values):
            prune = kept[value] != peer or is_useless
            vote = yes and value == min(kept)
            io.send(peer, Up(vote, prune, self.round))
            if not prune:
                (above if vote else below).add(peer)
        self.above, self.below = frozenset(above), frozenset(below)
        if above or below:
            self._next_round(io)
        elif was_source:
            self._announce(io.me, io)

    def on_elected(self, message: Elected, sender: int, io: Io) -> None:
        if self.leader is None:
            self._announce(message.leader, io, sender)

    def _announce(self, leader: int, io: Io, told_by: int | None = None) -> None:
        self.leader = leader
        io.elected(leader)
        for peer in io.neighbours:
            if peer != told_by and peer not in self.suspected:
                io.send(peer, Elected(leader))

    def status(self) -> str:
        if self.leader is not None:
            return f"leader is {self.leader}"
        if not self.round:
            return ""
        if not self.above and not self.below:
            return "pruned"
        kind = "internal" if self.above and self.below else "sink" if self.above else "source"
        return f"{kind}, round {self.round}"
