"""Guards fail when a class is defined, and say what to do."""

from __future__ import annotations

from enum import Enum
from typing import Any

import msgspec
import pytest

from vez.core import Durable, Election, Io, Message, Mutex, Parameter, Process, Property, Ring
from vez.core.class_rules import is_immutable
from vez.core.message import handler_name
from vez.core.process import DURABLE, PARAMETER, marked, state_fields
from vez.errors import BadDeclaration, BadHandler, MutableField


class Color(Enum):
    RED = 1


class Frozen(msgspec.Struct, frozen=True):
    value: int


class Thawed(msgspec.Struct):
    value: int


class Ping(Message):
    payload: tuple[int, ...] = ()


@pytest.mark.parametrize(
    ("hint", "advice"),
    [
        (list[int], "tuple"),
        (dict[int, str], "tuple"),
        (set[int], "frozenset"),
        (bytearray, "bytes"),
        (tuple[list[int], ...], "tuple"),
        (frozenset[Thawed], "frozen"),
        (list[int] | None, "tuple"),
        (object, "frozen"),
    ],
)
@pytest.mark.parametrize("base", [Process, Message])
def test_a_mutable_field_is_refused_when_the_class_is_defined(base: type, hint: object, advice: str) -> None:
    with pytest.raises(MutableField, match="'queue' may hold") as caught:
        type("Bad", (base,), {"__annotations__": {"queue": hint}})
    assert advice in caught.value.hint


@pytest.mark.parametrize(
    "hint",
    [int, str, bool, float, bytes, int | None, tuple[int, ...], tuple[int, str], frozenset[int], Color, Frozen,
     Ping, tuple[Ping, ...], frozenset[tuple[int, str]]],
)  # fmt: skip
def test_immutable_fields_are_accepted(hint: object) -> None:
    assert type("Good", (Process,), {"__annotations__": {"queue": hint}, "queue": None})().queue is None


@pytest.mark.parametrize("base", [Process, Message])
@pytest.mark.parametrize("value", [[], {}, {1}, bytearray()])
def test_a_mutable_attribute_of_the_class_is_refused(base: type, value: object) -> None:
    with pytest.raises(MutableField, match=r"'queue' is a .* that everybody would share"):
        type("Bad", (base,), {"queue": value})


@pytest.mark.parametrize(
    ("attributes", "complaint", "hint"),
    [
        ({"topology": "ring"}, "topology = 'ring', expected a class", "use Ring"),
        ({"topology": Ring((1, 2))}, "topology = ", "one of Complete"),
        ({"guarantees": ("exclusoin",)}, "guarantees names 'exclusoin'", "use Property.EXCLUSION"),
        ({"guarantees": ("exclusion",)}, "guarantees names 'exclusion'", "use Property.EXCLUSION"),
        ({"guarantees": Property.EXCLUSION}, "expected a tuple", "with the comma"),
        ({"assumes": ("fifo",)}, "assumes names 'fifo'", "use Assumption.FIFO"),
    ],
)
def test_declarations_that_make_no_sense_are_refused(attributes: dict[str, Any], complaint: str, hint: str) -> None:
    with pytest.raises(BadDeclaration, match=complaint) as caught:
        type("Bad", (Mutex,), attributes)
    assert hint in caught.value.hint


def test_undeclared_state_cannot_be_kept() -> None:
    class Forgetful(Process):
        count: int = 0

    with pytest.raises(AttributeError):
        Forgetful().other = 1  # type: ignore[attr-defined]


def test_marks_tell_durable_fields_and_parameters_from_the_rest() -> None:
    class Marked(Process):
        lease_ms: Parameter[float] = 10.0
        vote: Durable[int | None] = None
        state: str = ""

    assert marked(Marked, DURABLE) == ("vote",)
    assert marked(Marked, PARAMETER) == ("lease_ms",)
    assert state_fields(Marked) == ("vote", "state")


def test_a_misspelt_handler_is_refused() -> None:
    with pytest.raises(BadHandler, match="delivered to on_ping"):

        class Misspelt(Process):
            def on_pingg(self, message: Ping, sender: int, io: Io) -> None: ...


@pytest.mark.parametrize(
    ("name", "parameters"), [("on_start", "self"), ("on_ping", "self, message, io"), ("on_timer_lease", "self, a, io")]
)
def test_a_handler_with_the_wrong_parameters_is_refused(name: str, parameters: str) -> None:
    scope: dict[str, object] = {}
    exec(f"def {name}({parameters}): ...", scope)  # noqa: S102
    with pytest.raises(BadHandler, match="expected"):
        type("Bad", (Process,), {name: scope[name]})


@pytest.mark.parametrize(("role", "event"), [(Mutex, "on_want"), (Mutex, "on_done"), (Election, "on_elect")])
def test_a_role_without_its_handlers_says_so(role: type[Process], event: str) -> None:
    empty = type("Empty", (role,), {})()
    with pytest.raises(BadHandler, match=event):
        getattr(empty, event)(None)


def test_handler_names() -> None:
    assert handler_name(Ping) == "on_ping"
    assert handler_name(type("VoteForMe", (Message,), {})) == "on_vote_for_me"


def test_messages_are_hashable_values() -> None:
    assert Ping((1, 2)) == Ping((1, 2))
    assert len({Ping((1,)), Ping((1,)), Ping((2,))}) == 2
    with pytest.raises(AttributeError):
        Ping().payload = ()  # type: ignore[misc]


@pytest.mark.parametrize(
    ("value", "expected"),
    [((1, "a", (True,)), True), (frozenset({1}), True), (Frozen(1), True), (Color.RED, True), ([1], False),
     (((1, [2]),), False), (Thawed(1), False), (object(), False)],
)  # fmt: skip
def test_values_are_looked_at_all_the_way_down(value: object, expected: bool) -> None:
    assert is_immutable(value) is expected
