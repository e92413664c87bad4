"""Clients and services for the tests of servers."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any

from vez.servers.serving import Answer, Limits, Refusal, Request, Server, Service, Settings, make_server
from vez.servers.serving.recording import Recorder

PATIENCE_S = 20.0
"""Seconds for which a test waits for an expected event. Only a defect takes so long, even on a busy machine."""


class Doors(Service[str, str]):
    """Echoes the target. `/door/NAME` waits until the test opens that door; `/raise` fails; `/refuse` is refused;
    `/big` is more than the kernel's buffers hold; `/forbidden` has a header that HTTP does not allow."""

    name = "doors"

    def __init__(self) -> None:
        self._came = threading.Condition()
        self._inside: list[str] = []
        self._opened: set[str] = set()
        self.closed = False

    def decode(self, request: Request) -> str:
        if request.target == "/refuse":
            raise Refusal(418, "a teapot")
        return request.target + request.body.decode()

    def decide(self, question: str) -> str:
        if question == "/raise":
            raise ValueError("on purpose")
        if question.startswith("/door/"):
            with self._came:
                self._inside.append(question)
                self._came.notify_all()
                assert self._came.wait_for(lambda: question in self._opened, PATIENCE_S), "nobody opened the door"
        return question

    def answer(self, result: str) -> Answer:
        if result == "/forbidden":
            return Answer(headers=(("X", "a\r\nSet-Cookie: b"),))
        return Answer(body=b"x" * (16 << 20) if result == "/big" else result.encode())

    def close(self) -> None:
        self.closed = True

    def wait_inside(self, count: int) -> list[str]:
        """Wait until `count` requests have arrived at their doors. Returns all that arrived, in order."""
        with self._came:
            assert self._came.wait_for(lambda: len(self._inside) >= count, PATIENCE_S), self._inside
            return list(self._inside)

    @property
    def inside(self) -> list[str]:
        return list(self._inside)

    def open(self, *names: str) -> None:
        with self._came:
            self._opened.update(f"/door/{name}" for name in names)
            self._came.notify_all()


@contextmanager
def serving(
    model: str,
    service: Service[Any, Any],
    *,
    log: Callable[[str], None] | None = None,
    limits: Limits | None = None,
    recorder: Recorder | None = None,
    **settings: Any,
) -> Iterator[Server]:
    """A started server, stopped at the end."""
    server = make_server(model, service, settings=Settings(**settings), limits=limits, write_log=log, recorder=recorder)
    server.start()
    try:
        yield server
    finally:
        server.stop(1)


def client(server: Server) -> HTTPConnection:
    """A client with a connection of its own, which it keeps."""
    return HTTPConnection(*server.address, timeout=PATIENCE_S)


def ask(connection: HTTPConnection, target: str, method: str = "GET", body: bytes | None = None) -> tuple[int, bytes]:
    """Status and body of one request."""
    connection.request(method, target, body)
    response = connection.getresponse()
    return response.status, response.read()


def get(server: Server, target: str) -> tuple[int, bytes]:
    """One request on a connection of its own."""
    connection = client(server)
    try:
        return ask(connection, target)
    finally:
        connection.close()


class Asking(threading.Thread):
    """A client in a thread of its own, which asks once."""

    def __init__(self, server: Server, target: str) -> None:
        super().__init__(daemon=True)
        self._server, self._target = server, target
        self.status = 0
        self.body = b""
        self.error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self.status, self.body = get(self._server, self._target)
        except OSError as error:
            self.error = error

    def end(self) -> tuple[int, bytes]:
        """Wait for the answer."""
        self.join(PATIENCE_S)
        assert not self.is_alive(), f"no answer to {self._target}"
        if self.error is not None:
            raise self.error
        return self.status, self.body


def raw(server: Server, *parts: bytes) -> bytes:
    """Send bytes unchanged. Returns everything that the server sends until it ends the connection."""
    with socket.create_connection(server.address, PATIENCE_S) as plug:
        for part in parts:
            plug.sendall(part)
        return read_all(plug)


def read_all(plug: socket.socket) -> bytes:
    """Everything until the other side ends the connection."""
    found = bytearray()
    while data := plug.recv(1 << 18):
        found += data
    return bytes(found)


def wait_until(true: Callable[[], bool]) -> None:
    """Poll until a condition is true, for conditions without an event."""
    pause = threading.Event()
    for _ in range(int(PATIENCE_S * 100)):
        if true():
            return
        pause.wait(0.01)
    raise AssertionError("did not happen")
