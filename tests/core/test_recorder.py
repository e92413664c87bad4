"""The recorder keeps effects in order, refuses bad arguments, and lets a host store durable fields first."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from vez.core import Durable, Election, Io, Message, Process, Star
from vez.core.effects import CancelTimer, Choose, Elect, Enter, Note, Send, SetTimer, perform
from vez.core.recorder import Recorder, Site, durable_changes
from vez.errors import ProtocolBug
from vez.worlds.check.checker import check
from vez.worlds.check.model.configuration import Configuration
from vez.worlds.sim import Scenario, simulate


class Vote(Message):
    term: int = 0


class Voter(Election):
    topology = Star
    term: Durable[int] = 0
    asked: int = 0

    def on_elect(self, io: Io) -> None:
        self.term += 1
        self.asked += 1
        io.set_timer("wait", 3)
        io.broadcast(Vote(self.term))
        io.cancel_timer("wait")
        io.note(f"chose {io.choose('abc')}")
        io.enter(7)
        io.elected(io.me, self.term)
        io.elected(None, self.term)

    def on_vote(self, message: Vote, sender: int, io: Io) -> None: ...

    def on_timer_wait(self, io: Io) -> None: ...


def recorder(me: int = 1, algorithm: type[Process] = Voter) -> Recorder:
    return Recorder(Site(algorithm, Star((1, 2, 3)), me), lambda count: count - 1)


EFFECTS = [
    SetTimer("wait", 3), Send(2, Vote(1)), Send(3, Vote(1)), CancelTimer("wait"), Choose(("a", "b", "c"), 2),
    Note("chose c"), Enter(7), Elect(1, 1), Elect(None, 1),
]  # fmt: skip


def test_effects_are_recorded_in_order() -> None:
    io = recorder()
    Voter().on_elect(io)
    assert io.effects == EFFECTS


def test_durable_fields_are_known_before_anything_leaves() -> None:
    before, after, io = Voter(), Voter(), recorder()
    after.on_elect(io)
    disk: list[Any] = [durable_changes(before, after)]

    class Wire(Recorder):
        def send(self, to: int, message: Message) -> None:
            disk.append((to, message))

    wire = Wire(Site(Voter, Star((1, 2, 3)), 1), lambda _: 0)
    for effect in io.effects:
        perform(effect, wire)
    assert disk == [{"term": 1}, (2, Vote(1)), (3, Vote(1))]
    assert wire.effects == [effect for effect in EFFECTS if not isinstance(effect, Send | Choose)]


def test_the_recorder_knows_the_topology() -> None:
    io = recorder(2)
    assert (io.me, io.peers, io.neighbours, io.right, io.left, io.hub, io.after(3)) == (2, (1, 3), (1,), 3, 1, 1, 1)


MISTAKES: list[tuple[Callable[[Io], object], str]] = [
    (lambda io: io.send(1, "x"), "process 2 sent 'x', which is not a Message"),  # type: ignore[arg-type]
    (lambda io: io.send(9, Vote()), "process 2 sent a Vote to 9, which does not exist"),
    (lambda io: io.send(3, Vote()), "process 2 sent a Vote to 3, to which it has no channel"),
    (lambda io: io.set_timer("tick", 1), "set a timer 'tick' and has no on_timer_tick"),
    (lambda io: io.set_timer("wait", -1), "set timer 'wait' to -1 ms, in the past"),
    (lambda io: io.set_timer("wait", "4"), "set timer 'wait' to '4', expected a number of milliseconds"),  # type: ignore[arg-type]
    (lambda io: io.choose(()), "chose among no options"),
    (lambda io: io.elected(9), "process 2 called io.elected(9, 0)"),
    (lambda io: io.elected(1, "x"), "process 2 called io.elected(1, 'x')"),  # type: ignore[arg-type]
    (lambda io: io.note(3), "process 2 called io.note 3, expected text"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("mistake", "words"), MISTAKES)
def test_mistakes_get_the_same_words_everywhere(mistake: Callable[[Io], object], words: str) -> None:
    class Wrong(Voter):
        def on_elect(self, io: Io) -> None:
            if io.me == 2:
                mistake(io)

    scenario = Scenario(algorithm="mine", n=3)
    for world in (
        lambda: Wrong().on_elect(recorder(2, Wrong)),
        lambda: simulate(scenario, Wrong),
        lambda: simulate(scenario, Wrong, debug=True),
    ):
        with pytest.raises(ProtocolBug, match=re.escape(words)):
            world()
    assert words in check(Configuration(scenario, Wrong)).verdicts[0].evidence
