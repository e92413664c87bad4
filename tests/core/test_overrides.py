"""The results of methods that an algorithm overrides are checked. The simulator and the checker give the same error."""

from __future__ import annotations

import math
from typing import Any

import pytest

from vez.catalogue.algorithms import find
from vez.core import Assumption, Election, Io, Message, Mutex, Process
from vez.errors import BadDeclaration, BadHandler, Misuse, ProtocolBug
from vez.worlds.check import Configuration, check
from vez.worlds.sim import simulate
from vez.worlds.sim.scenario import Detector, Scenario


class Word(Message):
    """Anything."""


class Easy(Mutex):
    """Lets everybody in."""

    name = "easy"
    assumes = (Assumption.KNOWN_BOUNDS, Assumption.BOUNDED_STAY)

    def on_want(self, io: Io) -> None:
        io.enter()

    def on_done(self, io: Io) -> None:
        pass

    def on_suspect(self, peer: int, io: Io) -> None:
        pass


class Vote(Election):
    """Everybody names the last one."""

    name = "vote"
    best_wins = True

    def on_elect(self, io: Io) -> None:
        io.elected(max(io.me, *io.peers))


def raising(*_: Any) -> Any:
    """A method with a mistake."""
    raise ValueError("a mistake")


def saying(value: Any) -> Any:
    """A method that returns this value."""
    return lambda *_: value


WRONG = [
    (Easy, "longest_delay_ms", raising, "Bad.longest_delay_ms raised ValueError: a mistake"),
    (Easy, "longest_delay_ms", saying("2"), r"longest_delay_ms\(\) is '2', expected milliseconds"),
    (Easy, "longest_delay_ms", saying(math.nan), r"longest_delay_ms\(\) is nan, expected milliseconds"),
    (Easy, "longest_delay_ms", saying(-3), r"longest_delay_ms\(\) is -3, expected milliseconds"),
    (Easy, "longest_stay_ms", saying(math.inf), r"longest_stay_ms\(\) is inf, expected milliseconds"),
    (Easy, "longest_stay_ms", raising, "Bad.longest_stay_ms raised ValueError"),
    (Easy, "smallest", classmethod(raising), "Bad.smallest raised ValueError"),
    (Easy, "smallest", classmethod(saying("two")), r"smallest\(\) is 'two', expected a number"),
    (Easy, "contenders", classmethod(raising), "Bad.contenders raised ValueError"),
    (Easy, "contenders", classmethod(saying(None)), "contenders is None, expected a tuple of different processes"),
    (Easy, "contenders", classmethod(saying((7,))), r"contenders is \(7,\), expected a tuple of different processes"),
    (Easy, "bypass_bound", classmethod(raising), r"Bad.bypass_bound\(3\) raised ValueError"),
    (Vote, "candidates", raising, "Bad.candidates raised ValueError"),
    (Vote, "candidates", saying(None), "candidates is None, expected a tuple of different processes"),
    (Vote, "candidates", saying((1, 1)), r"candidates is \(1, 1\), expected a tuple of different processes"),
    (Vote, "candidates", saying(()), r"candidates\(\[1, 2, 3\]\) names nobody"),
    (Vote, "objection", raising, "Bad.objection raised ValueError"),
]


@pytest.mark.parametrize(("base", "method", "answer", "words"), WRONG)
def test_a_wrong_answer_is_refused_in_both_worlds(base: type[Process], method: str, answer: Any, words: str) -> None:
    bad = type("Bad", (base,), {method: answer})
    with pytest.raises(BadDeclaration, match=words):
        simulate(Scenario(algorithm="bad", n=3), bad)
    with pytest.raises(BadDeclaration, match=words):
        check(Configuration(Scenario(algorithm="bad", n=3), bad), ("bounded_waiting",) if base is Easy else ())


@pytest.mark.parametrize(("answer", "words"), [(raising, "raised ValueError"), (saying((9,)), r"watches is \(9,\)")])
def test_whom_a_detector_watches_is_checked(answer: Any, words: str) -> None:
    bad = type("Bad", (Easy,), {"watches": answer})
    with pytest.raises(BadDeclaration, match=words):
        simulate(Scenario(algorithm="bad", n=3, detector=Detector(kind="heartbeat")), bad)


PARAMETERS: list[tuple[str, dict[str, Any], str]] = [
    ("bully", {"eligible": [9]}, "bully: eligible: there is no process 9"),
    ("bully", {"eligible": [2, 7]}, "bully: eligible: there is no process 7"),
    ("bully", {"merits": [[9, 3]]}, "bully: merits: there is no process 9"),
    ("bully", {"merits": [[1, 3], [1, 4]]}, "bully: merits: process 1 has more than one merit"),
    ("majority", {"weights": [[9, 3]]}, "majority: weights: there is no process 9"),
    ("majority", {"weights": [[1, 3], [1, 3]]}, "majority: weights: a process has more than one weight"),
    ("majority", {"weights": [[1, -1]]}, "majority: weights: expected 0 or more"),
    ("raymond", {"arity": 0}, "raymond: arity: expected 1 or more children, found 0"),
    ("itai-rodeh", {"names": -1}, "itai-rodeh: size, names: expected 0 to"),
    ("quorum", {"quorum": -1}, "quorum: coordinators: expected 1 or more"),
    ("quorum-retry", {"coordinators": 0}, "quorum-retry: coordinators: expected 1 or more"),
]


@pytest.mark.parametrize(("name", "parameters", "words"), PARAMETERS)
def test_parameters_that_make_no_sense_are_refused(name: str, parameters: dict[str, Any], words: str) -> None:
    scenario = Scenario(algorithm=name, n=3, parameters=parameters)
    with pytest.raises(Misuse, match=words):
        simulate(scenario, find(name))
    with pytest.raises(Misuse, match=words):
        Configuration(scenario, find(name))


@pytest.mark.parametrize(("name", "value"), [("role", "zebra"), ("symmetry", "round"), ("name", 5)])
def test_a_declaration_of_another_kind_is_refused(name: str, value: object) -> None:
    with pytest.raises(BadDeclaration, match=f"Bad: {name} = "):
        type("Bad", (Easy,), {name: value})


async def later(self: Process, io: Io) -> None:
    """A coroutine: calling it would not run its body."""


def bit_by_bit(self: Process, io: Io) -> Any:
    """A generator: calling it would not run its body."""
    yield io


@pytest.mark.parametrize(("handler", "words"), [(later, "a coroutine"), (bit_by_bit, "a generator")])
def test_a_handler_that_would_not_run_is_refused(handler: Any, words: str) -> None:
    with pytest.raises(BadHandler, match=rf"Bad.on_want is {words} .*, so its body would never run"):
        type("Bad", (Easy,), {"on_want": handler})


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda io: io.enter("first"), r"process \d called io.enter\('first'\)"),
        (lambda io: io.enter(1.5), r"process \d called io.enter\(1.5\)"),
        (lambda io: io.enter(True), r"process \d called io.enter\(True\)"),
        (lambda io: io.elected(True), r"process \d called io.elected\(True, 0\)"),
        (lambda io: io.elected(1, False), r"process \d called io.elected\(1, False\)"),
        (lambda io: io.send(True, Word()), r"process \d sent a Word to True"),
    ],
)
def test_what_is_no_whole_number_is_refused(call: Any, words: str) -> None:
    bad = type("Bad", (Easy,), {"on_want": lambda self, io: call(io)})
    with pytest.raises(ProtocolBug, match=words):
        simulate(Scenario(algorithm="bad", n=2), bad)
    report = check(Configuration(Scenario(algorithm="bad", n=2), bad))
    assert "no_exceptions" in report.broken
