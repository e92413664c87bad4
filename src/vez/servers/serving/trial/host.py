"""The server's process: `python -m vez.servers.serving.trial.host`.

It reads a plan as a line of JSON from standard input, and prints its address as a line. When standard input ends, the
server stops and prints a report. So the host never outlives the process that started it.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import msgspec

from vez.servers.serving.log import to_stderr
from vez.servers.serving.models import make_server
from vez.servers.serving.recording import Recorder, Span
from vez.servers.serving.server import Server
from vez.servers.serving.trial.plan import HostPlan

SAMPLE_S = 0.01


class HostReport(msgspec.Struct, frozen=True, kw_only=True):
    """The measurements of the server's side."""

    counts: dict[str, int]
    most_threads: int
    """Largest number of threads of the server at once, sampled."""
    memory_kb: int
    """Growth of the process's memory from before the start of the server to its peak; 0 if it cannot be read."""
    stopped_in_time: bool
    spans: tuple[Span, ...]
    number: int | None
    """The final number of the counter, if the service is the counter."""
    queues: dict[str, int]
    """Largest number of tasks that waited in each queue."""
    threads_started: int
    """Number of threads that were started for requests."""


def memory_kb(field: str) -> int:
    """A field of this process's memory: VmRSS now, VmHWM at its peak."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{field}:")), 0)


class Sampler(threading.Thread):
    """Records the largest number of threads of a server."""

    def __init__(self, server: Server) -> None:
        super().__init__(name="sampler", daemon=True)
        self._server = server
        self._end = threading.Event()
        self.most = 0

    def run(self) -> None:
        """Sample until `end` is called."""
        while not self._end.wait(SAMPLE_S):
            self.most = max(self.most, self._server.threads)

    def end(self) -> int:
        """Stop sampling. Returns the largest number of threads that was seen."""
        self._end.set()
        self.join()
        return self.most


def main() -> None:
    """Serve until standard input ends."""
    plan = msgspec.json.decode(sys.stdin.buffer.readline(), type=HostPlan)
    before = memory_kb("VmRSS")
    recorder = Recorder() if plan.record else None
    service = plan.service.service()
    server = make_server(
        plan.model, service, settings=plan.settings, limits=plan.limits, write_log=to_stderr, recorder=recorder
    )
    address = server.start()
    sampler = Sampler(server)
    sampler.start()
    sys.stdout.buffer.write(msgspec.json.encode(address) + b"\n")
    sys.stdout.flush()
    sys.stdin.buffer.read()
    most = sampler.end()
    peak = memory_kb("VmHWM")
    number = getattr(service, "number", None)
    stopped = server.stop()
    report = HostReport(
        counts=server.counts.as_dict(),
        most_threads=max(most, getattr(server, "most_threads", 0) + 1),
        memory_kb=max(0, peak - before),
        stopped_in_time=stopped,
        spans=tuple(recorder.spans) if recorder else (),
        number=number,
        queues={stage.name: stage.longest_queue for stage in _stages(server)},
        threads_started=getattr(server, "threads_started", 0) or sum(s.threads_started for s in _stages(server)),
    )
    sys.stdout.buffer.write(msgspec.json.encode(report) + b"\n")


def _stages(server: Any) -> list[Any]:
    found = getattr(server, "stages", None) or [getattr(server, "stage", None)]
    return [stage for stage in found if stage is not None]


if __name__ == "__main__":
    main()
