"""Locks on etcd: vez beside aetcd's lock, on one server, in one run.

The server is on the last core and syncs to the disk as it does by default. One client alone is on the first core. Many
clients are pinned to all cores in turn, so that some take time from the server. In a second measurement they are pinned
to the other cores only, as if the server had its own machine. The kinds of locks alternate within a round, and ratios
are of one round, because the machine itself is faster in some rounds than in others. vez gives a fencing token, grants
in the order of arrival and reports a loss; aetcd's lock does none of these, and creates a lease for each attempt.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from multiprocessing.connection import Connection

from bench import engine
from vez import aio
from vez.testing.servers import EtcdServer, Missing, etcd_server

MINE = "vez etcd:"
KINDS = [MINE, "vez.aio etcd:", "aetcd Lock"]
ROUNDS = 3
SECONDS = 2.0


def alone(where: dict[str, str]) -> None:
    """Print pairs of acquire and release: the best of some rounds, in which the kinds of locks alternate."""
    best = dict.fromkeys(KINDS, 0.0)
    for _ in range(ROUNDS):
        for kind in KINDS:
            best[kind] = max(best[kind], engine.ask(engine.alone, kind, where, SECONDS))
    print("acquire plus release, one client, nobody else          a second   of aetcd Lock")
    for kind in KINDS:
        print(f"  {kind:44} {best[kind]:17,.0f} {best[kind] / best['aetcd Lock']:10.2f}")


def contended(server: EtcdServer, where: dict[str, str], count: int, cores: list[int], placed: str) -> None:
    """Print hand-overs between processes, and the leases that are left when all processes have ended."""
    title = f"contended, {count} processes on {placed}"
    print(f"{title:42} hand-overs/s   least / most   leases left   of aetcd Lock")
    found: dict[str, list[engine.Contended]] = {kind: [] for kind in KINDS}
    left = dict.fromkeys(KINDS, 0)
    for _ in range(ROUNDS):
        for kind in KINDS:
            before = leases(server)
            found[kind].append(engine.hand_overs(kind, where, count, cores))
            left[kind] += len(leases(server) - before)
    for kind, rounds in found.items():
        rate = statistics.median(one.hand_overs for one in rounds)
        served = f"{min(one.least for one in rounds)} / {max(one.most for one in rounds)}"
        ratios = sorted(
            one.hand_overs / (other.hand_overs or float("nan"))
            for one, other in zip(rounds, found["aetcd Lock"], strict=True)
        )
        ratio = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f}–{ratios[-1]:.2f})"
        print(f"  {kind:40} {rate:14,.0f} {served:>14} {left[kind]:13} {ratio:>15}", flush=True)


def leases(server: EtcdServer) -> set[str]:
    """The leases that are on the server."""
    return set(server.ctl("lease", "list").splitlines()[1:])


def waiting(port: str, count: int, answer: Connection) -> None:
    """Cost of each task that waits in one process, and of being served."""

    async def run() -> tuple[float, float]:
        async with aio.connect(f"etcd://127.0.0.1:{port}/waiting?lease=60") as client:
            grant = await client.lock("many").acquire()

            async def wait() -> None:
                async with client.lock("many"):
                    pass

            begun = time.perf_counter()
            tasks = [asyncio.create_task(wait()) for _ in range(count)]
            while len((await client.inspect("many")).queue) < count:
                await asyncio.sleep(0.05)
            queued = time.perf_counter() - begun
            begun = time.perf_counter()
            await grant.release()
            await asyncio.gather(*tasks)
            return queued / count * 1e3, (time.perf_counter() - begun) / count * 1e3

    answer.send(asyncio.run(run()))


def main() -> None:
    """Run all parts."""
    cores = sorted(os.sched_getaffinity(0))
    try:
        with etcd_server(cpus={cores[-1]}) as server, tempfile.TemporaryDirectory(prefix="vez-bench-") as folder:
            where = {"folder": folder, "etcd": str(server.port)}
            print(f"{len(cores)} cores; the server on core {cores[-1]}")
            alone(where)
            for count in (8, 32):
                contended(server, where, count, cores, "all cores")
                if len(cores) > 1:
                    contended(server, where, count, cores[:-1], "other cores")
            engine.takeover([MINE], where, 2)
            engine.takeover(["aetcd Lock"], where, 1)
            print("waiting tasks of one client      ms to queue   ms to be served, each")
            for count in (10, 100, 1000):
                queued, served = engine.ask(waiting, where["etcd"], count)
                print(f"  {count:<28} {queued:13.2f} {served:16.2f}", flush=True)
    except Missing as error:
        print(f"without etcd: {error}", file=sys.stderr)
