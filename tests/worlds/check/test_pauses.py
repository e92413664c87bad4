"""Pauses: a process does nothing for a while; its events wait, but time passes."""

from __future__ import annotations

import pytest

from tests.worlds.crosscheck.compare import difference, opinions
from tests.worlds.crosscheck.protocols import Impatient
from vez.catalogue.algorithms import find
from vez.core import Assumption, Election, Io, Message, Process
from vez.core.trace import Paused
from vez.errors import Misuse
from vez.judge.properties import Status, judge
from vez.worlds.check import Budget, Configuration, Report, check
from vez.worlds.check.model.semantics import Model
from vez.worlds.check.model.state import State
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Pause, Want, dumps, loads


def asked(algorithm: type[Process], n: int = 2, **faults: int) -> Configuration:
    return Configuration(Scenario(algorithm=algorithm.name, n=n), algorithm, budget=Budget(**faults))


def judged(algorithm: type[Process], *names: str, **faults: int) -> Report:
    return check(asked(algorithm, **faults), names)


@pytest.mark.parametrize("algorithm", [Impatient, find("coordinator-lease")], ids=lambda algorithm: algorithm.name)
def test_a_lease_runs_out_on_a_paused_holder(algorithm: type[Process]) -> None:
    n = 2 if algorithm is Impatient else 3
    assert not judged(algorithm, "exclusion", n=n).broken
    report = judged(algorithm, "exclusion", n=n, pauses=1)
    assert report.broken == ("exclusion",)
    assert "1 pause" in report.configuration
    example = report.counterexamples["exclusion"]
    trace = simulate(loads(dumps(example.scenario)), algorithm).trace
    assert trace is not None
    assert judge(trace, only=["exclusion"])[0].status is Status.BROKEN
    assert any(isinstance(event, Paused) for event in trace)


def test_the_tokens_of_a_lease_survive_a_paused_holder() -> None:
    assert not judged(find("coordinator-lease"), "fenced_exclusion", n=3, pauses=1).broken


def after(model: Model, state: State, *kinds: str) -> State:
    for kind in kinds:
        state = next(step.state for step in model.steps(state) if step.kind == kind and step.process in (1, -1))
    return state


def test_what_is_for_a_paused_process_waits_and_time_does_not() -> None:
    model = Model(asked(Impatient, pauses=1))
    entered = next(step.state for step in model.steps(model.initial()[0]) if step.process == 0 and step.kind == "want")
    paused = after(model, entered, "pause")
    told = [step for step in model.steps(paused) if step.process == 1]
    assert [(step.kind, step.fair) for step in told] == [("resume", ("resume", 1))]
    later = after(model, paused, "advance")
    assert {step.kind for step in model.steps(later) if step.process == 1} == {"resume"}
    awake = after(model, later, "resume")
    assert {step.kind for step in model.steps(awake) if step.process == 1} == {"deliver", "want"}
    assert "advance" not in {step.kind for step in model.steps(awake)}  # the message is late as it is


def test_a_pause_ends() -> None:
    """Fairness resumes every paused process: a pause alone starves nobody."""
    assert not judged(find("coordinator-lease"), "starvation_freedom", "deadlock_freedom", pauses=1).broken


def test_pauses_add_nothing_where_there_is_no_time() -> None:
    with pytest.raises(Misuse, match="may take any time"):
        asked(find("ricart-agrawala"), pauses=1)


def test_the_simulator_breaks_the_same_protocol() -> None:
    wants = (Want(process=1, at_ms=0, inside_ms=2), Want(process=2, at_ms=0, inside_ms=2))
    scenario = Scenario(algorithm="impatient", n=2, want=wants, pause=(Pause(process=1, at_ms=1, for_ms=9),))
    trace = simulate(scenario, Impatient).trace
    assert trace is not None
    assert judge(trace, only=["exclusion"])[0].status is Status.BROKEN


class Lead(Message):
    """Process 3 may lead."""


class Led(Message):
    """Process 3 leads."""


class Successor(Election):
    """Process 1 lets 3 lead, which tells 2. After a crash of 1, process 2 waits five times as long as that takes, then
    leads."""

    name = "successor"
    assumes = (Assumption.KNOWN_BOUNDS,)
    led: bool = False

    def longest_delay_ms(self) -> float:
        return 2.0

    def on_elect(self, io: Io) -> None:
        if io.me == io.hub:
            io.send(3, Lead())

    def on_lead(self, message: Lead, sender: int, io: Io) -> None:
        io.elected(io.me)
        io.send(2, Led())

    def on_suspect(self, peer: int, io: Io) -> None:
        if io.me == 2 and peer == io.hub and not self.led:
            io.set_timer("doubt", 8.0)

    def on_timer_doubt(self, io: Io) -> None:
        io.set_timer("grace", 2.0)  # so that a pause of process 2 changes nothing: what waited for it comes first

    def on_timer_grace(self, io: Io) -> None:
        io.elected(io.me)

    def on_led(self, message: Led, sender: int, io: Io) -> None:
        self.led = True
        io.cancel_timer("doubt")
        io.cancel_timer("grace")


def test_a_crash_is_reported_although_a_last_message_waits_for_a_paused_process() -> None:
    """The detector does not use the network, and messages for a paused process count as arrived."""
    assert not judged(Successor, "uniqueness", n=3, crashes=1).broken
    assert not judged(Successor, "uniqueness", n=3, pauses=1).broken
    assert judged(Successor, "uniqueness", n=3, crashes=1, pauses=1).broken == ("uniqueness",)


def test_the_explorer_agrees_on_crashes_beside_pauses() -> None:
    both = opinions(asked(Successor, n=3, crashes=1, pauses=1), 10_000)
    assert both is not None
    assert not difference(both)
