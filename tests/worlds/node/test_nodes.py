"""Nodes on real sockets, in the process of the test: order, reconnects, refusals, full buffers, hostile connections."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.worlds.node.inside import PATIENCE, World, closed, run, world
from tests.worlds.node.protocols import Careless, Faulty
from vez.catalogue.algorithms import ALGORITHMS
from vez.core.process import Process
from vez.errors import HandlerFailed, Misuse, ReliableNotKept
from vez.worlds.node.frames import Data, Leaving, NamedData, Office, Present, Standing, frame
from vez.worlds.node.group import listed_group, load_group
from vez.worlds.node.handshake import NONCE_BYTES, Dialling, Welcome
from vez.worlds.node.limits import Limits
from vez.worlds.node.log import Log


def heard(texts: list[str]) -> list[int]:
    return [int(text.split()[1]) for text in texts if text.startswith("heard")]


def test_messages_arrive_once_and_in_order_however_often_the_channel_is_cut(tmp_path: Path) -> None:
    async def test() -> None:
        async with world(tmp_path, 2) as made:
            one, two = made.start(1), made.start(2)
            for target in (20, 40, 60):
                await two.until(lambda target=target: len(heard(two.texts())) >= target)  # type: ignore[misc]
                one.node.cut(2)
                await two.until(lambda: 2 not in one.node.status()["linked"])
                one.node.heal(2)
            await one.linked(2)
            await one.stop()
            await asyncio.sleep(0)
            numbers = heard(two.texts())
            assert numbers == list(range(1, len(numbers) + 1))

    run(test())


def test_a_slow_channel_keeps_the_order(tmp_path: Path) -> None:
    async def test() -> None:
        async with world(tmp_path, 2) as made:
            one, two = made.start(1), made.start(2)
            await one.linked(2)
            one.node.slow(2, 30)
            await two.until(lambda: len(heard(two.texts())) >= 30)
            one.node.slow(2, 0)
            numbers = heard(two.texts())
            assert numbers == list(range(1, len(numbers) + 1))

    run(test())


def test_a_receiver_that_starts_anew_gets_what_was_not_numbered_for_the_earlier_one(tmp_path: Path) -> None:
    """The sender's journal names the messages as lost that the earlier incarnation did not acknowledge."""

    async def test() -> None:
        journal = tmp_path / "journal"
        journal.mkdir()
        async with world(tmp_path, 2) as made:
            one, first = made.start(1, journal=journal), made.start(2, journal=journal)
            await first.until(lambda: len(heard(first.texts())) >= 5)
            first.task.cancel()  # no goodbye
            await asyncio.wait([first.task])
            made.members.remove(first)
            await one.until(lambda: one.node.status()["linked"] == [])
            sent = one.node.status()["sent"]
            second = made.start(2, journal=journal)
            await second.until(lambda: len(heard(second.texts())) >= 5)
            before, after = heard(first.texts()), heard(second.texts())
            assert second.texts()[0] == "recovered 0"
            assert not set(before) & set(after)
            lines = next(journal.glob("1-*.jsonl")).read_bytes().splitlines()[1:]
            lost = [event["number"] for event in map(msgspec.json.decode, lines) if event["event"] == "lost"]
            assert set(range(1, after[0])) == set(before) | set(lost)
            assert after == list(range(after[0], after[-1] + 1))
            assert all(number <= sent for number in lost)

    run(test())


def test_a_step_is_in_the_journal_before_what_it_stores_is_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node that is killed in between comes back with fields that its journal can explain."""

    async def test() -> None:
        journal = tmp_path / "journal"
        journal.mkdir()
        async with world(tmp_path, 1) as made:
            one, seen = made.start(1, journal=journal), list[str]()
            store = one.node._durable.store

            def watched(process: Process) -> None:
                last = next(journal.glob("1-*.jsonl")).read_bytes().splitlines()[-1]
                seen.append(msgspec.json.decode(last)["event"])
                store(process)

            monkeypatch.setattr(one.node._durable, "store", watched)
            await one.until(lambda: len(seen) >= 5)
        assert set(seen) == {"fired"}
        lines = next(journal.glob("1-*.jsonl")).read_bytes().splitlines()[1:]
        kinds = [msgspec.json.decode(line)["event"] for line in lines]
        assert kinds.count("fired") == kinds.count("stored")

    run(test())


def test_a_full_buffer_ends_the_run_as_reliable_not_kept(tmp_path: Path) -> None:
    async def test() -> None:
        async with world(tmp_path, 2) as made:
            one = made.start(1, limits=Limits(kept_messages=5))
            error = await one.error()
            assert isinstance(error, ReliableNotKept)
            assert error.message.startswith("reliable not kept: channel to node 2: 5 messages")
            made.members.clear()

    run(test())


def test_an_algorithm_that_allows_loss_goes_on_without_its_peer(tmp_path: Path) -> None:
    async def test() -> None:
        async with world(tmp_path, 2) as made:
            one = made.start(1, Careless, limits=Limits(kept_messages=5))
            await one.until(lambda: one.node.status()["sent"] > 20)
            two = made.start(2, Careless)
            await two.until(lambda: heard(two.texts()))
            numbers = heard(two.texts())
            assert numbers[0] > 20

    run(test())


def test_nodes_with_different_parameters_refuse_each_other_and_say_why(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async def test() -> None:
        said = ""
        async with world(tmp_path, 2) as made:
            one, two = made.start(1), made.start(2, parameters={"every_ms": 9.0})

            def both() -> bool:
                nonlocal said
                said += capfd.readouterr().err
                reason = "parameter every_ms is 2.0 at node 1 and 9.0 at node 2"
                return all(
                    line in said
                    for line in (
                        f"vez node 1: refused a connection: {reason}",
                        f"vez node 2: no channel to node 1: refused: {reason}",
                    )
                )

            await one.until(both)
            assert not one.node.status()["linked"]
            assert not two.node.status()["linked"]

    run(test())


def test_an_error_in_a_handler_ends_the_node_and_names_the_line(tmp_path: Path) -> None:
    async def test() -> None:
        async with world(tmp_path, 1) as made:
            one = made.start(1, Faulty)
            await one.until(lambda: one.node.status()["begun"])
            one.node.want(None)
            error = await one.error()
            assert isinstance(error, HandlerFailed)
            assert "on_want raised ZeroDivisionError: no reason" in error.message
            assert "protocols.py, line" in error.message
            made.members.clear()

    run(test())


def test_a_second_node_of_the_same_id_is_refused(tmp_path: Path) -> None:
    async def test() -> None:
        async with world(tmp_path, 1) as made:
            await made.start(1).until(lambda: True)
            with pytest.raises(Misuse, match="node 1 is running already"):
                made.start(1)

    run(test())


def test_a_line_of_the_log_cannot_be_broken_by_what_a_peer_says(capfd: pytest.CaptureFixture[str]) -> None:
    Log(3).line("refused: no\nvez node 3: all is well\x1b[2J" + "x" * 5000)
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("vez node 3: refused: no?vez node 3: all is well?[2Jxxx")
    assert len(lines[0]) < 700


# Strangers and liars.

QUICK = Limits(handshake_s=0.2, strangers=3, frame_bytes=2000)


async def raw(made: World, member: int = 2) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_unix_connection(str(made.folder / f"{member}.sock"))


async def befriend(made: World, me: int = 3) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to node 2 after a proper handshake, as a third member that may now misbehave."""
    reader, writer = await raw(made)
    shake = Dialling(made.members[0].node._identity, me, 2, os.urandom(8).hex(), None, b"x" * NONCE_BYTES)

    async def one() -> bytes:
        return await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))

    writer.write(frame(shake.hello(await one())))
    assert isinstance(shake.welcome(await one()), Welcome)
    return reader, writer


NOISE = [
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"\x00\x00\x00\x00",
    b"\xff\xff\xff\xff",
    b"\x00\x00\x00\x01\xc1",
    b"\x00\x00\x13\x88" + b"\x91" * 5000,
    frame(Data(1, 1, "Order", msgspec.Raw(b"\x80"))),
    frame(Data(1, 1, "Count", msgspec.Raw(b"\x81\xa5value\xa1x"))),
    frame(Data(7, 1, "Count", msgspec.Raw(b"\x81\xa5value\x01"))),
    frame(Data(1, 1, "Count", msgspec.Raw(b"\x81\xa5value\x01"))) * 2,
    frame(NamedData(1, 1, "Count", msgspec.Raw(b"\x81\xa5value\x01"), "x")),  # a node has one instance, without a name
    frame(Present(1, "host", ("x",))),
    frame(Leaving()),
    frame(Standing("x")),
    frame(Office("x", "label", True)),
]


@pytest.mark.parametrize("friend", [False, True])
def test_a_malformed_or_unexpected_frame_closes_that_connection_with_one_line_and_nothing_else(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], friend: bool
) -> None:
    async def test() -> None:
        async with world(tmp_path, 3) as made:
            one, two = made.start(1), made.start(2, limits=QUICK)
            await one.linked(2)
            for noise in NOISE:
                capfd.readouterr()
                reader, writer = await (befriend(made) if friend else raw(made))
                writer.write(noise)
                await closed(reader)
                writer.close()
                lines = capfd.readouterr().err.splitlines()
                assert len(lines) == 1, (noise, lines)
                assert lines[0].startswith("vez node 2: " + ("closed the connection of node 3" if friend else ""))
            count = len(heard(two.texts()))
            await two.until(lambda: len(heard(two.texts())) > count + 5)
            assert one.node.status()["linked"] == [2]

    run(test())


def test_any_bytes_from_a_friend_or_a_stranger_leave_the_node_up(tmp_path: Path) -> None:
    """Hypothesis writes to one node that runs all the while."""

    async def test() -> None:
        async with world(tmp_path, 3) as made:
            one, two = made.start(1), made.start(2, limits=QUICK)
            await one.linked(2)
            loop = asyncio.get_running_loop()

            async def send(noise: bytes, friend: bool, prefix: bool) -> None:
                reader, writer = await (befriend(made) if friend else raw(made))
                writer.write(len(noise).to_bytes(4, "big") * prefix + noise)
                writer.write_eof()
                await closed(reader)
                writer.close()

            @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
            @given(st.binary(max_size=300), st.booleans(), st.booleans())
            @example(b"\x94\x01\x01\x01\xa5Count\x81\xa5value\x01", True, True)
            def attack(noise: bytes, friend: bool, prefix: bool) -> None:
                asyncio.run_coroutine_threadsafe(send(noise, friend, prefix), loop).result(30)

            await asyncio.to_thread(attack)
            count = len(heard(two.texts()))
            await two.until(lambda: len(heard(two.texts())) > count + 5)
            numbers = heard(two.texts())
            assert one.node.status()["linked"] == [2]
            assert [number for number in numbers if number > 1] == list(range(2, max(numbers) + 1))

    run(test())


def test_who_says_nothing_or_too_little_is_cut_off_and_the_number_of_strangers_is_bounded(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async def test() -> None:
        async with world(tmp_path, 2) as made:
            two = made.start(2, limits=QUICK)
            await two.until(lambda: two.said)
            connections = [await raw(made) for _ in range(10)]
            connections[0][1].write(b"\x00")  # a slow beginning
            for reader, _ in connections:
                await closed(reader)
            for _, writer in connections:
                writer.close()
            errors = capfd.readouterr().err
            assert "no handshake within 0.2 s" in errors
            assert "too many connections that have not said who they are" in errors

    run(test())


def test_a_peer_that_sends_as_fast_as_it_can_is_read_later_and_harms_nobody(tmp_path: Path) -> None:
    async def test() -> None:
        async with world(tmp_path, 3) as made:
            one, two = made.start(1), made.start(2, limits=Limits(frames_a_second=200, frames_a_turn=50))
            await one.linked(2)
            _, writer = await befriend(made)
            flood = b"".join(frame(Data(n, n, "Count", msgspec.Raw(b"\x81\xa5value\x00"))) for n in range(1, 50_001))
            writer.write(flood)
            count = len([number for number in heard(two.texts()) if number])
            await two.until(lambda: len([number for number in heard(two.texts()) if number]) > count + 20)
            assert heard(two.texts()).count(0) < 2000
            writer.close()

    run(test())


# Groups.


def test_a_group_is_a_list_or_a_file(tmp_path: Path) -> None:
    assert str(listed_group("1,2", "demo", tmp_path).addresses[2]) == f"unix:{tmp_path}/2.sock"
    key = tmp_path / "key"
    key.write_bytes(b"k" * 32)
    key.chmod(0o600)
    path = tmp_path / "group.toml"
    path.write_text('name = "demo"\nkey_file = "key"\n[nodes]\n3 = "127.0.0.1:7003"\n1 = "[::1]:7001"\n')
    group = load_group(path)
    assert (group.ids, group.key, str(group.addresses[1])) == ((3, 1), b"k" * 32, "[::1]:7001")
    path.write_text('[nodes]\n1 = "unix:1.sock"\n2 = "unix:2.sock"\n01 = "unix:3.sock"\n')
    with pytest.raises(Misuse, match="node 1 is listed twice"):
        load_group(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1=127.0.0.1:7001", "reached by every user of this host, and there is no key"),
        ("1=10.0.0.1:7001", "reached from other hosts, and there are no certificates"),
        ("1=localhost:7001", "reached from other hosts"),
        ("1=0.0.0.0:7001", "reached from other hosts"),
        ("1,1", "node 1 is listed twice"),
        ("1=unix:/a,2=unix:/a", "have the same address"),
        ("one", "'one' is not the identifier of a node"),
        ("1=somewhere", "'somewhere' is not an address"),
        ("1=127.0.0.1:70000", "is not an address"),
        ("1=unix:/" + "x" * 200, "is longer than 100 bytes"),
    ],
)
def test_a_group_that_strangers_could_join_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(Misuse, match=words):
        listed_group(text, "demo", tmp_path)


def test_a_key_that_others_can_read_or_that_is_short_is_refused(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(b"k" * 32)
    key.chmod(0o644)
    with pytest.raises(Exception, match="others may read or change"):
        listed_group("1=127.0.0.1:7001", "demo", tmp_path, key)
    key.write_bytes(b"k")
    key.chmod(0o600)
    with pytest.raises(Exception, match="has 1 bytes, expected at least 32"):
        listed_group("1=127.0.0.1:7001", "demo", tmp_path, key)


def test_every_algorithm_of_the_catalogue_can_be_a_node(tmp_path: Path) -> None:
    async def test() -> None:
        for number, algorithm in enumerate(ALGORITHMS.values()):
            folder = tmp_path / str(number)
            folder.mkdir(mode=0o700)
            async with world(folder, 2) as made:
                one = made.start(1, algorithm, journal=folder)
                await one.until(lambda one=one: one.node.status()["begun"])  # type: ignore[misc]

    run(test())


def test_a_connection_that_is_accepted_as_the_node_ends_is_closed(tmp_path: Path) -> None:
    """In the same turn of the loop: asyncio does not show a connection whose server was closed, and leaves it open."""

    async def test() -> None:
        async with world(tmp_path, 1) as made:
            one = made.start(1)
            await one.until(lambda: one.said)
            with socket.socket(socket.AF_UNIX) as stranger:
                stranger.connect(str(tmp_path / "1.sock"))
                asyncio.get_running_loop().call_later(0, one.node.stop)  # timers come after what sockets had to say
                await one.task
                stranger.settimeout(PATIENCE)
                assert stranger.recv(1) == b""

    run(test())
