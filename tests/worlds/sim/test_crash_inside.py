"""A crash inside a handler keeps the actions that the handler had done before, in the order of the program."""

from __future__ import annotations

from tests.runs import trace_of
from vez.core import Durable, Io, Message, Process
from vez.core.trace import Chose, Crashed, Delivered, Fired, Noted, Recovered, Sent, Stored, Trace
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Crash, checked


class Ping(Message):
    number: int


class Teller(Process):
    """Process 1 does six things when its timer runs out; the others listen."""

    name = "teller"
    told: Durable[int] = 0
    other: int = 0

    def on_start(self, io: Io) -> None:
        if io.me == 1:
            io.set_timer("tell", 5)
            io.set_timer("idle", 4)

    def on_recover(self, io: Io) -> None:
        io.note(f"told {self.told}, other {self.other}")

    def on_timer_idle(self, io: Io) -> None:
        io.note("nothing to see")

    def on_timer_tell(self, io: Io) -> None:
        self.other = 7
        io.send(2, Ping(io.choose((1,))))
        self.told = 1
        io.set_timer("idle", 1)
        io.send(3, Ping(2))
        self.told = 2
        io.broadcast(Ping(3))

    def on_ping(self, message: Ping, sender: int, io: Io) -> None:
        pass


def run(after: int, at_ms: float = 5, recover_ms: float | None = 20, memory: bool = True) -> Trace:
    crash = Crash(process=1, at_ms=at_ms, recover_ms=recover_ms, memory=memory, after_actions=after)
    return trace_of(simulate(Scenario(algorithm="teller", n=3, crash=(crash,)), Teller))


def kinds(trace: Trace) -> list[str]:
    return [type(event).__name__ for event in trace if isinstance(event, Sent | Stored | Crashed)]


def test_the_handler_is_left_after_so_many_actions() -> None:
    program = ["Sent", "Stored", "Sent", "Stored", "Sent", "Sent"]
    for after in range(len(program)):
        assert kinds(run(after)) == [*program[:after], "Crashed"]


def test_durable_fields_are_as_they_were_then() -> None:
    told = [next(event.text for event in run(after) if isinstance(event, Noted) and "told" in event.text)
            for after in range(6)]  # fmt: skip
    assert told == [f"told {value}, other 0" for value in (0, 0, 1, 1, 2, 2)]


def test_what_was_sent_before_arrives() -> None:
    trace = run(3, recover_ms=None)
    assert [event.process for event in trace if isinstance(event, Delivered)] == [2, 3]


def test_the_timers_of_the_handler_die_with_it() -> None:
    assert [event.name for event in run(4) if isinstance(event, Fired)] == ["idle", "tell"]


def test_a_handler_with_fewer_actions_is_not_interrupted() -> None:
    trace = run(2, at_ms=1)
    crashed = next(event for event in trace if isinstance(event, Crashed))
    assert crashed.at == 5000
    assert any(isinstance(event, Noted) and event.text == "nothing to see" for event in trace)


def test_a_handler_never_gets_that_far() -> None:
    trace = run(6)
    assert not any(isinstance(event, Crashed | Recovered) for event in trace)
    assert len([event for event in trace if isinstance(event, Sent)]) == 4


def test_choices_of_the_handler_count_as_made() -> None:
    assert len([event for event in run(1) if isinstance(event, Chose)]) == 1


def test_the_crash_comes_too_late_for_its_recovery() -> None:
    trace = run(1, at_ms=1, recover_ms=4.5)
    assert any(isinstance(event, Crashed) for event in trace)
    assert not any(isinstance(event, Recovered) for event in trace)


def test_a_scenario_file_says_it() -> None:
    scenario = Scenario(algorithm="teller", crash=(Crash(process=1, at_ms=5, after_actions=2),))
    assert checked(scenario) == scenario
