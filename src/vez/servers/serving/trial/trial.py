"""One trial: a server in a process of its own, and clients here that load it."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from vez.errors import WorkerDied
from vez.servers.serving.recording import Span
from vez.servers.serving.trial.clients import Fate, Load, Sample
from vez.servers.serving.trial.host import HostReport
from vez.servers.serving.trial.plan import Asked, HostPlan

STOP_S = 30.0
UNWIND_S = 10.0
"""Seconds that an interrupted server may take to remove its files."""


class Latency(msgspec.Struct, frozen=True):
    """Percentiles of the latency of answers, in milliseconds."""

    p50: float
    p99: float
    longest: float


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """The measurements of both sides."""

    host: HostPlan
    asked: Asked
    report: HostReport
    samples: tuple[Sample, ...]

    def count(self, fate: Fate) -> int:
        """Number of requests with this outcome; those of slow clients are not counted."""
        return sum(sample.fate is fate for sample in self.quick)

    @property
    def quick(self) -> list[Sample]:
        """The requests of the clients that are not slow."""
        return [sample for sample in self.samples if sample.client < self.asked.clients]

    @property
    def answered(self) -> list[Sample]:
        """The requests that were answered; those of slow clients are not counted."""
        return [sample for sample in self.quick if sample.fate is Fate.ANSWERED]

    @property
    def a_second(self) -> float:
        """Answers a second, from the first request to the last answer."""
        done = self.answered
        if not done:
            return 0.0
        return len(done) / max(1e-9, max(one.end for one in done) - min(one.begin for one in self.quick))

    @property
    def latency(self) -> Latency | None:
        """Latency of the answered requests; None if there are none."""
        return latency([sample.end - sample.begin for sample in self.answered])

    @property
    def spans(self) -> tuple[Span, ...]:
        """The spans that the server recorded."""
        return self.report.spans


def latency(seconds: list[float]) -> Latency | None:
    """Percentiles of the values. The p-th percentile is the smallest value that p percent of the values do not
    exceed."""
    if not seconds:
        return None
    seconds = sorted(seconds)

    def rank(percent: int) -> float:
        return seconds[max(0, -(-percent * len(seconds) // 100) - 1)] * 1000

    return Latency(rank(50), rank(99), seconds[-1] * 1000)


class Host:
    """A running server's process."""

    def __init__(self, process: subprocess.Popen[bytes], address: tuple[str, int]) -> None:
        self._process = process
        self.address = address

    def end(self) -> HostReport:
        """Stop the server. Returns its report."""
        output, errors = self._process.communicate(timeout=STOP_S)
        if self._process.returncode:
            raise _died(errors)
        return msgspec.json.decode(output, type=HostReport)


@contextmanager
def hosted(plan: HostPlan) -> Iterator[Host]:
    """Start the server's process, and end it whatever happens."""
    process = subprocess.Popen(  # our own program
        [sys.executable, "-m", "vez.servers.serving.trial.host"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        process_group=0,  # Ctrl-C in a terminal reaches it once, through `_end`
    )  # fmt: skip
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(msgspec.json.encode(plan) + b"\n")
            process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise _died(process.communicate(timeout=STOP_S)[1])
        yield Host(process, msgspec.json.decode(line, type=tuple[str, int]))
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the server's process if it still runs. It is interrupted, so that it removes its files, and killed if it does
    not end."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=UNWIND_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def _died(errors: bytes) -> WorkerDied:
    last = errors.decode(errors="replace").strip().splitlines()
    return WorkerDied(f"the server's process ended: {last[-1] if last else 'it said nothing'}")


def run_trial(host: HostPlan, asked: Asked, step: Callable[[], None] | None = None) -> Trial:
    """Start the server, let the clients ask, stop the server."""
    with hosted(host) as running:
        samples = Load(running.address, asked).run()
        report = running.end()
    if step is not None:
        step()
    return Trial(host=host, asked=asked, report=report, samples=tuple(samples))
