"""Measure round trips over a real TCP connection on this machine."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable

from vez.errors import Misuse, VezError
from vez.study.timeout.silence import Samples

MAX_ROUND_TRIPS = 100_000
GIVE_UP_S = 5.0


def measure_loopback(round_trips: int, step: Callable[[], None] = lambda: None) -> Samples:
    """Time `round_trips` one-byte round trips over TCP on 127.0.0.1, one after the other."""
    if not 1 <= round_trips <= MAX_ROUND_TRIPS:
        raise Misuse(f"{round_trips} round trips, expected 1 to {MAX_ROUND_TRIPS:,}")
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(GIVE_UP_S)
            with socket.create_connection(server.getsockname(), GIVE_UP_S) as here:
                there, _ = server.accept()
                with there:
                    return Samples(_round_trips(here, there, round_trips, step), "loopback TCP")
    except OSError as error:
        raise VezError(f"cannot measure on loopback: {error}", hint="give --delay or --samples instead") from error


def _round_trips(here: socket.socket, there: socket.socket, count: int, step: Callable[[], None]) -> list[float]:
    for end in (here, there):
        end.settimeout(GIVE_UP_S)
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    echo = threading.Thread(target=_echo, args=(there, count), daemon=True)
    echo.start()
    found = []
    for _ in range(count):
        start = time.perf_counter_ns()
        here.sendall(b"?")
        if not here.recv(1):
            raise ConnectionError("the other end closed")
        found.append((time.perf_counter_ns() - start) / 1e6)
        step()
    echo.join(GIVE_UP_S)
    return found


def _echo(there: socket.socket, count: int) -> None:
    try:
        for _ in range(count):
            there.sendall(there.recv(1))
    except OSError:
        return  # the other end notices by its own timeout
