"""One acceptor, a bounded blocking queue, n workers.

If the queue is full, the acceptor blocks, and with it all later clients, as in the text; or the request is refused with
503 at once. The number of workers is fixed, or grows and shrinks between two bounds.

Source: Camargos, Concorrência, "Thread pool".
"""

from __future__ import annotations

import time
from typing import Any

from vez.servers.serving.connection import Connection
from vez.servers.serving.recording import Phase
from vez.servers.serving.stage import Size, Stage
from vez.servers.serving.threaded import ThreadedServer


class Pool(ThreadedServer):
    """The acceptor puts connections that have sent something into the queue; workers serve one request of each."""

    model = "pool"

    def __init__(self, *arguments: Any, size: Size | None = None, refuse_when_full: bool = False, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._refuse_when_full = refuse_when_full
        self.stage = Stage("worker", size or Size(), self.serve)

    @property
    def threads(self) -> int:
        return int(self._acceptor.is_alive()) + self.stage.threads

    def _begin_workers(self) -> None:
        self.stage.start()

    def take(self, connection: Connection) -> None:
        if self.stage.offer(connection):
            return
        if self._refuse_when_full:
            self.refuse(connection)
            return
        begin = time.monotonic()
        if not self.stage.put(connection):
            self.gate.close(connection)
        self.note(Phase.BLOCKED, 0, begin)

    def _end_workers(self, deadline: float) -> bool:
        self.stage.close()
        return self.stage.join(deadline)
