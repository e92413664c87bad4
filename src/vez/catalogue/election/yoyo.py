"""On any connected graph the smallest source wins; waves go down and come up like a yo-yo.

Idea:        Every edge points from the smaller to the larger process. A process without incoming edges is a source, one
             without outgoing edges a sink, the others are internal. Down: sources send their identifiers, and everybody
             passes on the least that it has received. Up: sinks answer yes to those that sent the least and no to the
             rest, and internal processes pass the answers up. A no turns its edge round, so losers stop being sources.
             What gives no information is pruned: an edge that brought the same value as another, and a sink with one
             edge. A source without edges is the only one left, and leads.
Source:      Camargos, Coordenação, "Algoritmo do YoYo", and early version (pruning); Santoro, Design and Analysis of
             Distributed Algorithms, 2007, section 3.8.3.
Assumptions: unique identifiers; reliable channels; a perfect detector notices crashes; a connected graph, also without
             those who crashed. Where a crash may cut the graph, no crash at all.
Guarantees:  uniqueness, termination, agreement; the smallest live identifier leads.
Messages:    Set-up 2m (m edges), each round at most 2m on the edges that are left, at most ⌈log₂ s⌉ rounds from s
             sources to one and one more to prune the rest. Then at most 2m to announce.
Deviations:  A process answers no if any process below answered no (in Camargos: if all did, `zoo:some-yes`). Without
             pruning, as in Camargos, it never ends (`vez zoo no-pruning`). Answers of pruned edges do not count: the
             edge that is kept answers for the value. A process left without lower edges prunes itself in the same wave.
             When a process dies, the edges are oriented again without it (`successive`).
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from vez.catalogue.election.successive import Stage, Successive
from vez.core import Assumption, Grid, Io, Message, ProcessId, View, named


class Name(Message):
    """Set-up: my identifier."""

    name: ProcessId
    stage: Stage = ()


class Down(Message):
    """The least identifier received from above."""

    least: ProcessId
    round: int
    stage: Stage = ()


class Up(Message):
    """Answer to `Down`: `yes` if that identifier was the least for every process below. `prune` drops the edge."""

    yes: bool
    prune: bool
    round: int
    stage: Stage = ()


class Elected(Message):
    """The last source leads; sent to all by flooding."""

    leader: ProcessId
    stage: Stage = ()


class Value(msgspec.Struct, frozen=True):
    """A received Down, with its sender."""

    sender: int
    least: int


class Answer(msgspec.Struct, frozen=True):
    """A received Up, with its sender."""

    sender: int
    yes: bool
    prune: bool


class YoYo(Successive):
    """Eliminates sources on a directed acyclic graph."""

    name = "yoyo"
    topology = Grid  # unless the scenario gives edges: any connected graph will do
    assumes: ClassVar[tuple[Assumption, ...]] = (Assumption.UNIQUE_IDS, Assumption.RELIABLE, Assumption.NO_CRASHES)

    round: int = 0  # 0 during the set-up
    unnamed: frozenset[int] = frozenset()  # neighbours whose Name has not arrived
    above: frozenset[int] = frozenset()  # in-neighbours; none: a source
    below: frozenset[int] = frozenset()  # out-neighbours; none: a sink
    values: tuple[Value, ...] = ()  # what has come down in this round
    answers: tuple[Answer, ...] = ()  # what has come up in this round
    early: tuple[tuple[int, Down | Up], ...] = ()  # messages of later rounds, from neighbours that are ahead
    pruned: frozenset[int] = frozenset()  # neighbours whose edge was dropped, for pictures

    def _stand(self, io: Io) -> None:
        self.unnamed = frozenset(io.neighbours) - self.suspected
        for peer in sorted(self.unnamed):
            io.send(peer, Name(io.me, self.stage or ()))
        if not self.unnamed:
            self._next_round(io)

    def on_name(self, message: Name, sender: int, io: Io) -> None:
        if not self._is_current(message.stage, io) or sender not in self.unnamed:
            return
        self.unnamed -= {sender}
        if message.name < io.me:
            self.above |= {sender}
        else:
            self.below |= {sender}
        if not self.unnamed:
            self._next_round(io)

    def _next_round(self, io: Io) -> None:
        self.round += 1
        self.values = self.answers = ()
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
            io.send(peer, Down(least, self.round, self.stage or ()))

    def on_down(self, message: Down, sender: int, io: Io) -> None:
        if not self._is_current(message.stage, io):
            return
        if message.round > self.round:
            self.early += ((sender, message),)
            return
        self.values += (Value(sender, message.least),)
        if len(self.values) == len(self.above):
            if self.below:
                self._send_down(min(value.least for value in self.values), io)
            else:
                self._answer(io)

    def on_up(self, message: Up, sender: int, io: Io) -> None:
        if not self._is_current(message.stage, io):
            return
        if message.round > self.round:
            self.early += ((sender, message),)
            return
        self.answers += (Answer(sender, message.yes, message.prune),)
        if len(self.answers) == len(self.below):
            self._answer(io)

    def _answer(self, io: Io) -> None:
        """Answer the processes above, turn and drop edges according to the answers, and begin the next round."""
        was_source = not self.above
        above = {answer.sender for answer in self.answers if not answer.prune and not answer.yes}  # turned round
        below = {answer.sender for answer in self.answers if not answer.prune and answer.yes}
        all_below_agree = self._passes_yes()
        values = sorted(self.values, key=lambda value: value.sender)
        keepers: dict[int, int] = {}  # for each value the sender whose edge is kept
        for value in values:
            keepers.setdefault(value.least, value.sender)
        is_useless = not above and not below and len(keepers) == 1
        for value in values:
            yes = all_below_agree and value.least == min(keepers)
            prune = is_useless or value.sender != keepers[value.least]
            io.send(value.sender, Up(yes, prune, self.round, self.stage or ()))
            if not prune:
                (above if yes else below).add(value.sender)
        self.pruned |= (self.above | self.below) - above - below
        self.above, self.below = frozenset(above), frozenset(below)
        if above or below:
            self._next_round(io)
        elif was_source:
            self._announce(io.me, io)

    def _passes_yes(self) -> bool:
        return all(answer.yes or answer.prune for answer in self.answers)

    def on_elected(self, message: Elected, sender: int, io: Io) -> None:
        if self._is_current(message.stage, io) and self.taking_part:
            self._announce(message.leader, io, sender)

    def _announce(self, leader: int, io: Io, told_by: int | None = None) -> None:
        self._decide(leader, io)
        for peer in io.neighbours:
            if peer != told_by and peer not in self.suspected:
                io.send(peer, Elected(leader, self.stage or ()))

    def _forget(self) -> None:
        self.round = 0
        self.unnamed = self.above = self.below = self.pruned = frozenset()
        self.values, self.answers, self.early = (), (), ()

    def status(self) -> str:
        if self.leader is not None and not self.taking_part:
            return f"leader is {named(self.leader)}"
        if not self.round:
            return ""
        if not self.above and not self.below:
            return "pruned"
        kind = "internal" if self.above and self.below else "sink" if self.above else "source"
        return f"{kind}, round {self.round}"

    def view(self) -> View | None:
        if not self.round:
            return None
        is_source = bool(self.below) and not self.above
        return View(active=is_source, points_to=tuple(sorted(self.below)), pruned=tuple(sorted(self.pruned)))
