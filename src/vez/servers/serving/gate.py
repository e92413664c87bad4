"""Gate: accepts connections, watches the idle ones, and returns the next connection with a request.

A connection is either in the gate (without a request, or with all requests answered) or with a thread. The gate needs
no thread of its own: a thread that asks for the next connection waits in `next`. Threads give connections back with
`park`. The kernel watches them (epoll, each armed for one event), so giving a connection back wakes no thread.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import socket
import threading
import time
from collections import deque

from vez.errors import EngineUnavailable
from vez.servers.serving.connection import Connection
from vez.servers.serving.conversation import Memory
from vez.servers.serving.limits import Limits
from vez.servers.serving.log import Log
from vez.servers.serving.recording import Counts

OUT_OF_DESCRIPTORS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
BATCH = 64
"""Largest number of connections that are accepted before other events are handled."""
PAUSE_S = 0.05
"""Seconds to wait before accepting again when the process has no descriptor left."""


class Gate:
    """The listening socket and the connections that no thread works on."""

    def __init__(self, listener: socket.socket, limits: Limits, counts: Counts, log: Log) -> None:
        if not hasattr(select, "epoll"):
            raise EngineUnavailable("this system has no epoll", hint="the model `loop` runs here")
        listener.setblocking(False)
        self._listener = listener
        self._limits = limits
        self._counts = counts
        self._log = log
        self._memory = Memory()
        self._epoll = select.epoll()
        self._bell = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._epoll.register(self._bell, select.EPOLLIN)
        self._lock = threading.Lock()
        self._idle: dict[int, Connection] = {}  # in the order in which they became idle; guarded by the lock
        self._all: dict[int, Connection] = {}  # guarded by the lock
        self._ready: deque[Connection] = deque()
        self._listening = False
        self._stopping = False
        self._stopped = False
        self._listen(True)

    def next(self) -> Connection | None:
        """Block until a connection has sent something; None when the server stops."""
        while not self._ready:
            if self._stopped:
                return None
            if self._stopping:
                self._last_round()
            else:
                self._wait()
        return self._ready.popleft()

    def park(self, connection: Connection) -> None:
        """Give a connection back whose request was answered."""
        if connection.conversation.has_begun:  # the next request came in the same packet
            connection.ready_at = time.monotonic()
            self._ready.append(connection)
            self._ring()
            return
        connection.idle_since = time.monotonic()
        with self._lock:
            if not self._stopped:
                self._idle[connection.descriptor] = connection
                self._epoll.modify(connection.descriptor, select.EPOLLIN | select.EPOLLONESHOT)
                if not self._listening:
                    self._ring()  # there is an idle connection again, which can make room
                return
        self.close(connection)

    def close(self, connection: Connection) -> None:
        """End a connection that the caller has."""
        with self._lock:
            self._all.pop(connection.descriptor, None)
            full = not self._listening
        connection.close()
        if full:
            self._ring()  # there is room again

    def stop(self) -> None:
        """Stop accepting, and let `next` return None once every connection with a request was handed out."""
        self._stopping = True
        self._ring()

    def cut(self) -> int:
        """End all connections. Returns the number of those with a request that is being worked on or is not read
        yet."""
        with self._lock:
            left, idle = list(self._all.values()), set(self._idle)
        idle -= {descriptor for descriptor, _ in self._epoll.poll(0)}
        for connection in left:
            connection.cut()
        return sum(connection.descriptor not in idle for connection in left)

    def release(self) -> None:
        """Give the descriptors back. Called when no thread uses the gate any more."""
        with self._lock:
            left, self._all = list(self._all.values()), {}
        for connection in left:
            connection.close()
        self._epoll.close()
        os.close(self._bell)

    @property
    def connections(self) -> int:
        """Number of open connections."""
        return len(self._all)

    @property
    def idle(self) -> int:
        """Number of connections that wait for their next request."""
        return len(self._idle)

    def _ring(self) -> None:
        with contextlib.suppress(OSError):
            os.eventfd_write(self._bell, 1)

    def _wait(self) -> None:
        """Wait for one round of events."""
        now = time.monotonic()
        with self._lock:
            oldest = next(iter(self._idle.values()), None)
            room = len(self._all) < self._limits.connections or oldest is not None
            if room != self._listening:
                self._listen(room)  # under the lock: a thread that makes room later sees that a ring is needed
        until = 60.0 if oldest is None else oldest.idle_since + self._limits.idle_s - now
        events = self._epoll.poll(max(0.0, until))
        now = time.monotonic()
        for descriptor, _ in events:
            if descriptor == self._bell:
                os.eventfd_read(self._bell)
            elif descriptor == self._listener.fileno():
                self._accept(now)
            else:
                self._take(descriptor, now)
        self._expire(now)

    def _take(self, descriptor: int, now: float) -> None:
        with self._lock:
            connection = self._idle.pop(descriptor, None)
        if connection is not None:
            connection.ready_at = now
            self._ready.append(connection)

    def _accept(self, now: float) -> None:
        for _ in range(BATCH):
            if len(self._all) >= self._limits.connections and not self._idle:
                return
            try:
                accepted, address = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as error:
                self._log.line(f"cannot accept: {error.strerror}")
                if error.errno in OUT_OF_DESCRIPTORS and not self._evict():
                    time.sleep(PAUSE_S)
                return  # other errors are those of the network: the next connection may be fine
            self._counts.add("accepted")
            if len(self._all) >= self._limits.connections:
                self._evict()
            connection = Connection(accepted, str(address[0]), self._limits, self._memory, now)
            with self._lock:
                self._all[connection.descriptor] = self._idle[connection.descriptor] = connection
                self._epoll.register(connection.descriptor, select.EPOLLIN | select.EPOLLONESHOT)

    def _evict(self) -> bool:
        """Close the connection that was idle longest; False if none is idle."""
        with self._lock:
            descriptor = next(iter(self._idle), None)
            connection = None if descriptor is None else self._idle.pop(descriptor)
        if connection is None:
            return False
        self._counts.add("evicted")
        self.close(connection)
        return True

    def _expire(self, now: float) -> None:
        while True:
            with self._lock:
                oldest = next(iter(self._idle.values()), None)
                if oldest is None or oldest.idle_since + self._limits.idle_s > now:
                    return
                del self._idle[oldest.descriptor]
            self.close(oldest)

    def _listen(self, wanted: bool) -> None:
        if wanted:
            self._epoll.register(self._listener, select.EPOLLIN)
        else:
            self._epoll.unregister(self._listener)
            self._log.line(f"all {self._limits.connections} connections are busy: nobody is accepted")
        self._listening = wanted

    def _last_round(self) -> None:
        """Accept the connections that have arrived, close the idle ones, and stop listening."""
        now = time.monotonic()
        if self._listening:
            self._accept(now)
        for descriptor, _ in self._epoll.poll(0):
            self._take(descriptor, now)
        with self._lock:
            self._stopped = True
            idle, self._idle = list(self._idle.values()), {}
        for connection in idle:
            self.close(connection)
        self._listener.close()
