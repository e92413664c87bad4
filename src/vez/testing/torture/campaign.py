"""A campaign: start workers, inject faults for a while, stop the faults, and check that every worker makes progress."""

from __future__ import annotations

import random
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from vez.core.trace import Trace
from vez.errors import EngineUnavailable, Misuse
from vez.judge.properties.verdict import Verdict
from vez.locks.engines.machine import refuse_unless_linux
from vez.locks.engines.urls import without_password
from vez.testing.torture import judges, speed, stays, throughput
from vez.testing.torture.controls import CALM, MOST_WORKERS, RELAY, WORK
from vez.testing.torture.crew import Crew
from vez.testing.torture.history import Fault, to_trace
from vez.testing.torture.outer_faults import OuterFaults
from vez.testing.torture.plan import FAULTS, NOUNS, Outcome, Plan
from vez.testing.torture.record import Line, read_lines
from vez.testing.torture.stays import FRESH, KINDS, targets
from vez.testing.torture.throughput import Slice
from vez.testing.torture.worker import needs_fresh

NEEDED = ("fcntl.flock", "os.fork", "os.pidfd_open", "resource.prlimit", "signal.pidfd_send_signal", "signal.SIGSTOP",
          "socket.send_fds")  # fmt: skip
_PATIENCE = 20.0
"""Seconds after the last fault within which every worker must be granted once more."""
_INTERRUPTED_PATIENCE = 3.0
"""Seconds that the workers have to finish their turn after Ctrl-C. It is short, because a person is waiting."""
_ROUNDS = 3
"""Pairs of slices in a calm phase."""
_SHORTEST, _LONGEST = 0.06, 0.15
"""Shortest and longest length of a slice, in seconds."""
STEADY = frozenset(("kill", "pause", "fork", "interrupt", "clock", "container"))
"""Faults that do not make requests wait for the disk."""
_SETTLE = 0.02
"""Seconds at the beginning of a slice in which the workers finish their current work."""


class Campaign:
    """One run of a plan."""

    def __init__(self, plan: Plan) -> None:
        if not 2 <= plan.workers <= MOST_WORKERS:
            raise Misuse(f"a campaign has 2 to {MOST_WORKERS} workers, found {plan.workers}")
        if unknown := [fault for fault in plan.faults if fault not in FAULTS]:
            raise Misuse(f"unknown fault {unknown[0]!r}", hint=f"known: {', '.join(FAULTS)}")
        if not plan.kinds or (unknown_kinds := [kind for kind in plan.kinds if kind not in KINDS]):
            found = repr(unknown_kinds[0]) if plan.kinds else "none"
            raise Misuse(f"unknown kind of lock {found}", hint=f"known: {', '.join(KINDS)}")
        if plan.url.startswith("memory:"):
            raise Misuse("memory: is within one process, and torture needs many", hint="try vez torture --url file:")
        refuse_unless_linux("torture", NEEDED, hint="run it on Linux; memory: is tested by vez.testing.conformance")
        self.plan = plan
        self.chance = random.Random(plan.seed)
        self.interrupted = False
        self.stalled: tuple[int, ...] = ()
        self.slices: list[Slice] = []
        self.calm: list[tuple[int, int]] = []

    def run(self, progress: Callable[[float, int], None] | None = None) -> Outcome:
        """Inject faults, stop, collect the records, judge them."""
        with tempfile.TemporaryDirectory(prefix="vez-torture-") as folder:
            self.folder = Path(folder)
            self.crew = Crew(self.plan, self.folder, self.chance, self.plan.seconds + 3 * _PATIENCE)
            with self._interruptible():
                try:
                    self.crew.open()
                    self.targets = targets(self.plan.kinds, fresh=needs_fresh(self.crew.faults))
                    self.outer_faults = OuterFaults(self.plan, self.crew, self.chance, self.targets)
                    for worker in range(1, self.plan.workers + 1):
                        self.crew.start(worker)
                    self._wait_until(lambda: all(map(self.crew.entries, self.crew.workers)), "the first entries")
                    self._calm_phase()
                    self._torment(progress)
                    self._heal()
                    self._calm_phase()
                finally:
                    self._stop()
            return self._judged()

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Run the body so that the first Ctrl-C ends the campaign between two faults, and the records stay complete. A
        second one ends it at once."""

        def interrupt(number: int, frame: FrameType | None) -> None:
            if self.interrupted:
                raise KeyboardInterrupt
            self.interrupted = True

        elsewhere = threading.current_thread() is not threading.main_thread()  # only the main thread may set handlers
        if elsewhere or signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started with & by a script
            yield
            return
        before = signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _calm_phase(self) -> None:
        """Run some slices without faults, by which the speed is judged. Clocks stay as they are: nothing is undone."""
        seconds = min(_LONGEST, max(_SHORTEST, self.plan.seconds / 20))
        begun = time.monotonic_ns()
        try:
            for phase in (RELAY, CALM) * _ROUNDS:
                if self.interrupted or self.stalled:
                    return
                if phase == RELAY:
                    self.crew.relay.begin(self.crew.controls)
                    self._wait_until(self.crew.controls.all_ready, "the beginning of a relay", fail=False)
                else:
                    self.crew.controls.next_phase(phase)
                time.sleep(_SETTLE)
                begin = time.monotonic_ns()
                time.sleep(seconds)
                self.slices.append(Slice(phase == RELAY, begin, time.monotonic_ns()))
        finally:
            self.crew.controls.next_phase(WORK)
            self.calm.append((begun, time.monotonic_ns()))

    def _torment(self, progress: Callable[[float, int], None] | None) -> None:
        begun, before = time.monotonic(), sum(map(self.crew.entries, self.crew.workers))
        while (passed := time.monotonic() - begun) < self.plan.seconds and not self.interrupted:
            time.sleep(self.chance.uniform(0.005, 0.06))
            self.outer_faults.one()
            entries = sum(map(self.crew.entries, self.crew.workers)) - before
            if progress is not None:
                progress(passed / self.plan.seconds, entries)
            if entries >= self.plan.entries and self.outer_faults.rounds:
                break  # only after every kind of fault: otherwise a fast engine would be judged without faults

    def _heal(self) -> None:
        """Undo lasting faults. Each worker must be granted once more, also for a name whose file it must open or
        create."""
        self.outer_faults.undo(float("inf"))
        before = {worker: self.crew.record_size(worker) for worker in self.crew.workers}
        wanted = {target.suffix.startswith(FRESH) for target in self.targets}

        def stalled() -> tuple[int, ...]:
            return tuple(worker for worker in before if self.crew.granted_since(worker, before[worker]) != wanted)

        self._wait_until(lambda: not stalled(), "an entry of each", fail=False)
        if not self.interrupted:
            self.stalled = stalled()

    def _stop(self) -> None:
        """Let every worker finish its turn, and kill those that do not within a limit."""
        (self.folder / "stop").touch()
        end = time.monotonic() + (_INTERRUPTED_PATIENCE if self.interrupted else _PATIENCE)
        for process in self.crew.workers.values():
            process.signal(signal.SIGCONT)
        for worker, process in self.crew.workers.items():
            if not process.dead(max(0.1, end - time.monotonic())):
                at = time.monotonic_ns()
                process.kill()
                self.outer_faults.faults.append(Fault(at, worker, "kill", time.monotonic_ns()))  # for the judges
            process.close()
        self.crew.close()

    def _wait_until(self, condition: Callable[[], bool], what: str, *, fail: bool = True) -> None:
        end = time.monotonic() + _PATIENCE
        while not condition():
            if self.interrupted:
                return
            dead = [w for w, process in self.crew.workers.items() if process.dead()]
            if fail and (dead or time.monotonic() > end):
                who = f"worker {dead[0]} ended by itself" if dead else f"no {what} within {_PATIENCE:g} s"
                raise EngineUnavailable(
                    f"the workers made no progress on {without_password(self.plan.url)}: {who}",
                    hint="the error of a worker is above; try vez run NAME -- true with the same --url",
                )
            if time.monotonic() > end:
                return
            time.sleep(0.005)

    def _judged(self) -> Outcome:
        lines: list[Line] = []
        for worker in range(self.plan.workers + 1):
            lines += read_lines(self.folder / f"{worker}.jsonl")
        lines.sort(key=lambda line: (line.at, line.worker))
        if self.interrupted and not any(line.what == "entered" for line in lines):
            raise KeyboardInterrupt  # before anything happened that could be judged
        faults = self.outer_faults.faults
        first = [line for line in lines if line.worker and line.name == self.targets[0].suffix and line.what != "bare"]
        trace = to_trace(first, faults, self.plan.workers, without_password(self.plan.url), self.plan.seed)
        tokens = [line.token for line in lines if line.what == "entered"]
        return Outcome(
            plan=self.plan,
            trace=trace,
            verdicts=self._verdicts(trace, lines, first),
            entries=len(tokens),
            tokens=max(tokens, default=0) - min(tokens, default=0),
            faults=self._counts(lines),
            takeover_ms=speed.takeovers(first, faults),
            containers=self.crew.contained,
            refused=sum(line.what == "failed" for line in lines),
            skipped=self.crew.skipped,
            interrupted=self.interrupted,
        )

    def _counts(self, lines: list[Line]) -> dict[str, int]:
        """The number of faults of each kind."""
        found = dict.fromkeys(("kill", "pause", "interrupt", *self.crew.faults), 0)
        for fault in self.outer_faults.faults:
            if fault.kind in found:
                found[fault.kind] += 1
        found |= {"break": len(self.outer_faults.breaks), "prune": self.outer_faults.pruned}
        found["container"] = sum(count for kind, count in self.crew.contained.items() if kind != "clock")
        found["fork"] = sum(line.what == "forked" for line in lines)
        always = ("kill", "pause", "interrupt", "fork")
        return {NOUNS.get(kind, kind): found[kind] for kind in FAULTS if kind in always or kind in self.crew.faults}

    def _verdicts(self, trace: Trace, lines: list[Line], first: list[Line]) -> tuple[Verdict, ...]:
        """The verdicts. A single lock is judged by the judges of mutual exclusion; if there are several names, each is
        judged by its stays. After a break a stay ends before its holder reports it, which the judges of mutual
        exclusion do not know."""
        faults, slack = self.outer_faults.faults, self._slack()
        start = min([line.at for line in lines] + [fault.at for fault in faults], default=0)
        whole = self.targets[0].kind == "lock" and "break" not in self.plan.faults
        noisy = slack.and_noise(throughput.late_ms(lines, self.slices))
        found = judges.judge_all(trace, first, faults, self.stalled, noisy, self.calm) if whole else ()
        if not whole:
            found = (judges.no_believer(lines, start), judges.progress(self.stalled))
        found = (
            *found,
            throughput.judge(lines, faults, self.slices, slack, steady=STEADY.issuperset(self.crew.faults)),
        )
        if whole and len(self.targets) == 1 and "fsync" not in self.plan.faults:
            return found
        parts = []
        for target in self.targets:
            own = [line for line in lines if line.name == target.suffix]
            breaks = [one for one in self.outer_faults.breaks if one.suffix == target.suffix]
            parts.append(stays.judge(target, own, faults, breaks, start))
        return (*found, *parts)

    def _slack(self) -> speed.Slack:
        if self.crew.lease_seconds:
            return speed.leased(self.crew.lease_seconds)
        if {"container", "clock"} & set(self.crew.faults):
            return speed.FOREIGN
        return speed.BLIND if "descriptors" in self.crew.faults else speed.NONE
