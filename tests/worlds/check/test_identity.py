"""Values that are equal and of different types are different values: a handler can tell them apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import NamedTuple

import msgspec
import pytest

from vez.core import Election, Io, Message, Mutex, Parameter, Property
from vez.core.identity import ForeignValue, identity
from vez.errors import ProtocolBug
from vez.judge.properties import Status, judge
from vez.worlds.check import Configuration, check
from vez.worlds.check.model.semantics import Model
from vez.worlds.check.search.breadth_first import Search
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Elect, Want


class Ask(Message):
    """Asks the hub. A request with 0 waits for its turn, a request with False does not, and the two values are
    equal."""

    word: int | bool


class Go(Message):
    """Lets one in."""


class Typed(Mutex):
    """The hub lets in one process that asks with 0, and every process that asks with False."""

    name = "typed"
    guarantees = (Property.EXCLUSION,)
    busy: bool = False

    @classmethod
    def contenders(cls, ids: tuple[int, ...]) -> tuple[int, ...]:
        return ids[1:]

    def on_want(self, io: Io) -> None:
        io.send(io.hub, Ask(0 if io.me == 2 else False))

    def on_ask(self, message: Ask, sender: int, io: Io) -> None:
        if message.word is False:
            io.send(sender, Go())
        elif not self.busy:
            self.busy = True
            io.send(sender, Go())

    def on_go(self, message: Go, sender: int, io: Io) -> None:
        io.enter()

    def on_done(self, io: Io) -> None:
        pass


@pytest.mark.parametrize(
    ("one", "other"),
    [(0, False), (1, 1.0), (0.0, -0.0), ((1, 2), (True, 2)), (frozenset({1}), frozenset({True})), (Ask(1), Ask(True))],
    ids=str,
)  # fmt: skip
def test_equal_values_of_different_types_have_different_identities(one: object, other: object) -> None:
    assert one == other
    assert identity(one) != identity(other)
    assert identity(one) == identity(one)


class Ballot(msgspec.Struct, frozen=True):
    """Compared by its number only."""

    number: int
    who: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ballot) and self.number == other.number

    def __hash__(self) -> int:
        return hash(self.number)


class Pair(NamedTuple):
    """A tuple that is compared by its number only."""

    number: int
    who: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pair) and self.number == other.number

    def __hash__(self) -> int:
        return hash(self.number)


class Colour(Enum):
    """All members are equal."""

    RED = 1
    BLUE = 2

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Colour)

    def __hash__(self) -> int:
        return 1


@pytest.mark.parametrize(
    ("one", "other"),
    [(Ballot(1, 2), Ballot(1, 3)), (Pair(1, 2), Pair(1, 3)), (Colour.RED, Colour.BLUE)],
    ids=str,
)
def test_what_a_class_of_its_own_calls_equal_is_not_one_value(one: object, other: object) -> None:
    assert one == other
    assert identity((0, one)) != identity((0, other))
    assert identity((0, one)) == identity((0, one))


class Latest(Mutex):
    """The hub remembers the first ballot, and lets both in if it came from process 3."""

    name = "latest"
    first: Ballot = Ballot(0, 0)

    @classmethod
    def contenders(cls, ids: tuple[int, ...]) -> tuple[int, ...]:
        return ids[1:]

    def on_want(self, io: Io) -> None:
        io.send(io.hub, Ask(0))

    def on_ask(self, message: Ask, sender: int, io: Io) -> None:
        if not self.first.number:
            self.first = Ballot(1, sender)
        elif self.first.who == 3:
            io.broadcast(Go())

    def on_go(self, message: Go, sender: int, io: Io) -> None:
        io.enter()

    def on_done(self, io: Io) -> None:
        pass


def test_states_are_not_merged_by_an_equality_that_leaves_a_part_out() -> None:
    report = check(Configuration(Scenario(algorithm="latest", n=3), Latest), ("exclusion",))
    assert "exclusion" in report.broken


def test_a_message_with_an_equal_value_of_another_type_is_another_message() -> None:
    scenario = Scenario(algorithm="typed", n=3)
    wants = (Want(process=2, inside_ms=9), Want(process=3, inside_ms=9))
    run = simulate(scenario.but(want=wants), Typed)
    assert run.trace is not None
    assert judge(run.trace, only=[Property.EXCLUSION])[0].status is Status.BROKEN
    assert "exclusion" in check(Configuration(scenario, Typed), ("exclusion",)).broken


class Switch(Mutex):
    """Turns 1 into True when it gets in, and gets in again without asking when it finds True."""

    name = "switch"
    word: int | bool = 1

    def on_want(self, io: Io) -> None:
        if io.me == io.hub or self.word is True:
            io.enter()

    def on_done(self, io: Io) -> None:
        self.word = True


def test_a_state_with_an_equal_value_of_another_type_is_another_state() -> None:
    configuration = Configuration(Scenario(algorithm="switch", n=2), Switch, requests=2)
    model = Model(configuration)
    Search(model, (Property.EXCLUSION,)).run()
    words = {(local.phase, type(local.fields[0])) for local in model.locals}
    assert {(2, int), (2, bool)} <= words, "inside for the first time, and for the second"


class Beat(Message):
    """A sign of life."""


class Patient(Election):
    """Elects itself when the other process was silent for long, which it never is."""

    name = "patient"
    guarantees = (Property.TERMINATION,)

    def on_elect(self, io: Io) -> None:
        io.set_timer("patience", 5.0)
        io.send(io.right, Beat())

    def on_beat(self, message: Beat, sender: int, io: Io) -> None:
        io.set_timer("patience", 5.0)
        io.send(io.right, Beat())

    def on_timer_patience(self, io: Io) -> None:
        io.elected(io.me)


def test_a_timer_that_every_heartbeat_sets_anew_need_not_fire() -> None:
    scenario = Scenario(algorithm="patient", n=2)
    report = check(Configuration(scenario, Patient), ("termination",))
    assert "termination" in report.broken
    run = simulate(scenario.but(until_ms=500), Patient)
    assert not run.leaders


class Text(str):
    """A text with attributes."""


class Row(tuple[int, ...]):
    """A tuple with attributes."""


class Open(msgspec.Struct, frozen=True, dict=True):
    """Frozen, and can be given attributes."""


@dataclass(frozen=True)
class Box:
    """Compared by its first part only."""

    number: int
    who: int = field(default=0, compare=False)


FOREIGN = (Decimal("1.0"), range(0), Box(1), 0j, Text("a"), Row((1,)), Open(), Fraction(1), (1, frozenset({Text("a")})))


@pytest.mark.parametrize("value", FOREIGN, ids=repr)
def test_a_value_of_another_kind_has_no_identity(value: object) -> None:
    with pytest.raises(ForeignValue):
        identity(value)


class Carrier(Message):
    """A message with a value that is not allowed."""

    value: tuple[int, ...] = ()


class Keeper(Election):
    """Process 1 stores or sends a value that is not allowed."""

    name = "keeper"
    kept: Parameter[bool] = False
    rival: int = 0

    def on_elect(self, io: Io) -> None:
        if self.kept:
            self.rival = Decimal("1.0")  # type: ignore[assignment]
        else:
            io.broadcast(Carrier((1, Decimal("1.00"))))  # type: ignore[arg-type]

    def on_carrier(self, message: Carrier, sender: int, io: Io) -> None:
        io.elected(sender)


REFUSALS = {
    True: r"Keeper.on_elect of process 1 left rival at Decimal\('1.0'\), a Decimal; expected None, bool",
    False: r"Keeper.on_elect of process 1 sent Carrier with value Decimal\('1.00'\), a Decimal; expected None, bool",
}


@pytest.mark.parametrize("kept", REFUSALS)
def test_checker_and_debug_run_refuse_a_value_of_another_kind_alike(kept: bool) -> None:
    scenario = Scenario(algorithm="keeper", n=2, parameters={"kept": kept}, elect=(Elect(process=1),))
    with pytest.raises(ProtocolBug, match=REFUSALS[kept]):
        check(Configuration(scenario, Keeper))
    with pytest.raises(ProtocolBug, match=REFUSALS[kept]):
        simulate(scenario, Keeper, debug=True)


class Torn(Keeper):
    """Chooses first, so that the handler has two outcomes."""

    name = "torn"

    def on_elect(self, io: Io) -> None:
        self.rival = io.choose((1, Decimal("1.0")))  # type: ignore[assignment]


def test_a_handler_that_chooses_is_refused_too() -> None:
    with pytest.raises(ProtocolBug, match=r"Torn.on_elect of process . left or sent Decimal"):
        check(Configuration(Scenario(algorithm="torn", n=2), Torn))


class Early(Keeper):
    """Starts with the value."""

    name = "early"
    rival: int = Decimal(1)  # type: ignore[assignment]


def test_a_field_that_starts_with_it_is_refused_too() -> None:
    with pytest.raises(ProtocolBug, match=r"Early.on_start left rival at Decimal"):
        check(Configuration(Scenario(algorithm="early", n=2), Early))
