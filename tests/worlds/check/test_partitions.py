"""Partitions: channels are cut and heal at any moment; a cut channel loses what is sent and what arrives."""

from __future__ import annotations

import pytest

from vez.catalogue.algorithms import find
from vez.core import Assumption, Election, Io, Message, Process
from vez.core.trace import Cut, Healed, Lost
from vez.errors import Misuse
from vez.judge.properties import Status, judge
from vez.worlds.check import Budget, Configuration, Report, check
from vez.worlds.check.model.semantics import Model
from vez.worlds.check.model.state import State
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Partition, dumps, loads

TO_2, TO_1 = Partition(one_way=((1, 2),)), Partition(one_way=((2, 1),))


class Hello(Message):
    number: int


class Twice(Election):
    """The hub announces twice that it leads: one of the messages may be lost, but not both."""

    name = "twice"

    def on_elect(self, io: Io) -> None:
        if io.me == io.hub:
            io.elected(io.me)
            io.broadcast(Hello(1))
            io.broadcast(Hello(2))

    def on_hello(self, message: Hello, sender: int, io: Io) -> None:
        io.elected(sender)


def asked(algorithm: type[Process], *partition: Partition, n: int = 2, **faults: int) -> Configuration:
    scenario = Scenario(algorithm=algorithm.name, n=n, partition=partition)
    return Configuration(scenario, algorithm, budget=Budget(**faults))


def judged(algorithm: type[Process], name: str, *partition: Partition, n: int = 2, **faults: int) -> Report:
    return check(asked(algorithm, *partition, n=n, **faults), (name,))


def test_a_partition_loses_more_than_one_message() -> None:
    assert not judged(Twice, "agreement", losses=1).broken
    report = judged(Twice, "agreement", partitions=1)
    assert report.broken == ("agreement",)
    assert "1 partition" in report.configuration
    assert report.counterexamples["agreement"].words[0] == "process 1 is cut off from process 2"


def test_a_partition_may_be_one_way() -> None:
    assert judged(Twice, "agreement", TO_2, partitions=1).broken
    report = judged(Twice, "agreement", TO_1, partitions=1)
    assert not report.broken
    assert "only 2>1 may be cut" in report.configuration


def test_there_are_two_leaders_in_a_partition() -> None:
    bully = find("bully")
    assert not judged(bully, "uniqueness").broken
    example = judged(bully, "uniqueness", partitions=1).counterexamples["uniqueness"]
    trace = simulate(loads(dumps(example.scenario)), bully).trace
    assert trace is not None
    assert judge(trace, only=["uniqueness"])[0].status is Status.BROKEN
    assert any(isinstance(event, Cut) for event in trace)


def after(model: Model, state: State, kind: str) -> State:
    return next(step.state for step in model.steps(state) if step.kind == kind)


def kinds(model: Model, state: State) -> set[str]:
    return {step.kind for step in model.steps(state)}


def test_what_arrives_while_a_channel_is_cut_is_lost_and_what_waits_is_not() -> None:
    model = Model(asked(Twice, TO_2, partitions=1))
    sent = after(model, model.initial()[0], "elect")
    assert kinds(model, sent) == {"deliver", "elect", "cut"}
    cut = after(model, sent, "cut")
    assert kinds(model, cut) == {"sever", "elect", "heal"}
    assert {step.kind: step.fair is not None for step in model.steps(cut)} == {
        "sever": True, "elect": True, "heal": False,
    }  # fmt: skip
    one_lost = after(model, cut, "sever")
    assert [len(content) for content in one_lost.channels] == [0, 1, 0, 0]
    healed = after(model, one_lost, "heal")
    assert kinds(model, healed) == {"deliver", "elect"}  # the budget is spent


def test_what_is_sent_while_a_channel_is_cut_is_lost() -> None:
    model = Model(asked(Twice, TO_2, partitions=1))
    told = after(model, after(model, model.initial()[0], "cut"), "elect")
    assert not any(told.channels)


class SecondWithoutFirst(Twice):
    """Wrong only if the second message arrives and the first does not."""

    name = "second-without-first"
    assumes = (Assumption.FIFO,)
    first: bool = False

    def on_hello(self, message: Hello, sender: int, io: Io) -> None:
        io.elected(sender if message.number == 1 or self.first else io.me)
        self.first = True


def test_a_cut_and_a_heal_are_replayed() -> None:
    """The first message is lost on arrival, the channel heals, and the second arrives."""
    example = judged(SecondWithoutFirst, "uniqueness", partitions=1).counterexamples["uniqueness"]
    assert [step.kind for step in example.path.steps] == ["elect", "cut", "sever", "heal", "deliver"]
    assert [event.reason for event in example.trace if isinstance(event, Lost)] == ["partition"]
    assert any(isinstance(event, Healed) for event in example.trace)


class Alone(Election):
    """Processes 1 and 2 lead if they received nothing, neither in the first round nor in the second."""

    name = "alone"
    assumes = (Assumption.NO_CRASHES, Assumption.KNOWN_BOUNDS)
    heard: bool = False
    rounds: int = 0

    def longest_delay_ms(self) -> float:
        return 4.0

    def on_start(self, io: Io) -> None:
        io.set_timer("round", 4)

    def on_elect(self, io: Io) -> None:
        pass

    def on_hello(self, message: Hello, sender: int, io: Io) -> None:
        self.heard = True

    def on_timer_round(self, io: Io) -> None:
        if self.rounds < 2:
            io.broadcast(Hello(self.rounds))
            io.set_timer("round", 8)
        elif not self.heard and io.me != 3:
            io.elected(io.me)
        self.rounds += 1


def test_partitions_overlap() -> None:
    """Processes 1 and 2 receive nothing only if each is cut off all the time, also from the other."""
    apart = (Partition(groups=((1,), (2, 3))), Partition(groups=((2,), (1, 3))))
    assert not judged(Alone, "uniqueness", *apart, n=3, partitions=1).broken
    example = judged(Alone, "uniqueness", *apart, n=3, partitions=2).counterexamples["uniqueness"]
    assert [step.kind for step in example.path.steps if step.kind in ("cut", "heal")] == ["cut", "cut"]
    assert simulate(example.scenario, Alone).trace is not None


def test_each_of_two_partitions_heals_by_itself() -> None:
    model = Model(asked(Twice, TO_2, TO_1, partitions=2))
    both = after(model, after(model, model.initial()[0], "cut"), "cut")
    assert model.cuts[both.partition] == {1, 2}
    healed = [step.state for step in model.steps(both) if step.kind == "heal"]
    assert [model.cuts[state.partition] for state in healed] == [{2}, {1}]
    assert not any(step.kind == "cut" for state in healed for step in model.steps(state))


def test_too_many_partitions_at_once_are_refused() -> None:
    with pytest.raises(Misuse, match="sets"):
        Model(asked(Twice, n=5, partitions=6))


def test_every_split_is_cut_both_ways_and_one_way() -> None:
    assert len(asked(Twice, n=3, partitions=1).cuts) == 9
    assert len(asked(Twice, n=4, partitions=1).cuts) == 21
    assert len(asked(find("chang-roberts"), n=3, partitions=1).cuts) == 6  # channels that do not exist are not cut


def test_symmetry_is_refused() -> None:
    with pytest.raises(Misuse, match="partition"):
        check(asked(find("token-ring"), n=3, partitions=1), symmetry=True)


def test_a_partition_that_nothing_may_cause_is_refused() -> None:
    with pytest.raises(Misuse, match="partitions"):
        asked(Twice, TO_2)
