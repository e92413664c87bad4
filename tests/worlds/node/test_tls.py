"""Nodes on loopback with a key, and with TLS and certificates on both sides."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from pathlib import Path
from typing import cast

import msgspec
import pytest

from tests.conftest import need
from tests.worlds.node.inside import PATIENCE, closed, run, world
from vez.cli.app import run as cli
from vez.worlds.node import sockets as sockets_module
from vez.worlds.node.connection import Wire
from vez.worlds.node.group import Address, Group, Tcp, Tls
from vez.worlds.node.limits import Limits
from vez.worlds.node.log import Log
from vez.worlds.node.sockets import Contexts, certificate_name, dial
from vez.worlds.node.tls_handshakes import HandshakeSettings, TlsHandshakes


def ports(n: int) -> list[int]:
    import socket

    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    found = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return found


def test_on_loopback_the_key_is_needed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    async def test() -> None:
        addresses: dict[int, Address] = {one: Tcp("127.0.0.1", port) for one, port in enumerate(ports(3), 1)}
        group = Group(name="test", addresses=addresses, key=b"k" * 32)
        async with world(tmp_path, 3, group) as made:
            one, two = made.start(1), made.start(2)
            await one.linked(2)
            await two.linked(1)
            made.group = msgspec.structs.replace(group, key=b"z" * 32)
            three = made.start(3)
            said = ""

            def refused() -> bool:
                nonlocal said
                said += capfd.readouterr().err
                return "the key of this run is missing or wrong" in said

            await three.until(refused)
            assert three.node.status()["linked"] == []
            assert "kkkk" not in said

    run(test())


def certificates(folder: Path, group: str, nodes: dict[int, int]) -> Tls:
    """Certificates for nodes; `nodes` maps each node to the number that its certificate names."""
    try:
        import trustme
    except ImportError:
        need("trustme", "run `make setup`")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    for node, named in nodes.items():
        made = authority.issue_cert(certificate_name(named, group))
        made.private_key_pem.write_to_path(str(folder / f"{node}.key"))
        made.cert_chain_pems[0].write_to_path(str(folder / f"{node}.pem"))
    return Tls(str(folder / "ca.pem"), str(folder / "{id}.pem"), str(folder / "{id}.key"))


def test_tls_with_certificates_on_both_sides(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Node 3 has a certificate of the authority, but one that names node 2."""

    async def test() -> None:
        tls = certificates(tmp_path, "test", {1: 1, 2: 2, 3: 2})
        addresses: dict[int, Address] = {one: Tcp("127.0.0.1", port) for one, port in enumerate(ports(3), 1)}
        async with world(tmp_path, 3, Group(name="test", addresses=addresses, tls=tls)) as made:
            one, two, three = (made.start(node) for node in (1, 2, 3))
            await one.linked(2)
            await two.linked(1)
            said = ""

            def refused() -> bool:
                nonlocal said
                said += capfd.readouterr().err
                return (
                    "refused: the certificate of node 3 does not have the name 3.test.vez" in said
                    and "no channel to node 3: TLS:" in said
                )

            await three.until(refused)
            assert three.node.status()["linked"] == []
            plain = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            plain.load_verify_locations(tmp_path / "ca.pem")
            reader, writer = await asyncio.open_connection(
                *addresses[1], ssl=plain, server_hostname=certificate_name(1, "test")
            )
            try:
                said = (await reader.read(100)).decode()
            except ssl.SSLError:
                said = ""
            assert not said, "a listener spoke to somebody without a certificate"
            writer.transport.abort()

    run(test())


def test_files_that_are_replaced_while_they_are_read_are_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The replacement comes right after the first contexts were made."""
    group = Group(name="test", addresses={}, tls=certificates(tmp_path, "test", {1: 1}))
    original = sockets_module._contexts
    made = []

    def replaced_after(files: Tls) -> tuple[ssl.SSLContext, ssl.SSLContext]:
        made.append(original(files))
        if len(made) == 1:
            certificates(tmp_path, "test", {1: 1})
        return made[-1]

    monkeypatch.setattr(sockets_module, "_contexts", replaced_after)
    contexts = Contexts(group, 1)
    assert (contexts.client, contexts.server) == (made[-1][1], made[-1][0])
    assert len(made) == 2


def test_renewed_certificates_are_shown_to_new_connections(tmp_path: Path) -> None:
    """Both sides read their files again, also the authority, and keep those from before while files do not fit."""

    def connect(own: Contexts, other: Contexts) -> tuple[bool, bool]:
        """Whether each side accepts the other, in memory."""
        assert own.client is not None
        assert other.server is not None
        forth, back = ssl.MemoryBIO(), ssl.MemoryBIO()
        sides = (
            own.client.wrap_bio(back, forth, server_hostname="2.test.vez"),
            other.server.wrap_bio(forth, back, server_side=True),
        )
        done = [False, False]
        for _ in range(4):
            for place, side in enumerate(sides):
                with contextlib.suppress(ssl.SSLError):  # it wants to read more, or refuses the other
                    side.do_handshake()
                    done[place] = True
        return done[0], done[1]

    tls = certificates(tmp_path, "test", {1: 1, 2: 2})
    group = Group(name="test", addresses={}, tls=tls)
    one, two = Contexts(group, 1), Contexts(group, 2)
    assert connect(one, two) == (True, True)
    kept = (one.client, one.server)
    assert (one.client, one.server) == kept
    certificates(tmp_path, "test", {1: 1, 2: 2})  # of a new authority
    fresh = Contexts(group, 2)
    assert connect(one, fresh) == (True, True)
    assert connect(one, two) == (True, True)
    kept = (one.client, one.server)
    (tmp_path / "1.pem").write_text("half a certif")
    assert (one.client, one.server) == kept


def test_tls_handshakes_that_never_end_are_bounded_and_closed_with_the_node(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async def test() -> None:
        tls = certificates(tmp_path, "test", {1: 1, 2: 2})
        addresses: dict[int, Address] = {one: Tcp("127.0.0.1", port) for one, port in enumerate(ports(2), 1)}
        async with world(tmp_path, 2, Group(name="test", addresses=addresses, tls=tls)) as made:
            one = made.start(1, limits=Limits(strangers=3, handshake_s=PATIENCE))
            await one.until(lambda: one.said)
            silent = [await asyncio.open_connection(*addresses[1]) for _ in range(9)]
            late = [asyncio.ensure_future(closed(reader)) for reader, _ in silent]
            await one.until(lambda: sum(task.done() for task in late) >= 4)
            assert sum(task.done() for task in late) == 4, "three strangers, and as many as there are members, may wait"
            noise = next(writer for task, (_, writer) in zip(late, silent, strict=True) if not task.done())
            noise.write(b"GET / HTTP/1.1\r\n\r\n")
            await one.until(lambda: sum(task.done() for task in late) == 5)
            two = made.start(2)
            await two.linked(1)
            await one.linked(2)
        await asyncio.gather(*late)  # the node is gone, and so are the connections that were open
        for _, writer in silent:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
        said = capfd.readouterr().err.splitlines()
        assert said.count("vez node 1: refused a connection: too many have not finished their TLS handshake") == 4
        assert sum("vez node 1: refused a connection: TLS: " in line for line in said) == 1

    run(test())


def test_vez_certs_makes_certificates_that_nodes_accept(tmp_path: Path) -> None:
    folder = tmp_path / "certs"
    assert cli(["certs", str(folder), "--name", "test", "--ids", "1"]) == 0
    assert cli(["certs", str(folder), "--name", "test", "--ids", "-2"]) == 0, "a node is added later"
    assert cli(["certs", str(folder), "--name", "test", "--ids", "1"]) == 73, "nothing is replaced"
    assert cli(["certs", str(folder), "--name", "other", "--ids", "3"]) == 64
    assert {path.name: path.stat().st_mode & 0o777 for path in folder.glob("*.key")} == dict.fromkeys(
        ("ca.key", "node-1.key", "node--2.key"), 0o600
    )

    async def test() -> None:
        tls = Tls(str(folder / "ca.pem"), str(folder / "node-{id}.pem"), str(folder / "node-{id}.key"))
        addresses: dict[int, Address] = dict(zip((1, -2), (Tcp("127.0.0.1", port) for port in ports(2)), strict=True))
        async with world(tmp_path, 2, Group(name="test", addresses=addresses, tls=tls)) as made:
            made.start(-2)
            await made.start(1).linked(-2)

    run(test())


def test_vez_certs_writes_all_files_or_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "certs"
    command = ["certs", str(folder), "--name", "test", "--ids"]
    assert cli([*command, "1,1"]) == 64
    assert "node 1 is there twice" in capsys.readouterr().err
    assert not folder.exists()
    assert cli([*command, "2", "--json"]) == 0
    written = msgspec.json.decode(capsys.readouterr().out)["wrote"]
    assert sorted(written) == sorted(map(str, folder.iterdir()))
    assert cli([*command, "1,2"]) == 73
    assert not list(folder.glob("node-1.*"))
    assert cli(["certs", str(folder), "--name", "a b", "--ids", "1"]) == 64
    assert "'a b' cannot be the name of a group" in capsys.readouterr().err


def test_who_connects_as_the_node_ends_is_closed(tmp_path: Path) -> None:
    """The loop may pass on a connection after the listener was closed; only the node can close it then."""

    async def test() -> None:
        tls = certificates(tmp_path, "test", {1: 1})
        (port,) = ports(1)
        context = Contexts(Group(name="test", addresses={1: Tcp("127.0.0.1", port)}, tls=tls), 1).server
        assert context is not None
        made: list[str] = []

        def wire() -> Wire:
            made.append("a connection got in")
            raise AssertionError

        handshakes = TlsHandshakes(HandshakeSettings(wire, lambda: context, PATIENCE, 10, Log(1)))
        server = await asyncio.get_running_loop().create_server(handshakes, "127.0.0.1", port)
        handshakes.close()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        await closed(reader)
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        server.close()
        assert not made

    run(test())


class Cancelling(asyncio.Protocol):
    """Cancels the dialling task at the moment at which the connection is made."""

    def __init__(self, dialling: list[asyncio.Task[object]]) -> None:
        self._dialling = dialling
        self.transport: asyncio.BaseTransport | None = None
        self.is_lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self._dialling[0].cancel()

    def connection_lost(self, error: Exception | None) -> None:
        self.is_lost = True


class Silent(asyncio.Protocol):
    """Accepts a connection, and then reads nothing, so that it does not answer the end of TLS either."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.pause_reading()


def test_a_connection_that_is_made_as_its_dialler_is_cancelled_is_closed_at_once(tmp_path: Path) -> None:
    """asyncio would wait for the other side to close, but the loop of a node that ends does not run so long."""

    async def test() -> None:
        tls = certificates(tmp_path, "test", {1: 1, 2: 2})
        (port,) = ports(1)
        group = Group(name="test", addresses={1: Tcp("127.0.0.1", port)}, tls=tls)
        accepted, dialling = Silent(), list[asyncio.Task[object]]()
        server = await asyncio.get_running_loop().create_server(
            lambda: accepted, "127.0.0.1", port, ssl=Contexts(group, 1).server
        )
        made = Cancelling(dialling)
        name = certificate_name(1, "test")
        work = dial(group.addresses[1], lambda: made, Contexts(group, 2).client, name)
        dialling.append(asyncio.get_running_loop().create_task(work))
        await asyncio.wait(dialling)
        assert dialling[0].cancelled()
        for _ in range(10):
            await asyncio.sleep(0)
        assert made.is_lost
        accepted.transport.abort()
        server.close()
        await asyncio.sleep(0)

    run(test())
