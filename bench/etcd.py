"""Locks on etcd: vez beside aetcd's lock, on one server, in one run.

The server is on the last core and syncs to the disk as it does by default; clients are placed as in `engine.py`.
vez gives a fencing token, the order of arrival and a told loss; aetcd's lock gives none of them, and makes a lease for
each attempt.
"""

from __future__ import annotations

import asyncio
import os
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
    """Pairs of acquire and release; the best of some rounds, in which all take turns."""
    best = dict.fromkeys(KINDS, 0.0)
    for _ in range(ROUNDS):
        for kind in KINDS:
            best[kind] = max(best[kind], engine.ask(engine.alone, kind, where, SECONDS))
    print("acquire plus release, one client, nobody else          a second   of aetcd Lock")
    for kind in KINDS:
        print(f"  {kind:44} {best[kind]:17,.0f} {best[kind] / best['aetcd Lock']:10.2f}")


def contended(server: EtcdServer, where: dict[str, str], count: int, cores: list[int]) -> None:
    """Hand-overs between processes, and the leases that are there when all of them have ended."""
    print(f"contended, {count} processes, pinned by turns    hand-overs/s   least / most   leases left   of aetcd Lock")
    found = {}
    for kind in KINDS:
        before = leases(server)
        found[kind] = (engine.hand_overs(kind, where, count, cores), leases(server) - before)
    theirs = found["aetcd Lock"][0].hand_overs or float("nan")
    for kind, (one, left) in found.items():
        fairness, ratio = f"{one.least} / {one.most}", one.hand_overs / theirs
        print(f"  {kind:40} {one.hand_overs:14,.0f} {fairness:>14} {left:13} {ratio:15.2f}", flush=True)


def leases(server: EtcdServer) -> int:
    """How many leases there are on the server."""
    return int(server.ctl("lease", "list").split()[1])


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
                contended(server, where, count, cores)
            engine.takeover([MINE], where, 2)
            engine.takeover(["aetcd Lock"], where, 1)
            print("waiting tasks of one client      ms to queue   ms to be served, each")
            for count in (10, 100, 1000):
                queued, served = engine.ask(waiting, where["etcd"], count)
                print(f"  {count:<28} {queued:13.2f} {served:16.2f}", flush=True)
    except Missing as error:
        print(f"without etcd: {error}", file=sys.stderr)
