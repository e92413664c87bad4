"""The table of handlers is made when a class is defined, and is inherited. A failed lookup is the same error everywhere."""

from __future__ import annotations

import re

import pytest

from vez.catalogue.algorithms import ALGORITHMS
from vez.catalogue.zoo import ZOO
from vez.cli.docs import pages
from vez.core import Io, Message, Process
from vez.core.process import handlers_of
from vez.errors import BadHandler, ProtocolBug, UnhandledMessage


class Ping(Message):
    number: int = 0


class VoteForMe(Message):
    term: int = 0


class Parent(Process):
    def on_ping(self, message: Ping, sender: int, io: Io) -> None: ...

    def on_timer_tick(self, io: Io) -> None: ...

    def on_timer_tock(self, io: Io) -> None: ...


class Child(Parent):
    on_timer_tock = None  # type: ignore[assignment]

    def on_ping(self, message: Ping, sender: int, io: Io) -> None: ...

    def on_vote_for_me(self, message: VoteForMe, sender: int, io: Io) -> None: ...


class Early(Process):
    def on_late(self, message: Late, sender: int, io: Io) -> None: ...


class Late(Message):
    """Defined after the process that handles it."""


def test_kinds_and_timers_are_known() -> None:
    table = handlers_of(Parent)
    assert {name: kind.message for name, kind in table.kinds.items()} == {"Ping": Ping}
    assert table.kinds["Ping"].handler is Parent.on_ping
    assert table.timers == {"tick": Parent.on_timer_tick, "tock": Parent.on_timer_tock}
    assert table.message(Ping) is Parent.on_ping
    assert table.timer("tick") is Parent.on_timer_tick


def test_a_subclass_inherits_overrides_and_takes_away() -> None:
    table = handlers_of(Child)
    assert table.message(Ping) is Child.on_ping is not Parent.on_ping
    assert list(table.kinds) == ["Ping", "VoteForMe"]
    assert table.timers == {"tick": Parent.on_timer_tick}
    assert list(handlers_of(Parent).kinds) == ["Ping"]


def test_lookups_in_vain_say_what_to_define() -> None:
    with pytest.raises(UnhandledMessage, match="Parent received a VoteForMe and has no on_vote_for_me") as unhandled:
        handlers_of(Parent).message(VoteForMe)
    assert unhandled.value.hint == "define on_vote_for_me(self, message: VoteForMe, sender, io)"
    with pytest.raises(ProtocolBug, match="Child set a timer 'tock' and has no on_timer_tock"):
        handlers_of(Child).timer("tock")


def test_a_message_class_may_be_defined_after_its_handler() -> None:
    assert handlers_of(Early).kinds["Late"].message is Late


def test_a_message_class_that_cannot_be_found_stops_only_those_who_need_it() -> None:
    class Hidden(Message):
        pass

    class Local(Process):
        def on_hidden(self, message: Hidden, sender: int, io: Io) -> None: ...

    assert handlers_of(Local).message(Hidden) is Local.on_hidden
    with pytest.raises(BadHandler, match=r"Local\.on_hidden: the class of its message cannot be found"):
        _ = handlers_of(Local).kinds


def test_a_handler_for_no_message_is_refused_in_every_world() -> None:
    """It is refused when its class is defined, so before any world can run it."""
    with pytest.raises(BadHandler, match="does not say which message") as vague:

        class Vague(Process):
            def on_some_thing(self, message, sender, io):  # type: ignore[no-untyped-def]
                ...

    assert "message: SomeThing" in vague.value.hint


@pytest.mark.parametrize("signature", ["on_timer_x(self, name, io)", "on_some_thing(self, message, sender, io)"])
def test_the_hint_names_a_page_that_the_wheel_has(signature: str) -> None:
    scope: dict[str, object] = {}
    exec(f"def {signature}: ...", scope)  # noqa: S102
    name = signature.partition("(")[0]
    with pytest.raises(BadHandler) as refused:
        type("Vague", (Process,), {name: scope[name]})
    named = re.search(r"`vez docs (\S+)`", refused.value.hint)
    assert named
    assert "on_timer_<name>(io)" in pages()[named[1]].read_text()


@pytest.mark.parametrize("algorithm", [*ALGORITHMS.values(), *(specimen.algorithm for specimen in ZOO.values())])
def test_every_catalogued_algorithm_names_its_messages(algorithm: type[Process]) -> None:
    table = handlers_of(algorithm)
    assert all(kind.message.__name__ == key for key, kind in table.kinds.items())
    assert all(table.message(kind.message) is kind.handler for kind in table.kinds.values())
