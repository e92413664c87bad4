"""One thread and an event loop, which handles events in the order in which they come. Blocking work goes to a pool.

The loop accepts, reads, decodes and answers for all connections, and never blocks. A request whose result is known at
once is answered at once; the others are decided by the threads of a stage, which tell the loop when they are done.

Source: Camargos, Concorrência, "E/S assíncrona".
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections import deque
from typing import Any

from vez.servers.serving.connection import CHUNK
from vez.servers.serving.conversation import Memory
from vez.servers.serving.loop_connection import LoopConnection
from vez.servers.serving.loop_gate import LoopGate
from vez.servers.serving.recording import Phase
from vez.servers.serving.server import CUT_S, Server
from vez.servers.serving.service import Answer
from vez.servers.serving.stage import Size, Stage

SWEEPS = 4
"""Number of checks of the connections within the shortest time limit."""


class Task:
    """A request that the pool decides."""

    __slots__ = ("answer", "connection", "number", "question", "since")

    def __init__(self, connection: LoopConnection, number: int, question: Any, since: float) -> None:
        self.connection = connection
        self.number = number
        self.question = question
        self.since = since
        self.answer: Answer | None = None


class Loop(Server):
    """An event loop in one thread, and a stage for blocking work."""

    model = "loop"

    def __init__(self, *arguments: Any, size: Size | None = None, refuse_when_full: bool = False, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.refuse_when_full = refuse_when_full
        self.stage: Stage[Task] = Stage("worker", size or Size(), self._decide)
        self.memory = Memory()
        self.buffer = memoryview(bytearray(CHUNK))
        self._postponed: deque[Task] = deque()  # tasks for which the queue had no room
        self._thread = threading.Thread(target=self._run, name="loop", daemon=True)
        self._begun = threading.Event()

    @property
    def threads(self) -> int:
        return int(self._thread.is_alive()) + self.stage.threads

    @property
    def connections(self) -> int:
        return len(self.gate.open)

    @property
    def idle(self) -> int:
        return sum(connection.is_idle for connection in list(self.gate.open))

    @property
    def stopping(self) -> bool:
        """True from the moment of `stop`."""
        return self._stopping

    def _begin(self, listener: socket.socket) -> None:
        listener.setblocking(False)
        self._listener = listener
        self.loop = asyncio.new_event_loop()
        self.stage.start()
        self._thread.start()
        self._begun.wait()

    def _run(self) -> None:
        asyncio.set_event_loop(None)
        self.loop.set_exception_handler(self._complain)
        try:
            self.loop.run_until_complete(self._serve())
        finally:
            self.loop.close()

    async def _serve(self) -> None:
        self._stop_asked = asyncio.Event()
        self.gate = gate = LoopGate(self, self._listener)
        shortest = min(self.limits.request_s, self.limits.answer_s, self.limits.idle_s)
        sweeper = self.loop.create_task(self._sweep(min(1.0, shortest / SWEEPS)))
        self._begun.set()
        await self._stop_asked.wait()
        await gate.close()
        sweeper.cancel()
        while gate.open:
            for connection in list(gate.open):
                connection.close_if_idle()  # also one whose client has just taken the rest of its answer
                connection.check(time.monotonic())
            await asyncio.sleep(0.005)

    async def _sweep(self, pause_s: float) -> None:
        while True:
            await asyncio.sleep(pause_s)
            now = time.monotonic()
            for connection in list(self.gate.open):
                connection.check(now)

    def _end(self, deadline: float) -> bool:
        self.loop.call_soon_threadsafe(self._stop_asked.set)
        self._thread.join(max(0.0, deadline - time.monotonic()))
        in_time = not self._thread.is_alive()
        if not in_time:
            self.loop.call_soon_threadsafe(self._cut)
            self._thread.join(CUT_S)
        self.stage.close()
        if not self.stage.join(max(deadline, time.monotonic() + (0 if in_time else CUT_S))):
            self.log.line("a request is still inside the service; its thread is left behind")
            return False
        return in_time

    def _cut(self) -> None:
        self._postponed.clear()
        self.note_cut(sum([connection.cut() for connection in list(self.gate.open)]))

    def _complain(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.log.line(f"{context.get('message')}: {context.get('exception')}")

    def hand_over(self, connection: LoopConnection, question: Any, number: int) -> bool:
        """Let the pool decide. False if its queue is full and the request must be refused."""
        task = Task(connection, number, question, time.monotonic())
        if self._postponed or not self.stage.offer(task):
            if self.refuse_when_full:
                return False
            self._postponed.append(task)
        return True

    def _decide(self, task: Task) -> None:
        """Decide a request, in a thread of the pool."""
        begin = time.monotonic()
        if self.recorder is not None:
            self.recorder.add("queue", Phase.WAIT, task.number, task.since, begin)
        try:
            task.answer = self.service.answer(self.service.decide(task.question))
        except Exception as error:
            task.answer = self.explain(error)
        self.note(Phase.DECIDE, task.number, begin)
        with contextlib.suppress(RuntimeError):  # the loop was cut, and the connection counted then
            self.loop.call_soon_threadsafe(self._done, task)

    def _done(self, task: Task) -> None:
        while self._postponed and self.stage.offer(self._postponed[0]):
            self._postponed.popleft()
        if task.answer is not None:
            task.connection.decided(task.answer, task.number)
