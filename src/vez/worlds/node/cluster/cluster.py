"""Cluster: starts the members, runs the program of a scenario in real time, and merges the journals."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from vez.core import trace as events
from vez.core.trace import AnyEvent, End, Trace
from vez.errors import WorkerDied
from vez.worlds.node.cluster.arguments import arguments_of, write_group
from vez.worlds.node.cluster.assemble import assemble
from vez.worlds.node.cluster.journals import read_lives
from vez.worlds.node.cluster.member import Member
from vez.worlds.node.cluster.perfect_detector import PerfectDetector
from vez.worlds.node.cluster.program import Stay, Step, make_program
from vez.worlds.node.cluster.rounds import Rounds
from vez.worlds.node.cluster.run_file import RunFacts, write_run_file
from vez.worlds.node.cluster.scripted import can_suspect_the_living, reacts_to_heartbeats
from vez.worlds.node.journal import now_us
from vez.worlds.sim.setup import Setup

LEAST_SETTLE_S = 1.0
"""The shortest time without events after which a run may count as over: the last messages arrive in that time."""
WANT_MS = 10.0
"""The duration of an unplanned stay, in ms of the algorithm."""
LULL_MS = 100.0
"""Time without any message, entry or election after which a run that is not done ends, in ms of the algorithm."""
LEAST_LULL_S = 5.0
START_S = 120.0
"""Seconds in which all nodes must be up and connected."""


class Cluster:
    """The nodes of a run, and the commands and faults for them."""

    def __init__(
        self,
        setup: Setup,
        folder: Path,
        *,
        time_scale: float,
        watch: Callable[[Cluster], None],
        endless: bool = False,
    ) -> None:
        self.setup = setup
        self.time_scale = time_scale
        self.faults: list[AnyEvent] = []
        self.cuts: set[tuple[int, int]] = set()
        self.slowed: dict[tuple[int, int], float] = {}
        """Slow channel → its additional delay in ms of the algorithm."""
        self.inside: dict[int, str] = {}
        """`planned`, `waiting` or `inside`, by process; others are absent."""
        self.failure = ""
        """The node that ended by itself, and its last error, which ends the run; empty if none did."""
        self._killed: set[int] = set()
        self._turns: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)  # one command at a time per process
        self._doomed: set[int] = set()  # processes that will crash inside a handler
        self.leaders: dict[int, int | None] = {}
        self.has_begun = False
        """True after the nodes were told to start."""
        self._folder = folder
        self._watch = watch
        self._endless = endless  # True to run until `end`, even after the program is done
        self._ended: End | None = None
        self._program = make_program(setup)
        self._pending = len(self._program.steps)
        self._news = self._stirred = 0.0
        self._counts: tuple[int, ...] = ()
        self._planned = 0  # calls of `_later` that are still to come
        self._errs = can_suspect_the_living(setup)  # a handler may be called at any time, until the end
        detector = setup.scenario.detector
        notice_ms = detector.delay_ms if detector.kind == "perfect" else detector.settings.timeout_ms
        silence_ms = notice_ms if hasattr(setup.algorithm, "on_suspect") else 0.0
        self._settle_s = max(LEAST_SETTLE_S, 2 * self._seconds(silence_ms))  # a crash must be noticed first
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        write_group(setup, folder, self._socket)
        self.members = {
            me: Member(me, arguments_of(setup, me, folder, time_scale), folder, self._heard) for me in setup.ids
        }
        self.rounds = Rounds(self.members)
        self._perfect = PerfectDetector(setup, self.members, self._later)

    async def run(self, seconds: float) -> Trace:
        """Run until the program is done, or for at most `seconds`. Returns the trace of the run."""
        end: End = "interrupted"
        try:
            await self._start()
            self._begin()
            try:
                async with asyncio.timeout(seconds):
                    await self._until_done()
                end = self._ended or "finished"
            except TimeoutError:
                end = "time"
        except asyncio.CancelledError:
            self._abandon()
            raise
        finally:
            ended = now_us()
            try:
                await self._stop()
            except asyncio.CancelledError:  # the caller no longer waits
                self._abandon()
                await self._stop()
                raise
        return self._trace(end, ended)

    # Commands and faults, also for users who watch the run.

    def end(self, why: End = "time") -> None:
        """End the run."""
        self._ended = why

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine in the background, at most until the run ends."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def want(self, process: int) -> None:
        """Let a node want in, unless it waits or is inside already."""
        if process not in self.inside and self.members[process].is_alive:
            self.inside[process] = "planned"
            self._want(process, Stay(WANT_MS))

    async def crash(self, process: int) -> None:
        """Kill a node."""
        async with self._turns[process]:
            member = self.members[process]
            if member.is_alive:
                self._killed.add(process)
                self.faults.append(events.Crashed(now_us(), process))  # first: others may notice it at once
                await member.kill()
                self._has_crashed(process)

    async def recover(self, process: int, *, memory: bool = True) -> None:
        """Start a node again, with its durable fields or without."""
        async with self._turns[process]:
            member = self.members[process]
            if not member.is_alive:
                await member.start(*([] if memory else ["--amnesia"]))
                self._killed.discard(process)
                for one, other in self.cuts:
                    if one == process:
                        member.do(f"cut {other}")
                for (one, other), by_ms in self.slowed.items():
                    if one == process:
                        self._slow(one, other, by_ms)
                await member.begun()
                self._perfect.recovered(process)
                self._next(process)

    async def pause(self, process: int) -> None:
        """Pause a node with SIGSTOP. It has not crashed."""
        member = self.members[process]
        await member.begun()
        if member.is_alive and not member.is_stopped:
            self.faults.append(events.Paused(await member.pause(), process))

    async def resume(self, process: int) -> None:
        """Let a paused node continue."""
        member = self.members[process]
        if member.is_stopped:
            self.faults.append(events.Resumed(member.resume(), process))

    async def cut(self, process: int, peer: int) -> None:
        """Cut the channel from one node to another."""
        if (process, peer) not in self.cuts:
            self.cuts.add((process, peer))
            self.members[process].do(f"cut {peer}")
            self.faults.append(events.Cut(now_us(), process, peer))

    async def heal(self, process: int, peer: int) -> None:
        """Heal the channel from one node to another."""
        if (process, peer) in self.cuts:
            self.cuts.discard((process, peer))
            self.faults.append(events.Healed(now_us(), process, peer))
            self.members[process].do(f"heal {peer}")

    def slow(self, process: int, peer: int, by_ms: float) -> None:
        """Delay a channel by `by_ms` ms of the algorithm; 0 removes the delay."""
        self.slowed.pop((process, peer), None)
        if by_ms:
            self.slowed[process, peer] = by_ms
            self._errs = self._errs or reacts_to_heartbeats(self.setup)
        self._slow(process, peer, by_ms)

    # Private methods.

    def _slow(self, process: int, peer: int, by_ms: float) -> None:
        self.members[process].do(f"slow {peer} {by_ms * self.time_scale:.3f}")

    async def _stop(self) -> None:
        """End all background tasks and all members."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(member.stop() for member in self.members.values()))

    def _abandon(self) -> None:
        """Kill all members, because the result of the run is not needed."""
        for member in self.members.values():
            member.abandon()

    def _socket(self, me: int, peer: int) -> str:
        """The socket at which a node listens, or at which it dials a peer."""
        return f"{peer}.sock"

    async def _start(self) -> None:
        """Start all nodes and wait until they are connected; then let them begin together."""
        members = self.members.values()
        await asyncio.gather(*(member.start("--hold") for member in members))
        recovering = {step.process for step in self._program.steps if step.kind == "recover"}
        await asyncio.gather(*(self.members[process].prepare() for process in recovering))
        try:
            async with asyncio.timeout(START_S):
                while not all(self._is_connected(member) for member in members):
                    if dead := [member for member in members if not member.is_alive]:
                        raise WorkerDied(f"node {dead[0].me} ended at its start: {dead[0].last_words()}")
                    self._watch(self)
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise WorkerDied(f"not all nodes were connected after {START_S:g} s") from None
        for step in self._program.steps:
            if step.kind == "cut" and not step.at_ms:
                await self.cut(step.process, step.peer)
        for process in self._program.stillborn:
            self._killed.add(process)
            self.members[process].do("crash")
            await self.members[process].wait()
            self.faults.append(events.Crashed(now_us(), process))
        for member in members:
            member.do("start")
        await asyncio.gather(*(member.begun() for member in members))  # so that no fault comes before the start

    def _is_connected(self, member: Member) -> bool:
        return member.is_ready and set(self.setup.topology.neighbours(member.me)) - {member.me} <= member.linked

    def _begin(self) -> None:
        """Plan every step of the program, and the first request of each process."""
        self.has_begun = True
        self._began = self._news = self._loop.time()
        for process in self._program.stillborn:
            self._has_crashed(process)
        for step in self._program.steps:
            self._later(step.at_ms, self._spawn_step, step)
        for process in list(self._program.stays):
            self._next(process)

    def _seconds(self, ms: float) -> float:
        return ms * self.time_scale / 1000

    def _later(self, after_ms: float, function: Callable[..., None], *arguments: Any) -> None:
        """Call a function after a time of the algorithm. Until then the run is not quiet."""
        self._planned += 1
        self._loop.call_later(self._seconds(after_ms), self._call, function, *arguments)

    def _call(self, function: Callable[..., None], *arguments: Any) -> None:
        self._planned -= 1
        function(*arguments)

    def _spawn_step(self, step: Step) -> None:
        self.spawn(self._do(step))

    async def _do(self, step: Step) -> None:
        match step.kind:
            case "elect":
                self.members[step.process].do("elect")
            case "suspect" | "trust":
                self.members[step.process].do(f"{step.kind} {step.peer}")
            case "crash" if step.after_actions is not None:
                self._doomed.add(step.process)
                self.members[step.process].do(f"crash {step.after_actions}")
            case "recover":
                await self.recover(step.process, memory=step.memory)
            case "cut" | "heal":
                await getattr(self, step.kind)(step.process, step.peer)
            case _:
                await getattr(self, step.kind)(step.process)
        self._pending -= 1
        self._news = self._loop.time()

    def _next(self, process: int) -> None:
        """Plan the next request of a process that is neither waiting nor inside."""
        plans = self._program.stays.get(process)
        if plans and process not in self.inside:
            stay = plans[0]
            wait_ms = stay.think_ms
            if stay.at_ms is not None:
                wait_ms = max(0.0, stay.at_ms - (self._loop.time() - self._began) * 1000 / self.time_scale)
            self.inside[process] = "planned"
            self._later(wait_ms, self._want, process, stay)

    def _want(self, process: int, stay: Stay) -> None:
        if self.inside.get(process) != "planned":  # the process crashed meanwhile
            return
        if (plans := self._program.stays.get(process)) and plans[0] is stay:
            plans.popleft()
        self.inside[process] = "waiting"
        inside_ms, linger_ms = stay.inside_ms * self.time_scale, stay.linger_ms * self.time_scale
        self.members[process].do(f"want {inside_ms:.3f} {linger_ms:.3f}")
        if stay.wait_ms is not None:
            self._later(stay.wait_ms, self.members[process].do, "withdraw")

    def _heard(self, member: Member, line: dict[str, Any]) -> None:
        match line:
            case {"event": "entered"}:
                self.inside[member.me] = "inside"
            case {"event": "left"} | {"event": "withdrew", "retracted": True}:
                self.inside.pop(member.me, None)
                self._next(member.me)
            case {"event": "elected", "leader": leader}:
                self.leaders[member.me] = leader
            case _:
                return
        self._news = self._loop.time()

    async def _until_done(self) -> None:
        while self._ended is None and (self._endless or not (self._is_quiet() or self._is_done() or self._is_stuck())):
            self.rounds.ask(self._loop.time(), self.cuts, busy=self._is_busy())
            self._watch(self)
            await asyncio.sleep(0.05)
            await self._notice_failure()

    def _is_busy(self) -> bool:
        """True if a command, a fault or a false suspicion is still to come, or if a node ended by itself."""
        ended = {member.me for member in self.members.values() if not member.is_alive}
        return bool(self._errs or self._pending or self._planned or self._tasks or ended - self._killed)

    def _is_quiet(self) -> bool:
        """True if nothing is under way, so that nothing can happen any more."""
        if self.rounds.verdict == "quiet":
            self.end("quiet")
        return self.rounds.verdict == "quiet"

    async def _notice_failure(self) -> None:
        """End the run if a node ended by itself: because of a bug in a handler, or a promise that it could not keep."""
        for member in self.members.values():
            if member.is_alive or member.me in self._killed or self.failure:
                continue
            await member.wait()
            if member.me in self._doomed:  # the node crashed inside a handler, as planned
                self.faults.append(events.Crashed(now_us(), member.me))
                self._killed.add(member.me)
                self._has_crashed(member.me)
            else:
                self.failure = f"node {member.me} ended by itself: {member.last_words()}"
                self.end("interrupted")

    def _is_stuck(self) -> bool:
        """True if nothing has happened for a long time, although the run is not done. It then ends like a timeout."""
        counts = tuple(member.status.get("received", 0) for member in self.members.values())
        if counts != self._counts or self._pending:
            self._counts, self._stirred = counts, self._loop.time()
        since = self._loop.time() - max(self._stirred, self._news)
        if since < max(LEAST_LULL_S, self._settle_s, self._seconds(LULL_MS)):
            return False
        self.end("time")
        return True

    def _is_done(self) -> bool:
        """True if every step was made, no process waits or is inside, leaders are known, and no events are new."""
        role = self.setup.algorithm.role
        if self.rounds.verdict == "open":  # perhaps nothing can happen any more, which says more
            return False
        if self._pending or self._loop.time() - self._news < self._settle_s:
            return False
        alive = [member.me for member in self.members.values() if member.is_alive]
        if role == "mutex":
            return not any(process in alive for process in self.inside) and not any(
                stays and process in alive for process, stays in self._program.stays.items()
            )
        named = {self.leaders.get(process) for process in alive}
        return role == "election" and len(named) == 1 and named <= set(alive)

    def _has_crashed(self, process: int) -> None:
        self._doomed.discard(process)
        self.inside.pop(process, None)
        self.leaders.pop(process, None)
        self._perfect.crashed(process)
        self._news = self._loop.time()

    def _trace(self, end: End, ended_us: int) -> Trace:
        patience_us = round(self._settle_s * 1e6)
        kept = RunFacts(end=end, ended_us=ended_us, patience_us=patience_us, faults=tuple(self.faults))
        write_run_file(self._folder, kept)
        return assemble(read_lives(self._folder), self.setup, kept=kept)
