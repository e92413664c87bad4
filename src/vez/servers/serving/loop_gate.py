"""The gate of the model `loop`: accepts connections while there is room, or room can be made.

asyncio's own server is not used: it accepts without end, and one that is closed while a connection arrives leaves its
socket open.
"""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

from vez.servers.serving.gate import BATCH, OUT_OF_DESCRIPTORS, PAUSE_S
from vez.servers.serving.loop_connection import LoopConnection

if TYPE_CHECKING:
    from vez.servers.serving.loop import Loop


class LoopGate:
    """The listening socket and the open connections. Only the loop's thread uses it."""

    def __init__(self, server: Loop, listener: socket.socket) -> None:
        self._server = server
        self._listener = listener
        self._arriving: set[asyncio.Task[None]] = set()
        self._unmade: set[LoopConnection] = set()  # accepted, but not among the open ones yet
        self._listening = False
        self._closed = False
        self.open: dict[LoopConnection, None] = {}
        self.listen()

    def listen(self) -> None:
        """Accept connections from now on. Called when there is room, or an idle connection that can make room."""
        if not self._listening and not self._closed:
            self._listening = True
            self._server.loop.add_reader(self._listener, self._accept)

    def join(self, connection: LoopConnection) -> None:
        """Add a connection whose transport was made."""
        self._unmade.discard(connection)
        self.open[connection] = None
        self.listen()

    def leave(self, connection: LoopConnection) -> None:
        """Remove a connection that has ended."""
        self.open.pop(connection, None)
        self.listen()  # there is room again

    async def close(self) -> None:
        """Accept the connections that have arrived, and stop accepting."""
        self._accept()
        self._closed = True
        self._rest()
        self._listener.close()
        if self._arriving:
            await asyncio.wait(self._arriving)

    def _rest(self) -> None:
        if self._listening:
            self._listening = False
            self._server.loop.remove_reader(self._listener)

    def _accept(self) -> None:
        server = self._server
        for _ in range(BATCH):
            full = len(self.open) + len(self._unmade) >= server.limits.connections
            if full and not any(one.is_idle for one in self.open):
                server.log.line(f"all {server.limits.connections} connections are busy: nobody is accepted")
                self._rest()
                return
            try:
                accepted, _ = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as error:
                server.log.line(f"cannot accept: {error.strerror}")
                if error.errno in OUT_OF_DESCRIPTORS:
                    self._evict()
                    self._rest()
                    server.loop.call_later(PAUSE_S, self.listen)
                return  # other errors are those of the network: the next connection may be fine
            server.counts.add("accepted")
            if full:
                self._evict()
            connection = LoopConnection(server)
            self._unmade.add(connection)
            task = server.loop.create_task(self._connect(accepted, connection))
            self._arriving.add(task)
            task.add_done_callback(self._arriving.discard)

    async def _connect(self, accepted: socket.socket, connection: LoopConnection) -> None:
        accepted.setblocking(False)
        try:
            await self._server.loop.connect_accepted_socket(lambda: connection, accepted)
        finally:
            self._unmade.discard(connection)

    def _evict(self) -> None:
        idle = [one for one in self.open if one.is_idle]
        if idle:
            self._server.counts.add("evicted")
            min(idle, key=lambda one: one.deadline).end()
