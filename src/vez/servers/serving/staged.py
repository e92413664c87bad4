"""Stages: each step of a request has a queue and a pool of its own, with its own size.

`receive` reads and decodes, `decide` does the work, `send` answers. A full queue blocks the threads of the stage before
it, and finally the acceptor: back pressure. A stage that blocks on the disk needs more threads than one that computes.

Source: Camargos, Concorrência, "Estágios"; Welsh, Culler and Brewer, SEDA, SOSP 2001.
"""

from __future__ import annotations

import time
from typing import Any

from vez.servers.serving.connection import Connection
from vez.servers.serving.recording import Phase
from vez.servers.serving.stage import Size, Stage
from vez.servers.serving.threaded import Exchange, ThreadedServer

STAGES = ("receive", "decide", "send")


class Staged(ThreadedServer):
    """Three stages in a row."""

    model = "staged"
    first_queue = "queue receive"

    def __init__(
        self, *arguments: Any, sizes: tuple[Size, Size, Size], refuse_when_full: bool = False, **more: Any
    ) -> None:
        super().__init__(*arguments, **more)
        self._refuse_when_full = refuse_when_full
        self._first = Stage(STAGES[0], sizes[0], self._receive)
        self._second = Stage(STAGES[1], sizes[1], self._decide)
        self._third = Stage(STAGES[2], sizes[2], self._send)
        self.stages: tuple[Stage[Any], ...] = (self._first, self._second, self._third)

    @property
    def threads(self) -> int:
        return int(self._acceptor.is_alive()) + sum(stage.threads for stage in self.stages)

    def _begin_workers(self) -> None:
        for stage in self.stages:
            stage.start()

    def take(self, connection: Connection) -> None:
        if self._refuse_when_full:
            if not self._first.offer(connection):
                self.refuse(connection)
        else:
            self._pass_on(self._first, connection, connection, 0)

    def _receive(self, connection: Connection) -> None:
        try:
            exchange = self.receive(connection)
        except Exception as error:
            self.give_up(connection, error)
            return
        if exchange is not None:
            stage = self._second if exchange.answer is None else self._third
            self._pass_on(stage, exchange, connection, exchange.number)

    def _decide(self, exchange: Exchange) -> None:
        self._waited("queue decide", exchange)
        self.decide(exchange)
        self._pass_on(self._third, exchange, exchange.connection, exchange.number)

    def _send(self, exchange: Exchange) -> None:
        self._waited("queue send", exchange)
        try:
            self.send(exchange)
        except Exception as error:
            self.give_up(exchange.connection, error)

    def _pass_on(self, stage: Stage[Any], task: Any, connection: Connection, number: int) -> None:
        """Put a task into the next queue; blocks while it is full."""
        if stage.offer(task):
            return
        begin = time.monotonic()
        if not stage.put(task):  # the server was stopped by force
            self.gate.close(connection)
        self.note(Phase.BLOCKED, number, begin)

    def _waited(self, lane: str, exchange: Exchange) -> None:
        if self.recorder is not None:
            self.recorder.add(lane, Phase.WAIT, exchange.number, exchange.since)

    def _end_workers(self, deadline: float) -> bool:
        done = True
        for stage in self.stages:  # in order: each stage passes its tasks on before the next one is closed
            stage.close()
            done = stage.join(deadline) and done
        return done
