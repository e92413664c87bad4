"""Threads and tasks get the same reason why a server cannot be used."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import vez
from vez import aio
from vez.errors import EngineUnavailable
from vez.testing.servers import EtcdServer

Answering = Callable[[socket.socket], object]


@contextlib.contextmanager
def stranger(answer: Answering) -> Iterator[int]:
    """A port at which a server answers that is not etcd."""
    kept: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    one = server.accept()[0]
                    kept.append(one)
                    answer(one)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join(10)
        for one in kept:
            one.close()


def closes(one: socket.socket) -> None:
    one.recv(5000)
    one.close()


def resets(one: socket.socket) -> None:
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    one.recv(5000)
    one.close()


def talks(one: socket.socket) -> None:
    one.recv(5000)
    one.sendall(b"220 hello\r\n")


def reasons(url: str) -> tuple[str, str]:
    """The errors that a thread and a task get."""

    async def run() -> None:
        async with aio.connect(url) as client, client.lock("x", timeout=0.5):
            pass

    with vez.connect(url) as client, pytest.raises(EngineUnavailable) as thread:
        client.lock("x").acquire(0.5)
    with pytest.raises(EngineUnavailable) as task:
        asyncio.run(run())
    return str(thread.value), str(task.value)


def test_a_port_of_etcd_without_tls(etcd: EtcdServer) -> None:
    """etcd closes the connection. If it has not read the whole greeting by then, the kernel makes that a reset."""
    for told in reasons(f"{etcd.url}?tls=1"):
        assert re.search("it closed the connection in the middle of TLS|Connection reset by peer", told)
        assert "which speaks TLS?" in told


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (closes, "in the middle of TLS"),
        (resets, "Connection reset by peer"),
        (talks, "wrong version number|WRONG_VERSION_NUMBER"),
    ],
)
@pytest.mark.parametrize("tls", [True, False])
def test_something_else_at_the_port(answer: Any, words: str, tls: bool) -> None:
    with stranger(answer) as port:
        thread, task = reasons(f"etcd://127.0.0.1:{port}{'?tls=1' if tls else ''}")
    assert thread == task
    assert not tls or re.search(words, task)
