"""The faults of the workers, how each is injected, and how it is undone after a while."""

from __future__ import annotations

import errno
import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress

import msgspec

from vez.testing.torture.crew import Crew
from vez.testing.torture.history import Fault
from vez.testing.torture.plan import Plan
from vez.testing.torture.record import Line
from vez.testing.torture.stays import FRESH, Broken, Target

_AIMED = 0.7
"""Probability that a kill is aimed at the holder, which is the case for which the engine exists."""
_ATTEMPTS = 10
"""Number of attempts of a kill to find a holder before it chooses a worker at random, and of a break to find a
holder."""
_LAST_LINE = 300
"""Largest length of a line of a record, in bytes."""
_TEN_YEARS = 10 * 365 * 86400
_FEWEST_FILES = 8
"""Smallest number of descriptors that a worker has open."""

BEGIN = "begin"
"""A mark before each fault, because aiming at a worker takes a while and disturbs the others."""
Undo = Callable[[], None]


class OuterFaults:
    """The faults of one campaign: those that were injected, and those that must be undone, with the time."""

    def __init__(self, plan: Plan, crew: Crew, chance: random.Random, targets: tuple[Target, ...]) -> None:
        self.plan, self.crew, self.chance, self.targets = plan, crew, chance, targets
        self.faults: list[Fault] = []
        self.breaks: list[Broken] = []
        self.pruned = 0
        self.rounds = 0
        """Number of times that every kind of fault was injected."""
        self._deck: list[str] = []
        """Kinds of faults that are still to come in this round."""
        self._calm_until = 0.0
        """Time before which no worker is killed. On an engine with leases, the others may still wait for the lease of
        the last killed worker."""
        self._undo: dict[tuple[str, int], tuple[float, Undo]] = {}
        self._do: dict[str, Callable[[int], None]] = {
            "kill": self._kill, "pause": self._pause, "interrupt": self._interrupt, "break": self._break,
            "prune": self._prune, "clock": self._clock, "descriptors": self._descriptors, "disk": self._disk,
            "fsync": self._fsync,
        }  # fmt: skip

    def one(self) -> None:
        """Inject one fault of a kind into a worker, both drawn by the seed. Workers fork and change containers by
        themselves. Every kind is injected once before one is repeated, so that a short campaign leaves none out."""
        self.undo(time.monotonic())
        if not self._deck:
            self._deck = [kind for kind in self.crew.faults if kind in self._do]
            self.chance.shuffle(self._deck)
        if not self._deck:
            self.rounds += 1  # the workers themselves fork and choose containers
            return
        kind = self._deck.pop()
        self.rounds += not self._deck
        if kind == "kill" and self.crew.lease_seconds:
            if time.monotonic() < self._calm_until:
                return
            self._calm_until = time.monotonic() + 2 * self.crew.lease_seconds
        self.faults.append(Fault(time.monotonic_ns(), 0, BEGIN))
        if kind == "kill" and self.chance.random() < _AIMED and any(self._kill_holder() for _ in range(_ATTEMPTS)):
            return
        workers = list(range(1, self.plan.workers + 1))
        if kind in ("pause", "interrupt"):  # a paused worker gets neither
            workers = [worker for worker in workers if ("pause", worker) not in self._undo] or workers
        self._do[kind](self.chance.choice(workers))

    def undo(self, now: float) -> None:
        """End the faults whose time is over."""
        for key, (until, undo) in list(self._undo.items()):
            if now >= until:
                del self._undo[key]
                undo()

    def _for_a_while(self, kind: str, worker: int, seconds: float, undo: Undo) -> None:
        self.faults.append(Fault(time.monotonic_ns(), worker, kind))
        self._undo[kind, worker] = (time.monotonic() + seconds, undo)

    def _over(self, kind: str, worker: int) -> None:
        self.faults.append(Fault(time.monotonic_ns(), worker, f"end of {kind}"))

    # Faults of one worker

    def _kill(self, worker: int) -> None:
        self._end(worker)
        self.crew.start(worker)

    def _end(self, worker: int) -> None:
        self._undo.pop(("pause", worker), None)
        self._undo.pop(("descriptors", worker), None)
        process, at = self.crew.workers[worker], time.monotonic_ns()
        process.kill()
        process.close()
        self.faults.append(Fault(at, worker, "kill", time.monotonic_ns()))

    def _kill_holder(self) -> bool:
        """Kill a worker that is inside, if possible one that has forked there. Every worker is stopped before its
        record is read, so that the record is current."""
        time.sleep(self.chance.uniform(0, 0.002))
        order = [worker for worker in sorted(self.crew.workers) if ("pause", worker) not in self._undo]
        inside: dict[str, int] = {}
        for worker in order:
            self.crew.workers[worker].signal(signal.SIGSTOP)
        for worker in order:
            if (what := self._last(worker)) in ("entered", "forked"):
                inside[what] = worker
        victim = inside.get("forked") or inside.get("entered")
        if victim is not None:
            self._end(victim)
        for worker in order:
            if worker != victim:
                self.crew.workers[worker].signal(signal.SIGCONT)
        if victim is not None:
            self.crew.start(victim)  # not earlier: the other workers would be stopped for longer
        return victim is not None

    def _last(self, worker: int) -> str:
        """The event in the last line of a worker's record."""
        path = self.crew.folder / f"{worker}.jsonl"
        with suppress(OSError, msgspec.MsgspecError), path.open("rb") as record:
            record.seek(max(0, os.fstat(record.fileno()).st_size - _LAST_LINE))
            return msgspec.json.decode(record.read().rstrip(b"\n").rpartition(b"\n")[2], type=Line).what
        return ""

    def _pause(self, worker: int) -> None:
        if ("pause", worker) in self._undo:
            return
        process = self.crew.workers[worker]
        at = time.monotonic_ns()
        process.signal(signal.SIGSTOP)

        def resume() -> None:
            self.faults.append(Fault(time.monotonic_ns(), worker, "resume"))
            process.signal(signal.SIGCONT)

        self._for_a_while("pause", worker, self.chance.uniform(0.005, 0.15), resume)
        self.faults[-1] = Fault(at, worker, "pause")

    def _interrupt(self, worker: int) -> None:
        if ("pause", worker) not in self._undo:
            at = time.monotonic_ns()
            self.crew.workers[worker].signal(signal.SIGINT)
            self.faults.append(Fault(at, worker, "interrupt"))

    def _clock(self, worker: int) -> None:
        """Let the clock of a worker jump. Half of the jumps are short, close to the durations that the engine uses."""
        longest = self.chance.choice((0.03, 5.0, 86400.0, float(_TEN_YEARS)))
        self.crew.controls.set_clock(worker, self.chance.uniform(-longest, longest))
        self.faults.append(Fault(time.monotonic_ns(), worker, "clock"))

    def _descriptors(self, worker: int) -> None:
        """Limit the descriptors of a worker, so that it can open no file or only a few, by chance."""
        import resource  # not on every system

        process = self.crew.workers[worker]
        with suppress(OSError, StopIteration, ValueError):  # the worker may have ended by itself
            pid = process.pid
            soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
            few = self.chance.randint(_FEWEST_FILES, 4 * _FEWEST_FILES)
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (min(few, hard), hard))

            def enough() -> None:
                with suppress(OSError):
                    resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
                self._over("descriptors", worker)

            if ("descriptors", worker) not in self._undo:
                self._for_a_while("descriptors", worker, self.chance.uniform(0.02, 0.1), enough)

    def _fsync(self, worker: int) -> None:
        number = self.chance.choice((errno.EIO, errno.ENOSPC)) * self.chance.choice((1, -1))
        worker = self.chance.choice((worker, worker, worker, 0))  # 0 is the process that breaks and prunes

        def works() -> None:
            self.crew.controls.set_sync_error(worker, 0)
            self._over("fsync", worker)

        self.crew.controls.set_sync_error(worker, number)
        self._for_a_while("fsync", worker, self.chance.uniform(0.01, 0.06), works)

    # Faults of the engine

    def _undo_pauses(self) -> None:
        """Resume all workers: one of them might be stopped inside a doorway."""
        for (kind, worker), (_, undo) in list(self._undo.items()):
            if kind == "pause":
                del self._undo[kind, worker]
                undo()

    def _break(self, worker: int) -> None:
        self._undo_pauses()
        for _ in range(_ATTEMPTS):  # often nobody is inside
            target = self.chance.choice(self.targets)
            at = time.monotonic_ns()
            answer = self.crew.base.job("break", target.suffix)
            if answer.tokens:
                self.breaks.append(Broken(at, time.monotonic_ns(), target.suffix, answer.tokens, answer.recorded))
                break

    def _prune(self, worker: int) -> None:
        self._undo_pauses()
        self.pruned += self.crew.base.job("prune").count

    def _disk(self, worker: int) -> None:
        """Fill the disk, and let some names need space on it."""
        if ("disk", 0) in self._undo:
            return
        self._undo_pauses()
        self.crew.base.job("fill")
        self.crew.base.job("prune", FRESH)
        if "break" in self.crew.faults:
            self._break(worker)

        def free() -> None:
            self.crew.base.job("free")
            self._over("disk", 0)

        self._for_a_while("disk", 0, self.chance.uniform(0.02, 0.1), free)
