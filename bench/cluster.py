"""Groups of nodes: cost of a message against the number of nodes, entries a second, fifty processes on one machine.

The cost of a message is measured between two nodes of a group in which all are connected to all and the others are
idle: processor time, so that other work of the machine counts less. Each node is pinned to one core, in turn. The rate
of two nodes alone, with one message under way at a time, is the unit of the entries: messages of an entry that wait for
each other cannot be faster.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from vez.catalogue.algorithms import ALGORITHMS
from vez.core import Assumption, Io, Message, Process
from vez.core.process import DURABLE, marked
from vez.core.trace import Entered, Left, Recovered, Started, Trace
from vez.worlds.node.cluster.cluster import Cluster
from vez.worlds.node.group import Group, Unix
from vez.worlds.node.node import Node, Plan, loop_factory
from vez.worlds.sim.scenario import Crash, Detector, Scenario, Workload
from vez.worlds.sim.setup import Setup

SIZES = (2, 5, 10, 20, 50)
MOST_PROCESSES = 50
KILLED_MS = 20.0
ENTRANTS = 5
ROUNDS = 3
SECONDS = 1.5
PATIENCE = 60.0


class Ball(Message):
    """A message that two processes send to and fro."""

    hits: int


class Pair(Process):
    """Processes 1 and 2 send a ball to and fro. All others are connected, and do nothing."""

    assumes: ClassVar[tuple[Assumption, ...]] = (Assumption.RELIABLE,)

    def on_start(self, io: Io) -> None:
        if io.me == 1:
            io.send(2, Ball(0))

    def on_ball(self, message: Ball, sender: int, io: Io) -> None:
        io.send(sender, Ball(message.hits + 1))


class Result(NamedTuple):
    """The counts of the nodes of a run, and its length in seconds."""

    seconds: float
    processor: float
    messages: int
    entries: int

    @property
    def rate(self) -> float:
        """Messages a second."""
        return self.messages / self.seconds

    @property
    def cost(self) -> float:
        """Microseconds of processor time for a message."""
        return self.processor / max(1, self.messages) * 1e6


def run(kind: type[Process], n: int, *, wants: bool = False, time_scale: float = 1.0) -> Result:
    """Run n nodes as processes of their own for a while."""
    cores = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        children = [_child(kind, me, n, folder, cores[me % len(cores)], wants, time_scale) for me in range(1, n + 1)]
        deadline = time.monotonic() + PATIENCE
        try:
            while len(list(folder.glob("*.done"))) < n and time.monotonic() < deadline:
                time.sleep(0.02)
        finally:
            for child in children:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
        found = [json.loads(path.read_text()) for path in folder.glob("*.done")]
    busy = [one for one in found if one["messages"]] or found
    return Result(
        seconds=max(one["seconds"] for one in found),
        processor=sum(one["processor"] for one in busy),
        messages=sum(one["messages"] for one in found),
        entries=sum(one["entries"] for one in found),
    )


def _child(kind: type[Process], me: int, n: int, folder: Path, core: int, wants: bool, time_scale: float) -> int:
    child = os.fork()
    if child:
        return child
    os.sched_setaffinity(0, {core})
    with contextlib.suppress(BaseException), asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_node(kind, me, n, folder, wants, time_scale))
    os._exit(0)


async def _node(kind: type[Process], me: int, n: int, folder: Path, wants: bool, time_scale: float) -> None:
    """Run one node. After a second of warm-up it counts its messages and entries, and writes the counts to a file."""
    ids, loop = tuple(range(1, n + 1)), asyncio.get_running_loop()
    contender = wants and me in getattr(kind, "contenders", lambda ids: ids)(ids)

    def say(what: Any) -> None:
        if contender and isinstance(what, Started | Recovered | Left):
            loop.call_soon(node.want, 0.0)

    plan = Plan(
        group=Group(name="bench", addresses={one: Unix(str(folder / f"{one}.sock")) for one in ids}),
        me=me,
        algorithm="bench",
        topology=kind.topology(ids),
        fresh=kind,
        state=folder,
        hold=True,
        time_scale=time_scale,
    )
    node = Node(plan, say)
    running = loop.create_task(node.run())
    neighbours = set(plan.topology.neighbours(me)) - {me}
    while not neighbours <= set(node.status()["linked"]):
        await asyncio.sleep(0.02)
    (folder / f"{me}.up").touch()
    while len(list(folder.glob("*.up"))) < n:
        await asyncio.sleep(0.05)
    node.start()
    await asyncio.sleep(0.5)
    begun, processor, status = time.perf_counter(), time.process_time(), node.status()
    await asyncio.sleep(SECONDS)
    now = node.status()
    values = {
        "seconds": time.perf_counter() - begun,
        "processor": time.process_time() - processor,
        "messages": now["sent"] - status["sent"],
        "entries": now["entries"] - status["entries"],
    }
    (folder / f"{me}.new").write_text(json.dumps(values))
    (folder / f"{me}.new").rename(folder / f"{me}.done")
    await running


def measure_costs() -> float:
    """Processor time of a message in groups of several sizes; returns the rate of a group of two."""
    best: dict[int, Result] = {}
    for _ in range(ROUNDS):
        for n in SIZES:
            found = run(Pair, n)
            if n not in best or found.cost < best[n].cost:
                best[n] = found
    alone = best[SIZES[0]]
    for n, found in best.items():
        print(
            f"group of {n:3}: {found.rate:9,.0f} messages/s, {found.cost:6.1f} µs of processor time each, "
            f"{found.cost / alone.cost:.2f} of that in a group of {SIZES[0]}",
            flush=True,
        )
    return alone.rate


def measure_entries(rate: float) -> None:
    """Entries a second of every mutual exclusion algorithm, when everybody wants in all the time."""
    for name, kind in ALGORITHMS.items():
        if kind.role != "mutex":
            continue
        found = run(kind, ENTRANTS, wants=True, time_scale=10.0)
        each, entries = found.messages / max(1, found.entries), found.entries / found.seconds
        print(
            f"{name:26} n={ENTRANTS}: {entries:8,.0f} entries/s, {each:6.2f} messages each, "
            f"{entries * each / rate:5.2f} of the messages of two nodes alone{_durable(kind)}",
            flush=True,
        )


def _durable(kind: type[Process]) -> str:
    return ", with durable fields on disk" if marked(kind, DURABLE) else ""


def _were_inside(trace: Trace) -> str:
    return f"{len({event.process for event in trace.events if isinstance(event, Entered)})} of them were inside"


def _one_leader(trace: Trace) -> str:
    return f"all named one leader: {'yes' if trace.header.end == 'finished' else 'no'}"


def measure_fifty(name: str, done: Callable[[Trace], str], *, killed: int | None = None) -> None:
    """Fifty `vez node` processes, their resident memory, and whether they did their work; one may be killed."""
    kind = ALGORITHMS[name]
    scenario = Scenario(
        algorithm=name,
        n=MOST_PROCESSES,
        detector=Detector(kind="none" if killed is None else "heartbeat"),
        crash=() if killed is None else (Crash(process=killed, at_ms=KILLED_MS),),
        workload=Workload(requests=1, think_ms=0, inside_ms=0) if kind.role == "mutex" else None,
    )

    async def play(folder: Path) -> tuple[Trace, list[int]]:
        running = Cluster(Setup(scenario, kind), folder, time_scale=100, watch=lambda _: None)
        return await running.run(240), list(running.rounds.resident.values())

    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        trace, sizes = asyncio.run(play(Path(folder)))
    print(
        f"{name}: {MOST_PROCESSES} processes, {done(trace)}, {time.perf_counter() - begun:.0f} s with their start; "
        f"resident memory {sum(sizes) / len(sizes) / 1e6:.1f} MB a node, at most {max(sizes) / 1e6:.1f}",
        flush=True,
    )


def main() -> None:
    """Measure and print."""
    measure_entries(measure_costs())
    measure_fifty("ricart-agrawala", _were_inside)
    measure_fifty("chang-roberts", _one_leader)
    measure_fifty("bully", lambda trace: f"the largest was killed, {_one_leader(trace)}", killed=MOST_PROCESSES)
