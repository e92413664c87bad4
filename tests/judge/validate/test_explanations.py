"""If something was not recorded, the validation follows every explanation and shows all of them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.runs import trace_of
from vez.catalogue.load import load_algorithm
from vez.core import Durable, Election, Io, Message
from vez.core.trace import (
    INTERNAL,
    AnyEvent,
    Chose,
    Crashed,
    Elected,
    Noted,
    Promises,
    Recovered,
    Sent,
    Stored,
    Trace,
)
from vez.core.trace_file import load
from vez.judge.validate import Answer, validate
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Choice, Crash, Elect

DATA = Path(__file__).parents[2] / "data" / "traces"


class Draw(Message):
    """A drawn number, halved."""

    half: int


class Lottery(Election):
    """Draws a number, tells half of it, and names a leader by the number later."""

    drawn: int = 0
    term: Durable[int] = 0

    def on_elect(self, io: Io) -> None:
        self.drawn = io.choose((1, 2, 3))
        self.term += 1
        io.broadcast(Draw(self.drawn // 2))

    def on_draw(self, message: Draw, sender: int, io: Io) -> None:
        if self.drawn:
            io.elected(self.drawn, self.term)

    def on_recover(self, io: Io) -> None:
        io.note(f"term {self.term}")


def lottery(**changes: object) -> Trace:
    starters = (Elect(process=1), Elect(process=2))
    choices = (Choice(process=1, number=1, index=1), Choice(process=2, number=1, index=2))
    return trace_of(
        simulate(Scenario(algorithm="lottery", n=3, elect=starters, choice=choices).but(**changes), Lottery)
    )


def hidden(trace: Trace) -> Trace:
    """The trace without internal events, as a world leaves it that does not record them."""
    header = msgspec.structs.replace(
        trace.header, unseen=("started", "timers", "choices", "stored"), promises=Promises()
    )
    return Trace(header, tuple(event for event in trace if not isinstance(event, INTERNAL)))


def without(trace: Trace, *kinds: type[AnyEvent]) -> Trace:
    return Trace(trace.header, tuple(event for event in trace if not isinstance(event, kinds)))


def test_choices_that_were_not_recorded_are_found() -> None:
    found = validate(hidden(lottery()), Lottery)
    assert found.answer is Answer.POSSIBLE
    assert not found.open, "whom each names shows what it drew"


def test_explanations_that_stay_open_are_listed() -> None:
    """Half of 2 and half of 3 are alike, and nobody is named any more."""
    found = validate(without(hidden(lottery()), Elected), Lottery)
    assert found.answer is Answer.IMPOSSIBLE
    silent = hidden(lottery(until_ms=0.5))
    found = validate(silent, Lottery)
    assert found.answer is Answer.POSSIBLE
    assert found.open == dict.fromkeys(
        (1, 2), (("on_elect at 0 ms chose option 2 of 3",), ("on_elect at 0 ms chose option 3 of 3",))
    )


def test_if_none_is_left_all_are_shown_not_only_the_longest() -> None:
    trace = hidden(lottery())
    wrong = [msgspec.structs.replace(one, leader=1) if isinstance(one, Elected) else one for one in trace]
    found = validate(Trace(trace.header, tuple(wrong)), Lottery)
    assert found.finding is not None
    named = [one.guesses[-1].partition("chose ")[2] for one in found.finding.explanations]
    assert sorted(named) == ["option 1 of 3", "option 2 of 3", "option 3 of 3"]
    ended = [one.index for one in found.finding.explanations]
    assert ended == sorted(ended, reverse=True)
    assert len(set(ended)) == 2, "one explanation ended at the message, two at the leader"


def test_more_explanations_than_can_be_followed_are_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vez.judge.validate.replica.MAX_CANDIDATES", 1)
    found = validate(hidden(lottery(until_ms=0.5)), Lottery)
    assert found.answer is Answer.UNDECIDED
    assert "more than" in found.undecided


def killed(trace: Trace, keep: int, fields: dict[str, int]) -> Trace:
    """The run of a real process that was killed after some events of its first step."""
    header = msgspec.structs.replace(trace.header, promises=Promises(once=True, fifo=True))
    own = [
        index for index, event in enumerate(trace) if event.process == 1 and isinstance(event, Stored | Chose | Sent)
    ]
    cut = set(own[keep:])
    gone = {
        (event.process, event.number) for index, event in enumerate(trace) if index in cut and isinstance(event, Sent)
    }
    events = [
        msgspec.structs.replace(event, fields=fields) if isinstance(event, Recovered) else event
        for index, event in enumerate(trace)
        if index not in cut and getattr(event, "message", None) not in gone
    ]
    return Trace(header, tuple(events))


@pytest.mark.parametrize("keep", range(5))
def test_a_process_that_was_killed_inside_a_handler(keep: int) -> None:
    """`keep` events of the killed process are in the trace: the write, a choice, two messages. Its field was stored."""
    crash = Crash(process=1, at_ms=0.5, recover_ms=9)
    trace = lottery(elect=(Elect(process=1),), crash=(crash,))
    answers = {
        str(fields): validate(killed(trace, keep, fields), Lottery).answer
        for fields in ({"term": 1}, {}, {"term": 0}, {"term": 7})
    }
    assert answers == {
        "{'term': 1}": Answer.POSSIBLE,
        "{}": Answer.POSSIBLE,
        "{'term': 0}": Answer.IMPOSSIBLE,  # its note says that it found 1
        "{'term': 7}": Answer.IMPOSSIBLE,
    }


@pytest.mark.parametrize(("keep", "answer"), [(0, Answer.POSSIBLE), (1, Answer.IMPOSSIBLE), (2, Answer.IMPOSSIBLE)])
def test_a_write_that_was_recorded_is_not_undone_by_a_crash(keep: int, answer: Answer) -> None:
    """The first event is the write; a process killed before it may have stored its field or not."""
    trace = killed(lottery(elect=(Elect(process=1),), crash=(Crash(process=1, at_ms=0.5, recover_ms=9),)), keep, {})
    rolled = [msgspec.structs.replace(one, text="term 0") if isinstance(one, Noted) else one for one in trace]
    rolled = [msgspec.structs.replace(one, fields={"term": 0}) if isinstance(one, Recovered) else one for one in rolled]
    assert validate(Trace(trace.header, tuple(rolled)), Lottery).answer is answer


def test_without_the_promise_whole_steps_are_required() -> None:
    crash = Crash(process=1, at_ms=0.5, recover_ms=9)
    trace = lottery(elect=(Elect(process=1),), crash=(crash,))
    last = max(index for index, event in enumerate(trace) if isinstance(event, Sent))
    assert any(isinstance(event, Crashed) for event in trace)
    events = [event for event in trace.events if getattr(event, "message", None) != trace.events[last].message]  # type: ignore[union-attr]
    assert validate(Trace(trace.header, tuple(events)), Lottery).answer is Answer.IMPOSSIBLE


@pytest.mark.parametrize("name", ["lease", "bully", "yoyo", "partition", "deadlock"])
def test_format_1_says_what_it_cannot_see(name: str) -> None:
    trace = load(DATA / f"format1-{name}.jsonl")
    found = validate(trace, load_algorithm(trace.header.algorithm))
    assert found.answer is Answer.POSSIBLE, found.finding
    words = " ".join(found.unseen)
    for kind in ("how the processes started", "timers", "what handlers chose", "what was stored", "promised"):
        assert kind in words
