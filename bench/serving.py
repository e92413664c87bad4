"""Servers: small pages on kept connections, our five models beside the standard library's servers and uvicorn.

If there are two cores, each server is a process of its own on one of them, and the clients run here, on the other.
Servers alternate, and the best round of each counts. The processor time of a request in the server is shown too,
because it depends less on the other work of the machine. On a busy machine the number of answers a second favours
servers with many threads, because the kernel distributes processors by thread.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from bench.servers.__main__ import KINDS
from vez.servers.serving.trial.clients import Fate, Load
from vez.servers.serving.trial.plan import Asked

ROUNDS = 3
SECONDS = 1.0
CLIENTS = 16
GROWTH = (1, 4, 16, 64, 256)
UNSEEN = tuple(f"/short.html?{number}" for number in range(50_000))
"""Targets of requests that a server has not seen. Our servers cache the results of h11 for a request and for its
headers. New requests, with known and with new headers, show how much the cache saves."""
REFERENCES = ("ThreadingHTTPServer", "uvicorn, h11")


class Running:
    """A server's process."""

    def __init__(self, kind: str, core: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.servers", kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        os.sched_setaffinity(self._process.pid, {core})
        assert self._process.stdout is not None
        self._address = ("127.0.0.1", int(self._process.stdout.readline()))

    def load(
        self, clients: int, seconds: float, targets: tuple[str, ...] = ("/short.html",), tags: bool = False
    ) -> tuple[float, float]:
        """Answers a second, and microseconds of the server's processor for each."""
        before = self._processor_s()
        samples = Load(self._address, Asked(clients=clients, seconds=seconds, targets=targets, tags=tags)).run()
        used = self._processor_s() - before
        done = [sample for sample in samples if sample.fate is Fate.ANSWERED]
        if len(done) < len(samples) * 0.99:
            print(f"  {len(samples) - len(done)} of {len(samples)} requests were not answered")
        if not done:
            return 0.0, 0.0
        span = max(one.end for one in done) - min(one.begin for one in done)
        return len(done) / span, used / len(done) * 1e6

    def _processor_s(self) -> float:
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        """End the process."""
        self._process.communicate(timeout=20)


def main() -> None:
    """Measure and print."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[-1]})
    running = {kind: Running(kind, cores[0]) for kind in KINDS}
    try:
        compare(running, "connections kept", ("/short.html",))
        compare(running, "connections kept, every request asks for something new, with the same headers", UNSEEN)
        compare(running, "connections kept, every request has new headers too", UNSEEN, tags=True)
        grow(running)
    finally:
        os.sched_setaffinity(0, set(cores))
        for server in running.values():
            server.end()


def compare(running: dict[str, Running], how: str, targets: tuple[str, ...], *, tags: bool = False) -> None:
    """All servers with the same number of clients, as ratios."""
    best = dict.fromkeys(running, (0.0, 0.0))
    cheapest = dict.fromkeys(running, float("inf"))
    for _ in range(ROUNDS):
        for kind, server in running.items():
            measured = server.load(CLIENTS, SECONDS, targets, tags)
            best[kind] = max(best[kind], measured)
            cheapest[kind] = min(cheapest[kind], measured[1])
    print(f"{CLIENTS} clients, a page of about 1 KB, {how}")
    for kind, (rate, _) in best.items():
        ratios = "  ".join(
            f"{rate / best[other][0]:5.2f} ({cheapest[other] / cheapest[kind]:.2f}) × {other}"
            for other in REFERENCES
            if other != kind
        )
        print(f"{kind:20} {rate:8,.0f} answers/s  {cheapest[kind]:5.0f} µs of processor  {ratios}", flush=True)
    print("in parentheses: by processor time, which other work of the machine changes less")


def grow(running: dict[str, Running]) -> None:
    """Answers a second from 1 to 256 clients."""
    print(f"answers/s with {', '.join(map(str, GROWTH))} clients")
    for kind, server in running.items():
        rates = [max(server.load(clients, SECONDS / 2)[0] for _ in range(2)) for clients in GROWTH]
        print(f"{kind:20} " + " ".join(f"{rate:8,.0f}" for rate in rates), flush=True)
