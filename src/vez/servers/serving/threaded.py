"""Servers whose threads block: the three steps of a request around a gate.

A model says which thread does which step: it calls `receive`, `decide` and `send` from threads of its choice.
"""

from __future__ import annotations

import socket
import threading
import time
from abc import abstractmethod
from typing import Any

from vez.servers.serving.connection import Connection, TooSlow
from vez.servers.serving.gate import Gate
from vez.servers.serving.http import BadRequest, Vanished
from vez.servers.serving.recording import Phase
from vez.servers.serving.server import BROKEN, BUSY, CUT_S, Server, place_of
from vez.servers.serving.service import Answer


class Exchange:
    """One request on its way through a server."""

    __slots__ = ("answer", "connection", "number", "question", "since")

    def __init__(self, connection: Connection, number: int) -> None:
        self.connection = connection
        self.number = number
        self.question: Any = None
        self.answer: Answer | None = None
        self.since = connection.ready_at
        """Time at which the request began to wait for its next step."""


class ThreadedServer(Server):
    """A server whose threads block, around a gate."""

    first_queue = "queue"
    """The lane in which recordings show the wait of a request before a thread reads it."""
    _cut = False

    def _begin(self, listener: socket.socket) -> None:
        try:
            self.gate = Gate(listener, self.limits, self.counts, self.log)
        except BaseException:
            listener.close()
            raise
        self._acceptor = threading.Thread(target=self._accept, name="acceptor", daemon=True)
        self._begin_workers()
        self._acceptor.start()

    def _begin_workers(self) -> None:
        """Start further threads."""

    @abstractmethod
    def take(self, connection: Connection) -> None:
        """Handle a connection that has sent something, as this model does. Called by the acceptor."""

    @abstractmethod
    def _end_workers(self, deadline: float) -> bool:
        """End all threads except the acceptor. False if some have not ended by the deadline."""

    @property
    def connections(self) -> int:
        return self.gate.connections

    @property
    def idle(self) -> int:
        return self.gate.idle

    def _accept(self) -> None:
        while (connection := self.gate.next()) is not None:
            try:
                self.take(connection)
            except Exception as error:
                self.give_up(connection, error)

    def _end(self, deadline: float) -> bool:
        self.gate.stop()
        if self._join(deadline):
            self.gate.release()
            return True
        self._cut = True  # set first: errors that threads meet from now on are not caused by clients
        self.note_cut(self.gate.cut())
        if self._join(time.monotonic() + CUT_S):
            self.gate.release()
        else:
            self.log.line("a request is still inside the service; its thread is left behind")
        return False

    def _join(self, deadline: float) -> bool:
        self._acceptor.join(max(0.0, deadline - time.monotonic()))
        return not self._acceptor.is_alive() and self._end_workers(deadline)

    def give_up(self, connection: Connection, error: Exception) -> None:
        """End a connection after an error, such as an answer that HTTP does not allow.

        Every thread calls this for an unexpected exception, and continues.
        """
        self.counts.add("failed")
        self.log.line(f"a connection failed: {type(error).__name__}: {error} ({place_of(error)})")
        self.gate.close(connection)

    def serve(self, connection: Connection) -> None:
        """Execute all three steps in this thread."""
        try:
            exchange = self.receive(connection)
            if exchange is not None:
                self.decide(exchange)
                self.send(exchange)
        except Exception as error:
            self.give_up(connection, error)

    def receive(self, connection: Connection) -> Exchange | None:
        """Read one request and decode it; None if the connection is over."""
        begin = time.monotonic()
        try:
            request = connection.receive()
        except BadRequest as bad:
            self.counts.add("malformed")
            self.log.line(f"{connection.address}: bad request ({bad.answer.status}): {bad}")
            exchange = Exchange(connection, 0)
            exchange.answer = bad.answer
            return exchange
        except (TooSlow, Vanished) as error:
            self._lose(connection, error, "sending a request")
            return None
        if request is None:
            self.gate.close(connection)
            return None
        exchange = Exchange(connection, next(self.numbers))
        try:
            exchange.question = self.question(request, connection.address, begin)
        except Exception as error:
            exchange.answer = self.explain(error)
        if self.recorder is not None:
            self.recorder.add(self.first_queue, Phase.WAIT, exchange.number, connection.ready_at, begin)
        exchange.since = self.note(Phase.RECEIVE, exchange.number, begin)
        return exchange

    def decide(self, exchange: Exchange) -> None:
        """Let the service decide, unless the answer is already known."""
        if exchange.answer is None:
            begin = time.monotonic()
            service = self.service
            try:
                exchange.answer = service.answer(service.decide(exchange.question))
            except Exception as error:
                exchange.answer = self.explain(error)
            exchange.since = self.note(Phase.DECIDE, exchange.number, begin)

    def send(self, exchange: Exchange) -> None:
        """Send the answer and give the connection back to the gate."""
        begin = time.monotonic()
        connection, answer = exchange.connection, exchange.answer or BROKEN
        try:
            connection.send(answer, close=self._stopping)
        except (TooSlow, Vanished) as error:
            self._lose(connection, error, "taking an answer")
            return
        self.counts.add("answered")
        self.note(Phase.SEND, exchange.number, begin)
        if not connection.conversation.over:
            self.gate.park(connection)
            return
        if answer.status in (400, 413, 421, 431):
            connection.part()
        self.gate.close(connection)

    def refuse(self, connection: Connection) -> None:
        """Refuse a request because the server is full."""
        self.counts.add("refused")
        connection.refuse(BUSY)
        self.gate.close(connection)

    def _lose(self, connection: Connection, error: Exception, doing: str) -> None:
        slow = isinstance(error, TooSlow)
        if slow or not self._cut:
            self.counts.add("slow" if slow else "vanished")
            self.log.line(f"{connection.address}: {'too slow' if slow else 'vanished'} while {doing}")
        self.gate.close(connection)
