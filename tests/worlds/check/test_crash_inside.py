"""Crashes inside a handler: protocols that are right with crashes between handlers and wrong with one inside."""

from __future__ import annotations

import pytest

from vez.catalogue.algorithms import find
from vez.core import Durable, Election, Io, Message, Process
from vez.errors import Misuse, NotDeterministic
from vez.judge.properties import Status, judge
from vez.worlds.check import Budget, Configuration, Report, check
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import dumps, loads


class Ask(Message):
    pass


class Vote(Message):
    pass


class Lead(Message):
    pass


class SendsFirst(Election):
    """A majority elects; a vote leaves before it is durable."""

    name = "sends-first"
    voted: Durable[int | None] = None
    votes: frozenset[int] = frozenset()

    def on_elect(self, io: Io) -> None:
        if self.voted is None:
            self.voted = io.me
            self.votes = frozenset({io.me})
            io.broadcast(Ask())

    def on_ask(self, message: Ask, sender: int, io: Io) -> None:
        if self.voted is None:
            io.send(sender, Vote())
            self.voted = sender

    def on_vote(self, message: Vote, sender: int, io: Io) -> None:
        self.votes |= {sender}
        if len(self.votes) == 2:
            io.elected(io.me, 1)

    def on_recover(self, io: Io) -> None:
        pass


class StoresFirst(SendsFirst):
    """As `SendsFirst`, but the vote is stored before it is sent."""

    name = "stores-first"

    def on_ask(self, message: Ask, sender: int, io: Io) -> None:
        if self.voted is None:
            self.voted = sender
            io.send(sender, Vote())


class AllHear(Election):
    """The hub tells everybody that it leads. After its death, processes that heard of it name 3, and the others name
    2."""

    name = "all-hear"
    heard: bool = False
    hub_died: bool = False

    def on_elect(self, io: Io) -> None:
        if io.me == io.hub:
            io.broadcast(Lead())
            io.elected(io.me)

    def on_lead(self, message: Lead, sender: int, io: Io) -> None:
        self.heard = True
        io.elected(3 if self.hub_died else sender)

    def on_suspect(self, peer: int, io: Io) -> None:
        if peer == io.hub:
            self.hub_died = True
            io.elected(3 if self.heard else 2)


def judged(algorithm: type[Process], *properties: str, n: int = 3, **faults: int) -> Report:
    scenario = Scenario(algorithm=algorithm.name, n=n)
    return check(Configuration(scenario, algorithm, budget=Budget(**faults)), properties)


def test_a_vote_that_is_durable_too_late_is_found_only_inside_the_handler() -> None:
    assert not judged(SendsFirst, "uniqueness", crashes=1, recoveries=1).broken
    report = judged(SendsFirst, "uniqueness", crashes_inside=1, recoveries=1)
    assert report.broken == ("uniqueness",)
    assert "1 crash inside a handler" in report.configuration
    words = " / ".join(report.counterexamples["uniqueness"].words)
    assert "it crashes inside the handler, after action 1: it has sent Vote to process" in words
    assert not judged(StoresFirst, "uniqueness", crashes_inside=1, recoveries=1).broken


def test_half_a_broadcast_is_found() -> None:
    assert not judged(AllHear, "agreement", crashes=1).broken
    report = judged(AllHear, "agreement", crashes_inside=1)
    assert report.broken == ("agreement",)
    crash = report.counterexamples["agreement"].scenario.crash[0]
    assert (crash.process, crash.after_actions) == (1, 1)


@pytest.mark.parametrize(
    ("algorithm", "name", "faults"),
    [
        (SendsFirst, "uniqueness", {"crashes_inside": 1, "recoveries": 1}),
        (AllHear, "agreement", {"crashes_inside": 1}),
    ],
)
def test_the_run_breaks_in_the_simulator_too(algorithm: type[Process], name: str, faults: dict[str, int]) -> None:
    example = judged(algorithm, name, **faults).counterexamples[name]
    trace = simulate(loads(dumps(example.scenario)), algorithm).trace
    assert trace is not None
    assert judge(trace, only=[name])[0].status is Status.BROKEN


class Starter(Election):
    """Sends as soon as it starts."""

    name = "starter"

    def on_start(self, io: Io) -> None:
        if io.me == 1:
            io.elected(1)
            io.broadcast(Lead())

    def on_elect(self, io: Io) -> None:
        pass

    def on_lead(self, message: Lead, sender: int, io: Io) -> None:
        io.elected(sender)


def test_a_process_may_crash_inside_on_start() -> None:
    report = judged(Starter, "agreement", crashes_inside=1)
    assert report.broken == ("agreement",)
    assert report.counterexamples["agreement"].scenario.crash[0].at_ms == 0


def test_only_a_victim_crashes() -> None:
    scenario = Scenario(algorithm=AllHear.name, n=3)
    chosen = Configuration(scenario, AllHear, budget=Budget(crashes_inside=1), victims=(2,))
    assert not check(chosen, ("agreement",)).broken


def test_symmetry_is_refused() -> None:
    scenario = Scenario(algorithm="token-ring", n=3)
    chosen = Configuration(scenario, find("token-ring"), budget=Budget(crashes_inside=1))
    with pytest.raises(Misuse, match="in which order it sends"):
        check(chosen, symmetry=True)


class InOrderOfASet(Election):
    """Announces the leader in the order of a set. A crash between two messages makes this order visible."""

    name = "in-order-of-a-set"
    known: frozenset[int] = frozenset()

    def on_elect(self, io: Io) -> None:
        self.known = frozenset(io.peers)
        io.send(io.me, Lead())

    def on_lead(self, message: Lead, sender: int, io: Io) -> None:
        for peer in self.known if sender == io.me else ():
            io.send(peer, Lead())


def test_the_order_of_a_set_matters_if_a_crash_may_fall_between_two_messages() -> None:
    scenario = Scenario(algorithm=InOrderOfASet.name, n=3)
    assert check(Configuration(scenario, InOrderOfASet), ("uniqueness",)).states > 1
    chosen = Configuration(scenario, InOrderOfASet, budget=Budget(crashes_inside=1))
    with pytest.raises(NotDeterministic, match="on_lead of process"):
        check(chosen, ("uniqueness",))
