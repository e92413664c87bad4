"""Nodes: messages a second between two processes, beside a plain ping-pong over the same kind of socket.

If there are two cores, each process is pinned to its own core. The kinds alternate, and the best round of each counts,
so that a busy moment of the machine affects all of them. Each kind is measured on the standard event loop and, if it is
installed, on uvloop. A ratio is relative to the better of the two plain kinds. The processor time of one message in one
of the two processes is printed beside the rate. On a busy machine it varies less than the rate, which includes the wait
for the other process.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from vez.core import Assumption, Complete, Io, Message, Process
from vez.worlds.node.group import Group, Unix
from vez.worlds.node.node import Node, Plan, loop_factory

ROUNDS = 5
SECONDS = 1.0
WARM = 1000
"""Messages before the measurement: connections are made and code is specialised by the interpreter."""
PATIENCE_S = 30.0
KEPT: list[object] = []
"""Servers and tasks that have no other reference: uvloop closes a server that is garbage-collected."""
LoopFactory = Callable[[], asyncio.AbstractEventLoop] | None


class Ball(Message):
    """A ping or a pong, with the number of hits so far."""

    hits: int


class PingPong(Process):
    """Two processes that send a ball to and fro. The class attribute counts for the whole process."""

    assumes: ClassVar[tuple[Assumption, ...]] = (Assumption.RELIABLE,)
    hits: ClassVar[int] = 0

    def on_start(self, io: Io) -> None:
        if io.me == 1:
            io.send(2, Ball(0))

    def on_ball(self, message: Ball, sender: int, io: Io) -> None:
        PingPong.hits = message.hits
        io.send(sender, Ball(message.hits + 1))


class Bare(asyncio.Protocol):
    """Ping-pong without a node: bytes come back as they are."""

    hits = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        Bare.hits += 2  # there and back
        self.transport.write(data)  # type: ignore[attr-defined]


class Buffered(asyncio.BufferedProtocol):
    """Ping-pong with its own buffer, as nodes read: otherwise asyncio makes one of 256 KiB for each read."""

    hits = 0

    def __init__(self) -> None:
        self._buffer = memoryview(bytearray(4096))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        Buffered.hits += 2
        self.transport.write(bytes(self._buffer[:nbytes]))  # type: ignore[attr-defined]


async def bare(me: int, folder: Path, ball: type[Bare | Buffered]) -> None:
    """Play with bare sockets."""
    loop, path = asyncio.get_running_loop(), str(folder / "bare.sock")
    if me == 2:
        KEPT.append(await loop.create_unix_server(ball, path))
        return
    while True:
        with contextlib.suppress(OSError):
            transport, _ = await loop.create_unix_connection(ball, path)
            transport.write(b"a ball of 24 bytes, ...\n")
            return
        await asyncio.sleep(0.01)


async def node(me: int, folder: Path, *, trace: bool) -> None:
    """Play as two nodes."""
    plan = Plan(
        group=Group(name="bench", addresses={one: Unix(str(folder / f"{one}.sock")) for one in (1, 2)}),
        me=me,
        algorithm="ping-pong",
        topology=Complete((1, 2)),
        fresh=PingPong,
        state=folder,
        journal=folder if trace else None,
    )
    task = asyncio.get_running_loop().create_task(Node(plan, lambda _: None).run())
    KEPT.append(task)


KINDS: dict[str, tuple[Callable[[int, Path], Coroutine[Any, Any, None]], type[Any]]] = {
    "bare": (lambda me, folder: bare(me, folder, Bare), Bare),
    "bare, own buffer": (lambda me, folder: bare(me, folder, Buffered), Buffered),
    "node": (lambda me, folder: node(me, folder, trace=False), PingPong),
    "node, with trace": (lambda me, folder: node(me, folder, trace=True), PingPong),
}


class Speed(NamedTuple):
    """The result of one round, or the best of several."""

    rate: float
    """Messages a second, both ways together."""
    cpu_us: float
    """Processor time of a process for each message that it received and answered."""

    def or_better(self, other: Speed) -> Speed:
        """The better of each figure."""
        return Speed(max(self.rate, other.rate), min(self.cpu_us, other.cpu_us))


def play(kind: str, factory: LoopFactory) -> Speed:
    """One round."""
    start, counter = KINDS[kind]
    counter.hits = 0

    async def side(me: int, folder: Path) -> Speed:
        await start(me, folder)
        async with asyncio.timeout(PATIENCE_S):
            while counter.hits < WARM:
                await asyncio.sleep(0.01)
        before, begun, used = counter.hits, time.perf_counter(), time.process_time()
        await asyncio.sleep(SECONDS if me == 1 else 3600)
        hits = counter.hits - before
        return Speed(hits / (time.perf_counter() - begun), (time.process_time() - used) / (hits / 2) * 1e6)

    with tempfile.TemporaryDirectory() as name:
        cores = sorted(os.sched_getaffinity(0))
        other = os.fork()
        if other == 0:
            os.sched_setaffinity(0, {cores[-1]})
            with contextlib.suppress(BaseException), asyncio.Runner(loop_factory=factory) as runner:
                runner.run(side(2, Path(name)))
            os._exit(0)
        os.sched_setaffinity(0, {cores[0]})
        try:
            with asyncio.Runner(loop_factory=factory) as runner:
                return runner.run(side(1, Path(name)))
        finally:
            os.sched_setaffinity(0, set(cores))
            os.kill(other, 9)
            os.waitpid(other, 0)


def main() -> None:
    """Measure and print."""
    fast = loop_factory()
    loops: dict[str, LoopFactory] = {"asyncio": None} | ({} if fast is None else {"uvloop": fast})
    for loop, factory in loops.items():
        best = {kind: Speed(0.0, float("inf")) for kind in KINDS}
        for _ in range(ROUNDS):
            for kind in KINDS:
                best[kind] = best[kind].or_better(play(kind, factory))
        bare = best["bare"].or_better(best["bare, own buffer"])
        for kind, speed in best.items():
            print(
                f"{loop:8} {kind:18} {speed.rate:10,.0f} messages/s, {speed.rate / bare.rate:.2f} of bare;"
                f" {speed.cpu_us:5.1f} us of processor time each ({bare.cpu_us / speed.cpu_us:.2f})",
                flush=True,
            )
    if fast is None:
        print("uvloop is not installed")
