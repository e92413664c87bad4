"""The two wires on a real socket: the data that they carry, and their errors."""

from __future__ import annotations

import asyncio
import inspect
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from vez.locks.engines.network import task_wire, thread_wire
from vez.locks.engines.network.wires import Broken, NotConnected, Silence

PATIENCE = 10.0


class Side:
    """One kind of wire; its calls block the test, for tasks by a loop of its own."""

    def __init__(self, kind: str) -> None:
        self.loop = asyncio.new_event_loop() if kind == "tasks" else None
        self.module: Any = thread_wire if self.loop is None else task_wire

    def __call__(self, call: Callable[..., Any], *arguments: object) -> Any:
        result = call(*arguments)
        if self.loop is None:
            return result
        return self.loop.run_until_complete(result) if inspect.isawaitable(result) else result

    def interrupt_soon(self, wire: Any) -> None:
        if self.loop is None:
            threading.Timer(0.1, wire.interrupt).start()
        else:
            self.loop.call_later(0.1, wire.interrupt)


@pytest.fixture(params=["threads", "tasks"])
def side(request: pytest.FixtureRequest) -> Iterator[Side]:
    made = Side(request.param)
    yield made
    if made.loop is not None:
        made.loop.close()


@pytest.fixture
def ends(side: Side) -> Iterator[tuple[Any, socket.socket]]:
    """A wire, and the socket of the server at its other end."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        wire = side(side.module.open_wire, "127.0.0.1", server.getsockname()[1], None, PATIENCE)
        there, _ = server.accept()
        with there:
            yield wire, there
        side(wire.close)


def test_bytes_go_both_ways(side: Side, ends: tuple[Any, socket.socket]) -> None:
    wire, there = ends
    side(wire.write, b"ping", PATIENCE)
    assert there.recv(100) == b"ping"
    there.sendall(b"pong")
    assert side(wire.read, PATIENCE) == b"pong"


def test_silence_is_told_and_does_no_harm(side: Side, ends: tuple[Any, socket.socket]) -> None:
    wire, there = ends
    for seconds in (0.01, 0.0, -1.0):
        with pytest.raises(Silence):
            side(wire.read, seconds)
    there.sendall(b"late")
    assert side(wire.read, PATIENCE) == b"late"


def test_a_write_without_time_is_sent_or_times_out(side: Side, ends: tuple[Any, socket.socket]) -> None:
    wire, there = ends
    for seconds in (0.0, -1.0):
        side(wire.write, b"ping", seconds)
        assert there.recv(100) == b"ping"


def test_a_wire_is_idle_until_something_comes(side: Side, ends: tuple[Any, socket.socket]) -> None:
    wire, there = ends
    assert wire.idle()
    there.close()
    assert not wire.idle()
    assert side(wire.read, PATIENCE) == b""


def test_a_closed_wire_is_not_idle(side: Side, ends: tuple[Any, socket.socket]) -> None:
    wire, _ = ends
    side(wire.close)
    assert not wire.idle()
    with pytest.raises(Broken):
        side(wire.write, b"x", PATIENCE)


def test_a_read_can_be_interrupted(side: Side, ends: tuple[Any, socket.socket]) -> None:
    """A thread finds its wire closed, a task finds no data; both then check why they were woken."""
    wire, _ = ends
    side.interrupt_soon(wire)
    try:
        assert side(wire.read, PATIENCE) == b""
    except Silence:
        assert side.loop is not None


def test_a_connection_that_was_reset_is_broken(side: Side, ends: tuple[Any, socket.socket]) -> None:
    wire, there = ends
    side(wire.write, b"unread", PATIENCE)
    there.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    there.close()
    with pytest.raises(Broken) as caught:
        side(wire.read, PATIENCE)
    assert isinstance(caught.value.__cause__, ConnectionResetError)


def test_nobody_at_the_port(side: Side) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(NotConnected) as caught:
        side(side.module.open_wire, "127.0.0.1", port, None, PATIENCE)
    assert isinstance(caught.value.__cause__, ConnectionRefusedError)


def test_both_have_the_same_names() -> None:
    """Otherwise the code generated for threads could not use the same names as the code for tasks."""
    ways = ("write", "read", "idle", "interrupt", "drop", "close")
    for name in ways:
        assert inspect.signature(getattr(thread_wire.Wire, name)) == inspect.signature(getattr(task_wire.Wire, name))
    assert inspect.signature(thread_wire.open_wire) == inspect.signature(task_wire.open_wire)
