"""Participants who stop waiting: the default of every mutex, and the overrides that take a request back."""

from __future__ import annotations

import pytest

from vez.catalogue.algorithms import ALGORITHMS, find
from vez.catalogue.mutex.ricart_agrawala import RELEASED, Reply, Request, RicartAgrawala
from vez.cli.app import run as run_command
from vez.cli.parameters.forms import WANT
from vez.core import Io, Mutex
from vez.core.trace import Entered, Left, Trace, Wanted, Withdrew
from vez.core.trace_file import decode
from vez.draw import FORMATS
from vez.errors import Misuse
from vez.judge.properties import Status, judge, measure
from vez.judge.properties.history import History
from vez.worlds.check.checker import Report, check
from vez.worlds.check.model.configuration import Budget, Configuration
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Crash, Pause, Want, Workload, dumps, loads

MUTEXES = sorted(name for name, one in ALGORITHMS.items() if issubclass(one, Mutex) and not one.wrong)
RETRACTING = ("lamport", "token-ring")


def traced(name: str, *wants: Want, algorithm: type[Mutex] | None = None, **parts: object) -> Trace:
    scenario = Scenario(algorithm=name, n=3, want=wants, **parts)  # type: ignore[arg-type]
    trace = simulate(scenario, algorithm or find(name)).trace
    assert trace is not None
    return trace


def events(trace: Trace) -> list[tuple[str, int, int]]:
    kinds = (Wanted, Withdrew, Entered, Left)
    return [(type(event).__name__, event.process, event.at) for event in trace if isinstance(event, kinds)]


LATE = (Want(process=2, inside_ms=9), Want(process=3, at_ms=0.5, inside_ms=5, withdraw_ms=4))


def test_by_default_the_request_stays_and_the_process_leaves_at_once() -> None:
    trace = traced("coordinator", *LATE)
    assert events(trace) == [
        ("Wanted", 2, 0), ("Wanted", 3, 500), ("Entered", 2, 2000), ("Withdrew", 3, 4000), ("Left", 2, 11_000),
        ("Entered", 3, 13_000), ("Left", 3, 13_000),
    ]  # fmt: skip
    assert all(verdict.status is not Status.BROKEN for verdict in judge(trace))
    found = measure(trace)
    assert (found.entries, found.waits.count) == (2, 1)
    assert decode(trace.to_bytes(), "copy") == trace


def test_a_request_that_is_taken_back_is_never_served() -> None:
    trace = traced("lamport", *LATE, Want(process=3, at_ms=30))
    assert [event.retracted for event in trace if isinstance(event, Withdrew)] == [True]
    assert [event[:2] for event in events(trace) if event[0] == "Entered"] == [("Entered", 2), ("Entered", 3)]
    starvation = next(one for one in judge(trace) if one.name == "starvation_freedom")
    assert starvation.status is Status.HOLDS_IN_RUNS
    assert "1 withdrawn" in starvation.evidence


def test_who_is_inside_or_down_or_done_does_not_withdraw() -> None:
    early = Want(process=2, inside_ms=9, withdraw_ms=4)
    assert not any(isinstance(event, Withdrew) for event in traced("coordinator", early))
    assert not any(
        isinstance(event, Withdrew) for event in traced("coordinator", *LATE, crash=(Crash(process=3, at_ms=3),))
    )
    again = (Want(process=2, inside_ms=1, withdraw_ms=6), Want(process=2, at_ms=5.5, inside_ms=1))
    assert not any(isinstance(event, Withdrew) for event in traced("coordinator", *again))


def test_who_stands_still_withdraws_later() -> None:
    trace = traced("coordinator", *LATE, pause=(Pause(process=3, at_ms=3, for_ms=4),))
    assert ("Withdrew", 3, 7000) in events(trace)


def test_a_withdrawn_request_that_nobody_serves_is_not_starvation() -> None:
    trace = traced("coordinator", *LATE, crash=(Crash(process=1, at_ms=3),))
    found = {one.name: one.status for one in judge(trace)}
    assert found["starvation_freedom"] is Status.HOLDS_IN_RUNS
    assert found["deadlock_freedom"] is Status.HOLDS_IN_RUNS
    waiting = traced("coordinator", LATE[0], Want(process=3, at_ms=0.5), crash=(Crash(process=1, at_ms=3),))
    assert {one.name: one.status for one in judge(waiting)}["starvation_freedom"] is Status.BROKEN


def test_a_withdrawn_request_is_not_overtaken_and_overtakes_nobody() -> None:
    stays = History(traced("coordinator", *LATE)).stays
    assert [(stay.process, stay.withdrawn, stay.served) for stay in stays] == [(2, False, True), (3, True, True)]
    assert History(traced("coordinator", *LATE)).bypasses == [0, 0]


@pytest.mark.parametrize("name", MUTEXES)
def test_every_mutex_keeps_its_promises_in_runs_with_withdrawals(name: str) -> None:
    algorithm, withdrawn = find(name), 0
    workload = Workload(requests=3, think_ms="uniform(0, 6)", inside_ms="uniform(1, 2)", wait_ms="uniform(0, 9)")
    for seed in range(25):
        scenario = Scenario(algorithm=name, n=4, seed=seed, workload=workload)
        run = simulate(scenario, algorithm, explain=True)
        assert run.trace is not None
        assert run.explicit is not None
        assert run.all_served
        broken = [one for one in judge(run.trace) if one.status is Status.BROKEN and one.promised]
        assert not broken, (seed, broken)
        withdrawn += sum(isinstance(event, Withdrew) for event in run.trace)
        assert simulate(run.explicit, algorithm).trace.events == run.trace.events  # type: ignore[union-attr]
    assert withdrawn > 5


def checked(algorithm: type[Mutex], n: int, *, requests: int = 1, wants: tuple[int, ...] = ()) -> Report:
    listed = tuple(Want(process=process) for process in wants)
    scenario = Scenario(algorithm=algorithm.name, n=n, want=listed)
    return check(Configuration(scenario, algorithm, requests=requests, budget=Budget(withdrawals=1)))


PROMISED = {"exclusion", "deadlock_freedom", "starvation_freedom"}


@pytest.mark.parametrize(
    ("name", "n", "requests", "wants"),
    [
        *((name, 2, 2, ()) for name in RETRACTING),
        *((name, 3, 1, (1, 1, 2)) for name in RETRACTING),
        ("token-ring", 3, 2, ()),
        pytest.param("lamport", 3, 1, (), marks=pytest.mark.long),  # 5 million states
    ],
)
def test_an_override_keeps_the_promises_in_every_run(name: str, n: int, requests: int, wants: tuple[int, ...]) -> None:
    algorithm = find(name)
    assert issubclass(algorithm, Mutex)
    assert algorithm.can_retract()
    report = checked(algorithm, n, requests=requests, wants=wants)
    assert not report.stopped
    assert not report.bugs
    assert {one.name for one in report.verdicts if one.status is Status.HOLDS} >= PROMISED


@pytest.mark.parametrize("name", ["coordinator", "ricart-agrawala", "suzuki-kasami", "naimi-trehel"])
def test_the_default_keeps_the_promises_in_every_run(name: str) -> None:
    algorithm = find(name)
    assert issubclass(algorithm, Mutex)
    assert not algorithm.can_retract()
    for n in (2, 3):
        report = checked(algorithm, n)
        assert {one.name for one in report.verdicts if one.status is Status.HOLDS} >= PROMISED


class Forgetful(RicartAgrawala):
    """Takes its request back without waiting for the replies that are under way: they count for the next request."""

    def on_withdraw(self, io: Io) -> None:
        self.state = RELEASED
        for peer in sorted(self.deferred):
            io.send(peer, Reply(self.clock))
        self.deferred = frozenset()


def test_a_wrong_override_is_caught() -> None:
    report = checked(Forgetful, 2, requests=2)
    assert "exclusion" in report.broken
    example = report.counterexamples["exclusion"]
    assert any("stops waiting" in words for words in example.words)
    assert any(want.withdraw_ms is not None for want in example.scenario.want)


class Intruding(RicartAgrawala):
    """Enters after it has withdrawn, and shows that the entry still counts against exclusion."""

    def on_withdraw(self, io: Io) -> None: ...

    can_retract = classmethod(lambda cls: False)

    def on_request(self, message: Request, sender: int, io: Io) -> None:
        io.send(sender, Reply(self.clock))  # never defers


def test_the_entry_of_a_withdrawn_process_is_judged() -> None:
    report = check(Configuration(Scenario(algorithm="x", n=2), Intruding, budget=Budget(withdrawals=2)), ("exclusion",))
    assert report.broken == ("exclusion",)


def test_only_a_mutex_has_waiters() -> None:
    with pytest.raises(Misuse, match="nobody waits"):
        Configuration(Scenario(algorithm="bully"), find("bully"), budget=Budget(withdrawals=1))
    with pytest.raises(Misuse, match="before it wants in"):
        traced("coordinator", Want(process=2, at_ms=5, withdraw_ms=4))


def test_scenario_file_and_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert WANT.convert("3@0.5+5..4", None, None) == LATE[1]
    assert WANT.convert("2@1..4", None, None) == Want(process=2, at_ms=1, withdraw_ms=4)
    scenario = Scenario(algorithm="coordinator", want=LATE)
    assert loads(dumps(scenario)) == scenario
    assert (
        run_command(["sim", "coordinator", "-n", "3", "--want", "2@0+9", "--want", "3@1+5..4", "--diagram", "text"])
        == 0
    )
    assert "stops waiting" in capsys.readouterr().out
    assert run_command(["check", "token-ring", "-n", "2", "--withdrawals", "1"]) == 0
    assert "1 withdrawal" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "words"), [("coordinator", "stops waiting"), ("lamport", "takes its request back")])
def test_pictures_show_it(name: str, words: str) -> None:
    trace = traced(name, *LATE)
    assert words in FORMATS["text"](trace, ())
    assert words in FORMATS["mermaid"](trace, ())
    assert '"e":"withdrew"' in FORMATS["html"](trace, ())
    assert "<svg" in FORMATS["svg"](trace, ())
