"""Messages go where the topology has channels, and an algorithm that needs others is refused before the run."""

from __future__ import annotations

import re

import pytest

from tests.runs import trace_of
from vez.catalogue.algorithms import ALGORITHMS
from vez.core import Election, Io, Message, Ring
from vez.core import trace as events
from vez.core.topology import TOPOLOGIES, BidirectionalRing, Topology
from vez.errors import Misuse, ProtocolBug
from vez.worlds.check import Budget, Configuration, check
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Crash

SHAPES = ("ring", "ring2", "star", "grid", "complete")
NEED_ALL = ("bully", "ricart-agrawala", "lamport", "maekawa", "majority", "suzuki-kasami")


def across(scenario: Scenario, topology: Topology) -> set[tuple[int, int]]:
    """The channels that the messages of a run used although the topology does not have them."""
    log = trace_of(simulate(scenario, ALGORITHMS[scenario.algorithm])).events
    used = {(event.process, event.to) for event in log if isinstance(event, events.Sent)}
    return {(one, other) for one, other in used if one != other and other not in topology.neighbours(one)}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_no_algorithm_of_the_catalogue_sends_where_there_is_no_channel(name: str, shape: str) -> None:
    ids = tuple(range(1, 7))
    scenario, topology = Scenario(algorithm=name, ids=ids, topology=shape), TOPOLOGIES[shape](ids)
    if ALGORITHMS[name].topology.first_missing(topology) is None:
        assert not across(scenario, topology)
    else:
        assert shape not in (ALGORITHMS[name].topology.name, "complete")
        with pytest.raises(Misuse, match=f"^{name} needs .* there is no channel from"):
            simulate(scenario, ALGORITHMS[name])


@pytest.mark.parametrize("shape", ["ring", "ring2", "star", "grid"])
@pytest.mark.parametrize("name", NEED_ALL)
def test_what_needs_every_channel_is_refused_elsewhere_in_simulation_and_check(name: str, shape: str) -> None:
    scenario = Scenario(algorithm=name, n=4, topology=shape)
    for record in (True, False):
        with pytest.raises(Misuse, match=rf"^{name} needs a channel between every two processes \(complete\)"):
            simulate(scenario, ALGORITHMS[name], record=record)
    with pytest.raises(Misuse, match=rf"^{name} needs a channel between every two processes"):
        Configuration(scenario, ALGORITHMS[name])


def test_a_small_ring_can_be_complete() -> None:
    assert simulate(Scenario(algorithm="bully", n=2, topology="ring"), ALGORITHMS["bully"]).leaders[1] == (2, 0)
    assert simulate(Scenario(algorithm="bully", n=3, topology="ring2"), ALGORITHMS["bully"]).leaders[1] == (3, 0)
    with pytest.raises(Misuse, match="there is no channel from 1 to 3 in the ring"):
        simulate(Scenario(algorithm="bully", n=3, topology="ring"), ALGORITHMS["bully"])


def test_yoyo_needs_channels_in_both_directions() -> None:
    with pytest.raises(Misuse, match="yoyo needs channels in both directions"):
        simulate(Scenario(algorithm="yoyo", topology="ring"), ALGORITHMS["yoyo"])
    run = simulate(Scenario(algorithm="yoyo", topology="ring2"), ALGORITHMS["yoyo"])
    assert {leader for leader, _ in run.leaders.values()} == {1}


class Hello(Message):
    pass


class Across(Election):
    """Sends to the process opposite, which is no neighbour."""

    topology = Ring

    def on_elect(self, io: Io) -> None:
        if io.me == 1:
            io.send(3, Hello())

    def on_hello(self, message: Hello, sender: int, io: Io) -> None:
        io.elected(io.me)


class Backwards(Across):
    """Answers to the left, where a ring of one direction has no channel."""

    def on_elect(self, io: Io) -> None:
        io.send(io.right, Hello())

    def on_hello(self, message: Hello, sender: int, io: Io) -> None:
        io.send(sender, Hello())


class Shouting(Across):
    def on_elect(self, io: Io) -> None:
        io.broadcast(Hello())


class AcrossBoth(Across):
    topology = BidirectionalRing


@pytest.mark.parametrize("algorithm", [Across, AcrossBoth, Backwards, Shouting])
def test_a_message_across_a_ring_is_a_bug_in_simulation_and_check(algorithm: type[Election]) -> None:
    scenario = Scenario(algorithm="x", n=5)
    with pytest.raises(ProtocolBug, match=r"sent a Hello to .*, to which it has no channel"):
        simulate(scenario, algorithm)
    report = check(Configuration(scenario, algorithm))
    assert report.broken[0] == "no_exceptions"
    assert re.search(r"sent a Hello to .*, to which it has no channel", report.verdicts[0].evidence)


class Remembering(Election):
    """Asks once for the process after a dead neighbour, and sends to it later."""

    topology = Ring
    next: int = 0

    def on_start(self, io: Io) -> None:
        self.next = io.right

    def on_suspect(self, peer: int, io: Io) -> None:
        if peer == self.next:
            self.next = io.after(peer)

    def on_elect(self, io: Io) -> None:
        io.send(self.next, Hello())

    def on_hello(self, message: Hello, sender: int, io: Io) -> None:
        io.elected(io.me)


def test_a_ring_leads_past_dead_neighbours() -> None:
    crash = (Crash(process=2, at_ms=0), Crash(process=3, at_ms=0))
    run = simulate(Scenario(algorithm="chang-roberts", n=5, crash=crash), ALGORITHMS["chang-roberts"])
    assert run.leaders == {1: (5, 0), 4: (5, 0), 5: (5, 0)}
    for name, algorithm in (("chang-roberts", ALGORITHMS["chang-roberts"]), ("x", Remembering)):
        assert not check(Configuration(Scenario(algorithm=name, n=3), algorithm, budget=Budget(crashes=1))).bugs


def test_a_graph_is_judged_message_by_message() -> None:
    """Edges are chosen by hand: raymond, which needs a tree alone, may be given that tree."""
    tree = ((1, 2), (1, 3), (2, 4), (2, 5))
    assert simulate(Scenario(algorithm="raymond", n=5, edges=tree), ALGORITHMS["raymond"]).all_served
    for record in (True, False):
        with pytest.raises(ProtocolBug, match="sent an Election to 4, to which it has no channel"):
            simulate(Scenario(algorithm="bully", n=5, edges=tree), ALGORITHMS["bully"], record=record)
