"""A node does not send messages that the limits of its peers forbid, and does not dial again and again in vain."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from tests.expectations import eventually_in_task
from tests.worlds.node.inside import run, world
from tests.worlds.node.protocols import CarelesslyWordy, Nesting, Wordy
from vez.core.process import Process
from vez.errors import Misuse, ReliableNotKept
from vez.worlds.node.channel import Channel, Events
from vez.worlds.node.connection import Outbound, Self
from vez.worlds.node.limits import Limits

SMALL = Limits(frame_bytes=2000)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Wordy, "a message Large of 5009 bytes does not fit into a frame of 2000 bytes"),
        (Nesting, "a message Nested is nested deeper than 30 levels"),
    ],
)
def test_a_reliable_channel_that_cannot_carry_a_message_ends_the_node(
    tmp_path: Path, kind: type[Process], words: str
) -> None:
    async def test() -> None:
        async with world(tmp_path, 2) as made:
            made.start(2, kind, limits=SMALL)
            error = await made.start(1, kind, limits=SMALL).error()
            assert isinstance(error, ReliableNotKept)
            assert error.message == f"reliable not kept: channel to node 2: {words}"

    run(test())


def test_what_does_not_fit_is_lost_where_messages_may_be_lost(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async def test() -> None:
        async with world(tmp_path, 2) as made:
            journal = tmp_path / "journal"
            journal.mkdir()
            one = made.start(1, CarelesslyWordy, limits=SMALL, journal=journal)
            two = made.start(2, CarelesslyWordy, limits=SMALL)
            await two.until(lambda: len(two.texts()) > 5)
            assert set(two.texts()) == {"small"}
            await one.stop()
            (path,) = journal.iterdir()
            assert '"event":"lost"' in path.read_text()
        said = capfd.readouterr().err
        assert "vez node 1: message 1 to node 2 was not sent: a message Large of 5009 bytes does not fit" in said
        assert "closed the connection" not in said

    run(test())


def test_a_channel_is_slowed_by_a_day_at_most(tmp_path: Path) -> None:
    async def test() -> None:
        async with world(tmp_path, 2) as made:
            one = made.start(1)
            one.node.slow(2, 86_400_000)
            with pytest.raises(Misuse, match="too many"):
                one.node.slow(2, 86_400_001)

    run(test())


def test_a_peer_that_closes_every_connection_is_dialled_less_and_less_often() -> None:
    class Closing:
        was_open = True

        def close(self) -> None: ...

    async def test() -> None:
        own = cast(Self, _Own())
        nothing: Any = lambda *_: None  # noqa: E731
        channel = Channel(own, 2, reliable=True, events=Events(nothing, nothing, nothing, nothing))
        loop, dialled = asyncio.get_running_loop(), list[float]()

        async def dial(one: Channel) -> Outbound:
            dialled.append(loop.time())
            loop.call_soon(one.left, cast(Outbound, Closing()), "")
            return cast(Outbound, Closing())

        task = loop.create_task(channel.keep(dial))
        await eventually_in_task(lambda: len(dialled) >= 7)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert dialled[6] - dialled[0] >= 0.5 * 0.005 * (1 + 2 + 4 + 8 + 16 + 32)

    run(test())


class _Own:
    limits = Limits(backoff_s=0.005, backoff_most_s=100.0)
