"""The proxy passes bytes on, and holds, delays, breaks and refuses them as told: over TCP and over Unix sockets."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.proxy import PATIENCE, Address, Proxy, Route
from vez.testing import eventually


def connected(address: Address) -> socket.socket:
    made = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
    made.settimeout(PATIENCE)
    made.connect(address)
    return made


def is_gone(client: socket.socket) -> bool:
    """True if the other side has ended the connection."""
    try:
        return client.recv(1) == b""
    except ConnectionError:
        return True


class Echo(threading.Thread):
    """A server that sends everything back, and counts."""

    def __init__(self, address: Address) -> None:
        super().__init__(daemon=True)
        self._server = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
        self._server.bind(address)
        self._server.listen()
        self.address: Address = self._server.getsockname()
        self.received = 0
        self.start()

    def run(self) -> None:
        while True:
            client, _ = self._server.accept()
            if self.received < 0:
                client.close()
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client:
            try:
                while data := client.recv(1 << 16):
                    self.received += len(data)
                    client.sendall(data)
            except OSError:
                pass

    def close(self) -> None:
        self.received = -1
        connected(self.address).close()
        self.join(PATIENCE)
        self._server.close()


@pytest.fixture(params=["tcp", "unix"])
def echo(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Echo]:
    server = Echo(str(tmp_path / "echo") if request.param == "unix" else ("127.0.0.1", 0))
    yield server
    server.close()


@pytest.fixture
def route(echo: Echo, tmp_path: Path) -> Iterator[Route]:
    with Proxy() as proxy:
        listen: Address = str(tmp_path / "proxy") if isinstance(echo.address, str) else ("127.0.0.1", 0)
        yield proxy.route(echo.address, listen)


def test_bytes_pass_in_order_both_ways_and_ends_too(route: Route) -> None:
    content = bytes(range(256)) * 4000
    with connected(route.address) as client:

        def write() -> None:
            client.sendall(content)
            client.shutdown(socket.SHUT_WR)

        writer = threading.Thread(target=write)
        writer.start()
        found = b""
        while data := client.recv(1 << 16):
            found += data
        writer.join()
    assert found == content
    assert (route.passed("forth"), route.passed("back"), route.accepted) == (len(content), len(content), 1)


def test_what_is_held_arrives_after_the_heal_and_one_way_leaves_the_other_open(route: Route, echo: Echo) -> None:
    with connected(route.address) as client:
        route.hold("back")
        client.sendall(b"one")
        eventually(lambda: echo.received == 3)  # forth it passes
        assert route.passed("back") == 0
        route.hold("forth")
        client.sendall(b"two")
        route.heal()
        assert client.recv(3) == b"one"
        assert client.recv(3) == b"two"


def test_a_delay_is_one_of_every_chunk_and_not_their_sum(route: Route) -> None:
    """No time is asserted but the least: a later chunk does not wait for the delay of an earlier one."""
    with connected(route.address) as client:
        route.delay(0.2, "forth")
        began = time.monotonic()
        for _ in range(30):
            client.sendall(b"x")
        found = b""
        while len(found) < 30:
            found += client.recv(100)
        assert time.monotonic() - began >= 0.2


def test_a_broken_connection_ends_and_the_next_one_works(route: Route) -> None:
    with connected(route.address) as client:
        client.sendall(b"x")
        assert client.recv(1) == b"x"
        route.sever()
        assert is_gone(client)
    with connected(route.address) as client:
        client.sendall(b"y")
        assert client.recv(1) == b"y"
        assert route.connections == 1


def test_a_cut_route_refuses_until_it_is_healed(route: Route, echo: Echo) -> None:
    with connected(route.address) as client:
        client.sendall(b"x")
        assert client.recv(1) == b"x"
        route.cut()
        assert is_gone(client)
    with connected(route.address) as client:
        assert is_gone(client)
    assert echo.received == 1
    route.heal()
    with connected(route.address) as client:
        client.sendall(b"y")
        assert client.recv(1) == b"y"


def test_a_held_route_is_bounded_the_sender_waits(route: Route) -> None:
    """As with a full TCP window: nothing is lost, and the memory of the proxy does not grow."""
    route.hold("forth")
    with connected(route.address) as client:
        client.setblocking(False)
        sent = 0
        deadline = time.monotonic() + PATIENCE
        still = 0
        while still < 50 and time.monotonic() < deadline:
            try:
                sent += client.send(b"x" * (1 << 16))
                still = 0
            except BlockingIOError:
                still += 1
                time.sleep(0.002)  # fifty times in a row nothing is taken
        assert still == 50, f"{sent} bytes were taken, and no end"
        client.setblocking(True)
        route.heal()
        found = 0
        while found < sent:
            found += len(client.recv(1 << 16))


def test_a_target_that_is_not_there_ends_the_connection(tmp_path: Path) -> None:
    with Proxy() as proxy:
        route = proxy.route(str(tmp_path / "nobody"))
        with connected(route.address) as client:
            assert is_gone(client)
