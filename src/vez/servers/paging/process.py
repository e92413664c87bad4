"""Servers as processes, which can be killed and started again, and a client that reads their pages."""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec

from vez.errors import EngineUnavailable
from vez.servers.paging.refusal import Refused
from vez.servers.paging.service import Setup
from vez.servers.paging.store import Row

PATIENCE_S = 20.0
TRIES, PAUSE_S = 5, 0.2
"""Attempts to start a server at the port that it had before, and seconds between them."""


class ServerProcess:
    """A real server. Its log goes to a file."""

    def __init__(self, setup: Setup, log: Path) -> None:
        self._log = log
        self._setup = setup
        self._process = self._start()

    @property
    def port(self) -> int:
        """The port at which it listens. A server that is started again listens at the same port."""
        return self._setup.port

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def memory(self) -> int | None:
        """Resident memory of the process in bytes, without shared pages; None if the system does not report it (no
        /proc)."""
        try:
            resident, shared = map(int, Path(f"/proc/{self.pid}/statm").read_text().split()[1:3])
        except FileNotFoundError:
            return None
        return (resident - shared) * os.sysconf("SC_PAGE_SIZE")

    def kill(self) -> None:
        """Kill the process with SIGKILL, so that it cannot close its connections in order."""
        self._process.send_signal(signal.SIGKILL)
        self._end()

    def start_again(self) -> None:
        """Start the server again, at the same port and with the same setup."""
        for _ in range(TRIES - 1):
            try:
                self._process = self._start()
            except EngineUnavailable:  # an outgoing connection may use the port
                time.sleep(PAUSE_S)
            else:
                return
        self._process = self._start()

    def stop(self) -> None:
        """Let the server answer the requests that it has begun, and end."""
        with contextlib.suppress(OSError):
            self._stdin.close()
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._end()

    def _start(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "vez.servers.paging"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                process_group=0,
            )  # fmt: skip
        if process.stdin is None or process.stdout is None:
            raise EngineUnavailable("the pipes of the server could not be made")
        self._stdin, self._stdout = process.stdin, process.stdout
        with contextlib.suppress(BrokenPipeError):  # it has ended already, and its log says why
            self._stdin.write(msgspec.json.encode(self._setup) + b"\n")
            self._stdin.flush()
        line = self._stdout.readline()
        if not line:
            process.wait(PATIENCE_S)
            self._close_pipes()
            raise EngineUnavailable(f"the server did not start: {_last_line(self._log)}")
        self._setup = msgspec.structs.replace(self._setup, port=msgspec.json.decode(line)["port"])
        return process

    def _end(self) -> None:
        self._process.wait(PATIENCE_S)
        self._close_pipes()

    def _close_pipes(self) -> None:
        for pipe in (self._stdin, self._stdout):
            with contextlib.suppress(OSError):
                pipe.close()


@contextlib.contextmanager
def running(setup: Setup, log: Path) -> Iterator[ServerProcess]:
    """A server until the end of the block."""
    server = ServerProcess(setup, log)
    try:
        yield server
    finally:
        server.stop()


def _last_line(path: Path) -> str:
    lines = path.read_text(errors="replace").splitlines()
    return lines[-1] if lines else "it said nothing"


class Client:
    """One client, with one connection that is kept open."""

    def __init__(self, port: int, authorization: str) -> None:
        self.authorization = authorization
        self.requests = 0
        self.go_to(port)

    def go_to(self, port: int) -> None:
        """Send the next requests to another server."""
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)

    def log_in(self, kind: str) -> None:
        """Exchange the password for a session or a token."""
        self.authorization = "Bearer " + self.ask("POST", "/login", {"as": kind})["secret"]

    def first(self, way: str, count: int) -> dict[str, Any]:
        """The first page."""
        return self.ask("GET", "/rows", {"way": way, "count": count})

    def following(self, way: str, place: str, count: int, step: int | None = None) -> dict[str, Any]:
        """The page after a cursor, or the next page of a view."""
        more = {} if step is None else {"step": step}
        return self.ask("GET", "/rows", {"view" if way == "view" else "cursor": place, "count": count, **more})

    def pages(self, way: str, count: int) -> Iterator[list[Row]]:
        """Every page, one after the other."""
        page = self.first(way, count)
        yield _rows(page)
        while page["next"] is not None:
            page = self.following(way, page["next"], count)
            yield _rows(page)

    def ask(self, method: str, path: str, fields: dict[str, Any] | None = None, body: str = "") -> dict[str, Any]:
        """Send one request. Raises `Refused`, or `OSError` or `HTTPException` if there is no server."""
        self.requests += 1
        target = f"{path}?{urlencode(fields)}" if fields else path
        try:
            self._connection.request(method, target, body or None, {"Authorization": self.authorization})
            response = self._connection.getresponse()
            answer: dict[str, Any] = msgspec.json.decode(response.read())
        except BaseException:
            self._connection.close()  # the next request opens a new one
            raise
        if response.status != 200:
            raise Refused(response.status, answer["error"])
        return answer

    def close(self) -> None:
        """End the connection."""
        self._connection.close()


def _rows(page: dict[str, Any]) -> list[Row]:
    return [(price, number, name) for price, number, name in page["rows"]]
