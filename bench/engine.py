"""Locks for programs on one machine: vez beside commonly used libraries, with real servers, in one run.

Clients and servers are pinned. Servers are on the last core throughout. One client alone is on the first core. Several
clients are pinned to the cores in turn, so that the result does not depend on the scheduler; in a second measurement
the scheduler places them, as in most programs. Placement alone changes a loopback round trip severalfold, so numbers of
two runs on different machines cannot be compared; ratios within one run can. Under contention, hand-overs between
processes are counted: a process that takes the lock repeatedly has handed nothing over.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import fcntl
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from mmap import mmap
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import vez
from vez.testing.servers import Missing, postgres_server, redis_server

Take = Callable[[], AbstractContextManager[Any]]
ROUNDS = 3
SECONDS = 0.5
CONTENDED_SECONDS = 2.0
START = 0.2
"""Seconds at the beginning that are not counted. A core starts its processes one after the other, milliseconds apart,
and a process that is alone until then gets the lock a hundred times."""
KILLS = 7
SPAWN = multiprocessing.get_context("spawn")


def taker(kind: str, where: dict[str, str]) -> Take:
    """A function that takes the lock as the documentation of the library shows; the object is made once."""
    folder = where["folder"]
    if kind == "vez file:":
        turn = vez.connect(f"file://{folder}/vez").lock("bench")
        return lambda: turn
    if kind == "vez memory:":
        memory = vez.connect("memory:bench").lock("bench")
        return lambda: memory
    if kind == "flock(2)":
        return _bare(folder)
    if kind == "portalocker":
        import portalocker

        port = portalocker.Lock(f"{folder}/portalocker", "w", timeout=60)
        return lambda: port
    if kind == "filelock":
        import filelock

        lock = filelock.FileLock(f"{folder}/filelock")
        return lambda: lock.acquire()
    if kind == "tooz file":
        from tooz import coordination

        coordinator = coordination.get_coordinator(f"file://{folder}/tooz", f"{os.getpid()}".encode())
        coordinator.start()
        tooz = coordinator.get_lock(b"bench")
        return lambda: tooz
    if kind == "redis-py Lock":
        import redis

        remote = redis.Redis("127.0.0.1", int(where["redis"])).lock("bench", timeout=30)
        return lambda: remote
    if kind == "psycopg advisory":
        return _advisory(where["postgres"])
    if kind == "vez etcd:":
        on_etcd = vez.connect(f"etcd://127.0.0.1:{where['etcd']}").lock("bench")
        return lambda: on_etcd
    if kind in ("vez.aio etcd:", "aetcd Lock"):
        return _in_a_loop(kind, int(where["etcd"]))
    raise ValueError(kind)


def _in_a_loop(kind: str, port: int) -> Take:
    """A lock for tasks, each step of it run to its end in one event loop."""
    loop = asyncio.new_event_loop()

    async def make() -> Any:
        if kind == "vez.aio etcd:":
            client = vez.aio.connect(f"etcd://127.0.0.1:{port}")
            atexit.register(lambda: loop.run_until_complete(client.close()))
            return client.lock("bench")
        import aetcd

        theirs = aetcd.Client(port=port)
        await theirs.connect()
        return theirs.lock(b"bench", ttl=60)

    lock = loop.run_until_complete(make())

    async def acquire() -> Any:
        if kind == "vez.aio etcd:":
            return await lock.acquire()
        while not await lock.acquire(timeout=60):
            pass
        return lock

    @contextmanager
    def take() -> Iterator[None]:
        grant = loop.run_until_complete(acquire())
        try:
            yield
        finally:
            loop.run_until_complete(grant.release())

    return take


def _bare(folder: str) -> Take:
    handle = os.open(f"{folder}/flock", os.O_RDWR | os.O_CREAT)

    @contextmanager
    def take() -> Iterator[None]:
        fcntl.flock(handle, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)

    return take


def _advisory(url: str) -> Take:
    import psycopg

    cursor = psycopg.connect(url, autocommit=True).cursor()

    @contextmanager
    def take() -> Iterator[None]:
        cursor.execute("SELECT pg_advisory_lock(7)")
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(7)")

    return take


# Uncontended: acquire plus release


def alone(kind: str, where: dict[str, str], seconds: float, answer: Connection) -> None:
    """Pairs of acquire and release per second, pinned to the first core."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    take = taker(kind, where)
    with take():
        pass
    count, begun = 0, time.perf_counter()
    while (passed := time.perf_counter() - begun) < seconds:
        for _ in range(20):
            with take():
                pass
        count += 20
    answer.send(count / passed)


def ask(target: Callable[..., None], *arguments: Any) -> Any:
    """Run the function in a new process. Returns the value that it sends back."""
    mine, theirs = SPAWN.Pipe()
    process = SPAWN.Process(target=target, args=(*arguments, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        return mine.recv()
    finally:
        process.join()
        mine.close()


def uncontended(kinds: list[str], where: dict[str, str]) -> None:
    """Print the best of some rounds; within a round the kinds of locks alternate."""
    best = dict.fromkeys(kinds, 0.0)
    for _ in range(ROUNDS):
        for kind in kinds:
            best[kind] = max(best[kind], ask(alone, kind, where, SECONDS))
    mine = best["vez file:"]
    print("acquire plus release, one client, nobody else          a second   vez file: is")
    for kind in kinds:
        print(f"  {kind:44} {best[kind]:17,.0f} {mine / best[kind]:10.2f} ×")


# Contended: hand-overs


def contend(kind: str, where: dict[str, str], me: int, board: str, core: int | None, answer: Connection) -> None:
    """Take turns until the time is over. Count the turns, and those after a turn of another process."""
    if core is not None:
        os.sched_setaffinity(0, {core})
    take = taker(kind, where)
    with Path(board).open("r+b") as file, mmap(file.fileno(), 4096) as shared:
        with take():  # connections and files are open before the time begins
            pass
        answer.send("ready")
        begin, until = answer.recv()
        time.sleep(max(0.0, begin - time.monotonic()))
        turns = hand_overs = 0
        while (now := time.monotonic()) < until:
            with take():
                other = shared[0] != me
                shared[0] = me
            if now >= begin + START:
                turns += 1
                hand_overs += other
        answer.send((turns, hand_overs))


class Contended(NamedTuple):
    """Results of contention: hand-overs per second, and how evenly the processes were served."""

    hand_overs: float
    turns: float
    least: int
    most: int


def hand_overs(kind: str, where: dict[str, str], count: int, cores: list[int] | None) -> Contended:
    """Let processes contend for one lock, each pinned to a core, or not pinned."""
    board = f"{where['folder']}/board"
    Path(board).write_bytes(bytes(4096))
    pipes = [SPAWN.Pipe() for _ in range(count)]
    processes = [
        SPAWN.Process(
            target=contend,
            args=(kind, where, number + 1, board, cores[number % len(cores)] if cores else None, pipe[1]),
            daemon=True,
        )
        for number, pipe in enumerate(pipes)
    ]
    for process in processes:
        process.start()
    for pipe in pipes:
        pipe[0].recv()
    begin = time.monotonic() + 0.2
    for pipe in pipes:
        pipe[0].send((begin, begin + START + CONTENDED_SECONDS))
    results = [pipe[0].recv() for pipe in pipes]
    for process in processes:
        process.join()
    turns = [turn for turn, _ in results]
    overs = sum(over for _, over in results)
    return Contended(overs / CONTENDED_SECONDS, sum(turns) / CONTENDED_SECONDS, min(turns), max(turns))


def contended(kinds: list[str], where: dict[str, str], count: int, cores: list[int] | None) -> None:
    """Every kind of lock under contention, side by side."""
    placed = "not pinned" if cores is None else "pinned by turns"
    title = f"contended, {count} processes, {placed}"
    print(f"{title:42} hand-overs/s   turns/s   least served / most   vez file: is")
    rates: dict[str, float] = {}
    for kind in kinds:
        found = hand_overs(kind, where, count, cores)
        rates[kind] = found.hand_overs
        fairness = f"{found.least} / {found.most} = {found.least / max(1, found.most):.2f}"
        ratio = rates["vez file:"] / rates[kind] if rates[kind] else float("inf")
        print(f"  {kind:40} {rates[kind]:14,.0f} {found.turns:9,.0f} {fairness:>21} {ratio:10.2f} ×", flush=True)


# From SIGKILL to the next holder


def hold(kind: str, where: dict[str, str], answer: Connection) -> None:
    """Hold until killed."""
    with taker(kind, where)():
        answer.send("inside")
        signal.pause()


def follow(kind: str, where: dict[str, str], answer: Connection) -> None:
    """Wait for the lock, and report the time of the grant."""
    take = taker(kind, where)
    answer.send("waiting")
    with take():
        answer.send(time.monotonic())


def takeover(kinds: list[str], where: dict[str, str], kills: int = KILLS) -> None:
    """Milliseconds from the kill of the holder to the next grant."""
    print("from SIGKILL of the holder to the next holder            median ms   worst ms")
    for kind in kinds:
        delays = []
        for _ in range(kills):
            one, other = SPAWN.Pipe(), SPAWN.Pipe()
            holder = SPAWN.Process(target=hold, args=(kind, where, one[1]), daemon=True)
            holder.start()
            one[0].recv()
            waiter = SPAWN.Process(target=follow, args=(kind, where, other[1]), daemon=True)
            waiter.start()
            other[0].recv()
            time.sleep(0.1)  # the process has announced its request; give it time to be in the queue
            killed = time.monotonic()
            os.kill(holder.pid or 0, signal.SIGKILL)
            delays.append((other[0].recv() - killed) * 1000)
            holder.join()
            waiter.join()
        delays.sort()
        print(f"  {kind:44} {delays[len(delays) // 2]:17.2f} {delays[-1]:10.2f}", flush=True)


# Growth


def waiters(folder: str, count: int, answer: Connection) -> None:
    """Cost of each task that waits in one process."""

    async def run() -> tuple[float, float, float]:
        async with vez.aio.connect(f"file://{folder}/many") as client:
            grant = await client.lock("many").acquire()
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

            async def wait() -> None:
                async with client.lock("many"):
                    pass

            begun = time.perf_counter()
            tasks = [asyncio.create_task(wait()) for _ in range(count)]
            while len((await client.inspect("many")).queue) < count:
                await asyncio.sleep(0.01)
            queued = time.perf_counter() - begun
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
            begun = time.perf_counter()
            await grant.release()
            await asyncio.gather(*tasks)
            return queued / count * 1e6, memory / count, (time.perf_counter() - begun) / count * 1e6

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4 * count + 100)), hard))
    answer.send(asyncio.run(run()))


def many_names(folder: str, count: int, answer: Connection) -> None:
    """Cost of a pair of acquire and release, for one client that uses many names in turn."""
    client = vez.connect(f"file://{folder}/names")
    names = [f"name-{number}" for number in range(count)]
    for name in names:
        with client.lock(name):
            pass
    rounds = max(1, 5000 // count)
    begun = time.perf_counter()
    for _ in range(rounds):
        for name in names:
            with client.lock(name):
                pass
    answer.send((time.perf_counter() - begun) / (rounds * count) * 1e6)


def growth(folder: str) -> None:
    """Print how the cost of a waiter grows with their number, and that of a pair with the number of names."""
    print("waiting tasks on file:      µs to queue   KiB of memory   µs to be served, each")
    for count in (10, 100, 1000):
        queued, memory, served = ask(waiters, folder, count)
        print(f"  {count:<24} {queued:12.0f} {memory:15.1f} {served:16.0f}", flush=True)
    print("names in turn on file:      µs a pair")
    for count in (1, 100, 1000):
        print(f"  {count:<24} {ask(many_names, folder, count):12.1f}", flush=True)


def main() -> None:
    """Run all parts."""
    cores = sorted(os.sched_getaffinity(0))
    print(f"{len(cores)} cores; servers on core {cores[-1]}; one client on core {cores[0]}, many as each table says")
    files = ["vez file:", "flock(2)", "portalocker", "tooz file", "filelock"]
    with tempfile.TemporaryDirectory(prefix="vez-bench-") as folder, ExitStack() as stack:
        where, servers = {"folder": folder}, []
        for name, kind, start in (
            ("redis", "redis-py Lock", redis_server),
            ("postgres", "psycopg advisory", postgres_server),
        ):
            try:
                where[name] = str(stack.enter_context(start({cores[-1]})))
                servers.append(kind)
            except Missing as error:
                print(f"without {kind}: {error}", file=sys.stderr)
        uncontended([*files, "vez memory:", *servers], where)
        for count in (8, 32):
            contended(["vez file:", "filelock", *servers], where, count, cores)
            contended(["vez file:", *servers], where, count, None)
        takeover(
            ["vez file:", "flock(2)", "portalocker", "filelock", *[s for s in servers if s.startswith("psy")]], where
        )
        growth(folder)


if __name__ == "__main__":
    main()
