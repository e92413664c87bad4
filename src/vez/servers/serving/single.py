"""One thread does everything: accept, read, work, answer, next. While it works, all other clients wait.

Source: Camargos, Concorrência, "Single-threaded", steps 0 to 7.
"""

from __future__ import annotations

from vez.servers.serving.connection import Connection
from vez.servers.serving.threaded import ThreadedServer


class Single(ThreadedServer):
    """The thread that accepts (steps 0 and 2) also reads, works and answers (3 to 5), and then waits again (6, 7)."""

    model = "single"

    @property
    def threads(self) -> int:
        return int(self._acceptor.is_alive())

    def take(self, connection: Connection) -> None:
        self.serve(connection)

    def _end_workers(self, deadline: float) -> bool:
        return True
