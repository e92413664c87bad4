"""The common part of all models: the listening socket, counts, logs, and the stop of a server."""

from __future__ import annotations

import socket
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable
from ipaddress import ip_address
from itertools import count
from typing import Any

from vez.errors import EngineUnavailable, Misuse
from vez.servers.serving.http import HttpConversation
from vez.servers.serving.limits import Limits, Rate
from vez.servers.serving.log import Log
from vez.servers.serving.recording import Counts, Phase, Recorder
from vez.servers.serving.service import Answer, Refusal, Request, Service

BROKEN = Answer(500, b"the service failed\n")
LOADED = Answer(503, b"the server is loaded\n", headers=(("Retry-After", "1"),))
BUSY = HttpConversation(Limits()).reply(LOADED, close=True)
"""The bytes of `LOADED`, for a client whose request was not read."""
CUT_S = 1.0
"""Seconds that threads may take to notice that their connections were cut."""


def listen(host: str, port: int, backlog: int) -> socket.socket:
    """A listening socket on loopback. Other addresses are refused, because there is no authentication."""
    try:
        loopback = ip_address(host).is_loopback
    except ValueError:
        loopback = host == "localhost"
    if not loopback:
        raise Misuse(f"{host} is not a loopback address", hint="servers have no authentication: use 127.0.0.1")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(backlog)
    except (OSError, OverflowError) as error:
        listener.close()
        raise EngineUnavailable(f"cannot listen at {host}:{port}: {error}") from error
    return listener


class Server(ABC):
    """One service, served on one address. `start` returns at once; threads do the work until `stop`."""

    model = ""

    def __init__(
        self,
        service: Service[Any, Any],
        limits: Limits | None = None,
        *,
        write_log: Callable[[str], None] | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        self.service = service
        self.limits = limits or Limits()
        self.counts = Counts()
        self.log = Log(f"{service.name} ({self.model})", write_log)
        self.recorder = recorder
        self.address = ("", 0)
        self._rate = Rate(self.limits.requests_a_second)
        self.numbers = count(1)
        self._stopping = False
        self._stopped: bool | None = None
        self._stop_lock = threading.Lock()

    def start(self, host: str = "127.0.0.1", port: int = 0) -> tuple[str, int]:
        """Listen and begin to serve. Returns the address. Port 0 takes a free port."""
        if self.address[1]:
            raise Misuse("this server was started before", hint="make a new one")
        listener = listen(host, port, self.limits.backlog)
        self.address = listener.getsockname()[:2]
        self._begin(listener)
        self.log.line(f"serving at {self.url}", always=True)
        return self.address

    @property
    def url(self) -> str:
        """The URL of the server."""
        host, port = self.address
        return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"

    def stop(self, grace_s: float | None = None) -> bool:
        """Stop accepting, answer the current request of each connection, then end.

        Requests that a client has sent after its current one are not answered. False if some connections had to be cut
        after the grace time.
        """
        with self._stop_lock:
            if self._stopped is None:
                self._stopping = True
                grace = self.limits.grace_s if grace_s is None else grace_s
                started = self.address[1] != 0
                self._stopped = not started or self._end(time.monotonic() + grace)
                if not started or self.threads == 0:  # no thread uses the service any more
                    self.service.close()
                how = "" if self._stopped else f"; cut what was not done after {grace:g} s"
                self.log.line(f"stopped{how}", always=True)
            return self._stopped

    def __enter__(self) -> Server:
        if not self.address[1]:
            self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    @abstractmethod
    def threads(self) -> int:
        """Current number of threads of this server."""

    @property
    @abstractmethod
    def connections(self) -> int:
        """Number of open connections."""

    @property
    @abstractmethod
    def idle(self) -> int:
        """Number of connections that wait for their next request."""

    @abstractmethod
    def _begin(self, listener: socket.socket) -> None:
        """Start the threads."""

    @abstractmethod
    def _end(self, deadline: float) -> bool:
        """End the threads; True if all requests were done by the deadline."""

    def note_cut(self, many: int) -> None:
        """Count and log the connections that were cut with a request."""
        if many:
            self.counts.add("cut", many)
            self.log.line(f"cut {many} connection{'s' * (many != 1)}", always=True)

    def question(self, request: Request, address: str, now: float) -> Any:
        """Count a request and decode it. Raises Refusal."""
        self.counts.add("requests")
        if not self._rate.allows(address, now):
            self.counts.add("limited")
            raise Refusal(429, "too many requests", (("Retry-After", "1"),))
        return self.service.decode(request)

    def explain(self, error: Exception) -> Answer:
        """The answer for an exception of the service."""
        if isinstance(error, Refusal):
            return error.answer
        self.counts.add("failed")
        self.log.line(f"the service failed: {type(error).__name__}: {error} ({place_of(error)})")
        return BROKEN

    def note(self, phase: Phase, number: int, begin: float) -> float:
        """Record a span of this thread. Returns the current time."""
        now = time.monotonic()
        if self.recorder is not None:
            self.recorder.add(threading.current_thread().name, phase, number, begin, now)
        return now


def place_of(error: Exception) -> str:
    """The place at which an exception was raised."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{place.filename}:{place.lineno}"
