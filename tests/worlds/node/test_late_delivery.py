"""Messages that wait at the receiver for their time of delivery, and commands of the control socket."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.expectations import eventually_in_task
from tests.worlds.node.inside import run
from vez.errors import PeerViolation
from vez.worlds.node.control import FORMS, Controlled, obey
from vez.worlds.node.late_delivery import LateDeliveries
from vez.worlds.node.limits import Limits


def room(*, fifo: bool, heard: list[str]) -> tuple[LateDeliveries, Callable[[str], Callable[[], None]]]:
    return LateDeliveries(Limits(kept_messages=3), fifo=fifo), lambda word: lambda: heard.append(word)


@pytest.mark.parametrize(
    ("fifo", "order"), [(True, ["other", "first", "second"]), (False, ["other", "second", "first"])]
)
def test_with_an_order_nothing_overtakes_within_a_channel(fifo: bool, order: list[str]) -> None:
    heard: list[str] = []

    async def test() -> None:
        waiting, say = room(fifo=fifo, heard=heard)
        waiting.hold(2, 40_000, say("first"), incarnation="a", sequence=1)
        waiting.hold(2, 20_000, say("second"), incarnation="a", sequence=2)
        waiting.hold(3, 1_000, say("other"), incarnation="b", sequence=1)
        assert waiting.handled(2, "a", 2) == 0
        await eventually_in_task(lambda: not waiting.waiters)
        assert waiting.handled(2, "a", 2) == 2

    run(test())
    assert heard == order


def test_a_new_incarnation_does_not_wait_for_what_an_earlier_one_sent() -> None:
    """Earlier, a process that had sent a very late message and was restarted could not be received again."""
    heard: list[str] = []

    async def test() -> None:
        waiting, say = room(fifo=True, heard=heard)
        waiting.hold(2, 10**10, say("late"), incarnation="a", sequence=1)
        waiting.hold(2, 0, say("new"), incarnation="b", sequence=1)
        await eventually_in_task(lambda: heard)
        waiting.stop()

    run(test())
    assert heard == ["new"]


def test_a_peer_cannot_fill_the_memory_with_messages_that_wait() -> None:
    async def test() -> None:
        waiting, say = room(fifo=True, heard=[])
        for number in range(6):
            waiting.hold(2, 10**15, say(""), sequence=number + 1)
        with pytest.raises(PeerViolation, match="6 messages wait for their time and no more fit"):
            waiting.hold(2, 10**15, say(""), sequence=7)
        with pytest.raises(PeerViolation):
            waiting.hold(3, 10**15, say(""), sequence=1, size=33 << 20)
        waiting.stop()

    run(test())


def test_every_command_has_a_form_and_wrong_words_are_answered_with_it() -> None:
    """A command with too many or too few words once ended in a traceback."""
    commands = {name for name in vars(Controlled) if not name.startswith("_")}
    assert {form.split()[0] for form in FORMS} == commands

    class Deaf:
        """Refuses every command that is well formed: each answer below must come from the parser."""

        def __getattr__(self, name: str) -> Callable[..., None]:
            def never(*values: object) -> None:
                raise AssertionError(f"{name} was called with {values}")

            return never

    for command in sorted(commands):
        answer = obey(Deaf(), f"{command} one two three four")  # type: ignore[arg-type]
        assert answer is not None
        assert "does not take" in answer["error"]
        assert answer["hint"].split()[0] == command
    for line in ("slow 2", "cut", "crash -1", "crash x", "want nan", "want 1 -1", "slow x 1"):
        assert "error" in (obey(Deaf(), line) or {})  # type: ignore[arg-type]
