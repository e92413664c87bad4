"""Partial-order reduction of random protocols, which do not follow the structure of textbook algorithms."""

from __future__ import annotations

import pytest

from tests.worlds.check.test_reduction import ends_of
from vez.core import Election, Io, Message, Parameter, Ring
from vez.core.assumptions import Property
from vez.worlds.check import Configuration, Limits
from vez.worlds.check.liveness.graph import Graph
from vez.worlds.check.liveness.lassos import Liveness
from vez.worlds.check.model.observers import Watch
from vez.worlds.check.model.semantics import Model
from vez.worlds.check.search.breadth_first import Search
from vez.worlds.sim.scenario import Network, Scenario

MOST_STATES = 20_000


class Note(Message):
    """Its effect depends on its kind. It is sent on while it has hops left."""

    kind: int
    hops: int


class Drawn(Election):
    """The effect of every kind of message is drawn from the seed; many effects commute, and many do not."""

    name = "drawn"
    seed: Parameter[int] = 0
    value: int = 0
    leads: bool = False

    def on_elect(self, io: Io) -> None:
        self._act(self._draw(5, io.me, 7), io)
        for turn in range(self._draw(6, io.me, 3)):
            self._send(self._draw(7 + turn, io.me, 4), 1 + self._draw(8, turn, 2), io)

    def on_note(self, message: Note, sender: int, io: Io) -> None:
        self._act(self._draw(1, message.kind, 7), io)
        if message.hops:
            self._send(self._draw(2, message.kind, 4), message.hops - 1, io)

    def _act(self, action: int, io: Io) -> None:
        if action == 0:
            self.value = (self.value + 1) % 3
        elif action == 1:
            self.value = max(self.value, 2)
        elif action == 2:
            self.value = 1 - min(self.value, 1)
        elif action == 3 and self.value and not self.leads:
            self.leads = True
            io.elected(io.me)
        elif action == 4:
            io.elected(min(io.peers))
        elif action == 5:
            self._send(self.value, 0, io)

    def _send(self, kind: int, hops: int, io: Io) -> None:
        others = io.neighbours if self._draw(3, kind, 2) else (io.right,)
        for peer in others[: 1 + self._draw(4, kind, 2)]:
            io.send(peer, Note(kind, hops))

    def _draw(self, purpose: int, key: int, most: int) -> int:
        mixed = (self.seed * 7919 + purpose * 104729 + key * 1299709 + 12345) * 2654435761
        return (mixed >> 13) % 1009 % most


class DrawnOnARing(Drawn):
    """`Drawn` on a ring, where one channel leads to each."""

    name = "drawn-on-a-ring"
    topology = Ring

    def _send(self, kind: int, hops: int, io: Io) -> None:
        io.send(io.right, Note(kind, hops))


class DrawnForEver(DrawnOnARing):
    """Messages go on for ever and leaders may resign, so that runs are endless and violations pass."""

    name = "drawn-for-ever"

    def on_elect(self, io: Io) -> None:
        self._act(self._draw(5, io.me, 5), io)
        if self._draw(6, io.me, 2):
            self._send(self._draw(7, io.me, 3), 0, io)

    def on_note(self, message: Note, sender: int, io: Io) -> None:
        self._act(self._draw(1, message.kind, 5), io)
        if message.kind == self._draw(9, io.me, 3):
            self.leads = False
        self._send(self._draw(2, message.kind + io.me, 3), 0, io)


@pytest.mark.parametrize("fifo", [True, False])
@pytest.mark.parametrize("n", [2, pytest.param(3, marks=pytest.mark.long)])
def test_every_violation_survives_in_endless_runs(n: int, fifo: bool) -> None:
    saved = broken = endless = 0
    for seed in range(25):
        scenario = Scenario(algorithm="drawn-for-ever", n=n, parameters={"seed": seed}, network=Network(fifo=fifo))
        full, part = _both(Configuration(scenario, DrawnForEver))
        if part is None:
            continue
        assert ends_of(full) == ends_of(part), seed
        assert full.broken.keys() == part.broken.keys(), seed
        assert _endless(full) == Liveness(part).may_be_endless, seed
        saved += part.packed.store.count < full.packed.store.count
        broken += bool(full.broken)
        endless += _endless(full)
    assert min(saved, endless) > 10
    assert broken


@pytest.mark.long
@pytest.mark.parametrize("fifo", [True, False])
@pytest.mark.parametrize(("algorithm", "n"), [(Drawn, 3), (DrawnOnARing, 3), (DrawnOnARing, 4)])
def test_every_end_and_every_violation_survives(algorithm: type[Drawn], n: int, fifo: bool) -> None:
    saved = compared = broken = 0
    for seed in range(25):
        scenario = Scenario(algorithm=algorithm.name, n=n, parameters={"seed": seed}, network=Network(fifo=fifo))
        full, part = _both(Configuration(scenario, algorithm))
        if part is None:
            continue
        assert ends_of(full) == ends_of(part), seed
        assert full.broken.keys() == part.broken.keys(), seed
        assert _endless(full) == Liveness(part).may_be_endless, seed
        assert part.packed.store.count <= full.packed.store.count, seed
        compared += 1
        broken += bool(full.broken)
        saved += part.packed.store.count < full.packed.store.count
    assert min(compared, saved) > 12
    assert 0 < broken < compared


def _both(configuration: Configuration) -> tuple[Search, Search | None]:
    """The whole search and the reduced one; None for the reduced one if the whole is too large."""
    properties = (Property.UNIQUENESS, Property.STABILITY)
    whole = Search(_watched(configuration), properties, limits=Limits(states=MOST_STATES)).run()
    return whole, None if whole.stopped else Search(_watched(configuration), properties, reduce=True).run()


def _watched(configuration: Configuration) -> Model:
    return Model(configuration, Watch((Property.STABILITY,)))


def _endless(search: Search) -> bool:
    return bool(len(Graph.of(search).core().source))
