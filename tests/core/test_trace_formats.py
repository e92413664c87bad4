"""Trace format 2 records what a validation needs. Format 1 is still judged and drawn as by the vez that wrote it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vez.cli.app import run as run_command
from vez.core import Durable, Election, Io, Message, Parameter
from vez.core.trace import (
    INTERNAL,
    AnyEvent,
    Chose,
    Crashed,
    Delivered,
    Fired,
    Recovered,
    Sent,
    Started,
    Stored,
    TimerCancelled,
    TimerSet,
    Trace,
)
from vez.core.trace_file import decode, load
from vez.draw import FORMATS
from vez.errors import BadData
from vez.study.report import report
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Crash, Elect

DATA = Path(__file__).parents[1] / "data" / "traces"
OLD = ("lease", "bully", "yoyo", "partition", "deadlock")


@pytest.mark.parametrize("name", OLD)
def test_format_1_is_judged_and_drawn_as_before(name: str, golden: Callable[[Path, str], None]) -> None:
    raw = (DATA / f"format1-{name}.jsonl").read_bytes()
    assert b'"vez_trace":1,' in raw.splitlines()[0]
    found = report(decode(raw, name))
    drawn = FORMATS["text"](found.trace, ()) + "".join(f"{one.name}: {one.status}\n" for one in found.verdicts)
    golden(DATA / f"format1-{name}.txt", drawn)
    assert "sequenceDiagram" in FORMATS["mermaid"](found.trace, found.verdicts)
    assert "<svg" in FORMATS["svg"](found.trace, found.verdicts)
    assert "<html" in FORMATS["html"](found.trace, found.verdicts)


@pytest.mark.parametrize("name", OLD)
def test_format_1_becomes_format_2(name: str, tmp_path: Path) -> None:
    old = load(DATA / f"format1-{name}.jsonl")
    assert old.header.vez_trace == 2
    assert old.header.unseen == ("started", "timers", "choices", "stored", "names")
    senders = {event.process for event in old if isinstance(event, Sent)}
    for sender in senders:
        numbers = [event.number for event in old if isinstance(event, Sent) and event.process == sender]
        assert numbers == list(range(1, len(numbers) + 1))
    new = tmp_path / "new.jsonl"
    new.write_bytes(old.to_bytes())
    assert load(new) == old


def test_show_reads_format_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["show", str(DATA / "format1-lease.jsonl")]) == 1
    assert "exclusion broken: processes 2 and 3" in capsys.readouterr().out


HEAD = b'{"vez_trace":%d,"algorithm":"x","role":"other","ids":[1,2],"topology":"complete"}\n'


@pytest.mark.parametrize(
    ("version", "line", "complaint"),
    [
        (1, b'{"event":"delivered","at":1,"process":2,"number":7}', "line 2: message 7 was never sent"),
        (2, b'{"event":"delivered","at":1,"process":2,"number":7}', "line 2: .*missing required field `sender`"),
        (2, b'{"event":"delivered","at":1,"process":2,"sender":1,"number":7}', "process 1 never sent a message 7"),
        (2, b'{"event":"delivered","at":1,"process":2,"sender":9,"number":7}', "there is no process 9"),
        (3, b"", "format 3; this vez reads formats 1 to 2"),
        (0, b"", "format 0; this vez reads formats 1 to 2"),
    ],
)
def test_what_makes_no_sense_is_refused(version: int, line: bytes, complaint: str) -> None:
    with pytest.raises(BadData, match=complaint):
        decode(HEAD % version + line + b"\n", "made up")


class Ask(Message):
    term: int


class Storing(Election):
    """Stores a term, sets, replaces and cancels timers, chooses."""

    pace_ms: Parameter[float] = 2.0
    term: Durable[int] = 0
    known: frozenset[int] = frozenset({3, 1})

    def on_elect(self, io: Io) -> None:
        io.set_timer("wait", self.pace_ms)
        io.set_timer("other", 50)
        io.broadcast(Ask(self.term + io.choose((1, 2, 3))))
        self.term += 1

    def on_ask(self, message: Ask, sender: int, io: Io) -> None:
        io.elected(None, message.term)
        io.cancel_timer("other")

    def on_timer_wait(self, io: Io) -> None: ...

    def on_timer_other(self, io: Io) -> None: ...


def run(*, debug: bool = False) -> Trace:
    scenario = Scenario(
        algorithm="storing", n=3, parameters={"pace_ms": 3}, initial={"2": {"term": 5}}, elect=(Elect(process=2),),
        crash=(Crash(process=2, at_ms=10, recover_ms=12),),
    )  # fmt: skip
    trace = simulate(scenario, Storing, debug=debug).trace
    assert trace is not None
    return trace


def of(trace: Trace, *kinds: type[Any]) -> list[AnyEvent]:
    return [event for event in trace if isinstance(event, kinds)]


@pytest.mark.parametrize("debug", [False, True])
def test_format_2_records_what_validation_needs(debug: bool) -> None:
    trace = run(debug=debug)
    assert trace.header.vez_trace == 2
    fields = {"term": 0, "known": [1, 3]}
    assert of(trace, Started) == [
        Started(0, 1, {"pace_ms": 3.0}, fields),
        Started(0, 2, {"pace_ms": 3.0}, {**fields, "term": 5}),
        Started(0, 3, {"pace_ms": 3.0}, fields),
    ]
    assert of(trace, TimerSet) == [TimerSet(0, 2, "wait", 3000), TimerSet(0, 2, "other", 50_000)]
    assert of(trace, TimerCancelled) == [TimerCancelled(1000, 1, "other"), TimerCancelled(1000, 3, "other")]
    assert [(event.process, event.options) for event in trace if isinstance(event, Chose)] == [(2, 3)]
    assert of(trace, Stored) == [Stored(0, 2, {"term": 6})]
    assert of(trace, Fired, Crashed, Recovered) == [Fired(3000, 2, "wait"), Crashed(10_000, 2), Recovered(12_000, 2)]
    assert decode(trace.to_bytes(), "copy") == trace


def test_what_is_stored_stands_before_the_messages_of_the_handler() -> None:
    events = run().events
    stored = next(index for index, event in enumerate(events) if isinstance(event, Stored))
    sent = [index for index, event in enumerate(events) if isinstance(event, Sent)]
    assert stored < min(sent)


def test_messages_are_numbered_by_sender() -> None:
    trace = simulate(Scenario(algorithm="storing", n=3), Storing).trace
    assert trace is not None
    assert [event.message for event in trace if isinstance(event, Sent)] == [
        (sender, number) for sender in (1, 2, 3) for number in (1, 2)
    ]
    assert {event.message for event in trace if isinstance(event, Delivered)} == set(trace.messages())


def test_pictures_leave_internal_events_out() -> None:
    trace = run()
    plain = Trace(trace.header, tuple(event for event in trace if not isinstance(event, INTERNAL)))
    for kind in FORMATS.values():
        assert kind(trace, ()) == kind(plain, ())
