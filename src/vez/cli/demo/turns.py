"""First half of the demo: five real processes compete for one lock, under faults.

One of them is killed while it is inside, and one is stopped for a while. The kernel reports the death to the engine at
once. The history is judged like any other. Then three processes stand for election, and their leader is killed.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live

from vez.cli.printing.output import console
from vez.cli.printing.tables import Column, fitted, print_table
from vez.judge.properties import Status
from vez.testing.torture.history import Fault, to_trace
from vez.testing.torture.judges import judge_all
from vez.testing.torture.record import Line, read_lines

WORKERS, CANDIDATES = 5, 3
SECONDS = 7.0
KILL_AT, STOP_AT, STOP_FOR = 2.0, 3.5, 1.5
PATIENCE, CLOSING = 15.0, 3.0
"""Seconds to wait for an event, and for the workers to end by themselves before they are killed."""
COLUMNS = (
    Column("worker"), Column("process"), Column("state"), Column("turns", right=True),
    Column("last token", right=True), Column("waited", right=True), Column("what happened"),
)  # fmt: skip
STATES = {"wanted": "waits", "entered": "[green]inside[/]", "wrote": "[green]inside[/]", "left": "outside"}


class Crew:
    """Worker processes of the demo, their records, and the faults injected into them."""

    def __init__(self, what: str, count: int, seconds: float) -> None:
        self.what, self.seconds = what, seconds
        self._temporary = tempfile.TemporaryDirectory(prefix="vez-demo-")
        self.folder = Path(self._temporary.name)
        self.url = f"file://{self.folder}/turns"
        self.processes = {worker: self._start(worker) for worker in range(1, count + 1)}
        self.faults: list[Fault] = []
        self.remarks: dict[int, str] = {}

    def _start(self, worker: int) -> subprocess.Popen[bytes]:
        arguments = [self.what, str(self.folder), str(worker), self.url, str(self.seconds + PATIENCE)]
        # In a group of its own: Ctrl-C is for the demo, which then ends its workers.
        return subprocess.Popen([sys.executable, "-m", "vez.cli.demo.worker", *arguments], process_group=0)  # noqa: S603

    def lines(self) -> list[Line]:
        """All records so far, in order."""
        found = [line for worker in self.processes for line in read_lines(self.folder / f"{worker}.jsonl")]
        return sorted(found, key=lambda line: (line.at, line.worker))

    def inside(self) -> int | None:
        """The worker that is inside now, from the records."""
        last = {line.worker: line.what for line in self.lines()}
        return next((worker for worker, what in last.items() if what == "entered" and self.alive(worker)), None)

    def all_want(self) -> bool:
        """True if every worker has asked at least once."""
        return len({line.worker for line in self.lines()}) == len(self.processes)

    def alive(self, worker: int) -> bool:
        return self.processes[worker].poll() is None

    def kill(self, worker: int) -> Fault:
        """Send SIGKILL and wait for the death of the worker."""
        at = time.monotonic_ns()
        self.processes[worker].kill()
        self.processes[worker].wait()
        self.faults.append(Fault(at, worker, "kill", time.monotonic_ns()))
        self.remarks[worker] = "[red]killed while inside[/]"
        return self.faults[-1]

    def pause(self, worker: int, *, on: bool) -> None:
        """Send SIGSTOP or SIGCONT."""
        self.processes[worker].send_signal(signal.SIGSTOP if on else signal.SIGCONT)
        self.faults.append(Fault(time.monotonic_ns(), worker, "pause" if on else "resume"))
        self.remarks[worker] = "[yellow]stands still[/]" if on else "goes on"

    def close(self) -> None:
        """End the workers: at the end of their turn if that is soon, else with SIGKILL."""
        (self.folder / "stop").touch()
        for process in self.processes.values():
            process.send_signal(signal.SIGCONT)
        end = time.monotonic() + CLOSING
        for process in self.processes.values():
            try:
                process.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._temporary.cleanup()


def take_turns(out: Console) -> bool:
    """Show the lock; True if everything ended as expected."""
    crew = Crew("turns", WORKERS, SECONDS)
    try:
        with Live(_table(crew, out.width), console=out, refresh_per_second=10, transient=not out.is_terminal) as live:
            killed = _torment(crew, live)
            (crew.folder / "stop").touch()
            for process in crew.processes.values():
                process.wait(PATIENCE)
            live.update(_table(crew, out.width))
        if not out.is_terminal:
            out.print(_table(crew, out.width))  # a pipe shows no live table, only its last state
        return _judge(out, crew, killed)
    finally:
        crew.close()


def _torment(crew: Crew, live: Live) -> Fault | None:
    killed: Fault | None = None
    stopped: int | None = None
    _until(crew.all_want)
    begun = time.monotonic()
    while (passed := time.monotonic() - begun) < SECONDS:
        holder = crew.inside()
        if passed > KILL_AT and killed is None and holder is not None:
            killed = crew.kill(holder)
        elif passed > STOP_AT and stopped is None and holder is not None:
            stopped = holder
            crew.pause(holder, on=True)
        elif passed > STOP_AT + STOP_FOR and stopped is not None and crew.remarks.get(stopped) != "goes on":
            crew.pause(stopped, on=False)
        live.update(_table(crew, live.console.width))
        time.sleep(0.03)
    return killed


def _table(crew: Crew, width: int) -> Group:
    rows, lines = [], crew.lines()
    for worker, process in crew.processes.items():
        own = [line for line in lines if line.worker == worker]
        entries = [line for line in own if line.what == "entered"]
        state = STATES.get(own[-1].what, own[-1].what) if own else "starts"
        state = "[red]dead[/]" if process.poll() not in (None, 0) else "done" if process.poll() == 0 else state
        token = str(entries[-1].token) if entries else ""
        wait = f"{_waited(own):.0f} ms" if entries else ""
        remark = crew.remarks.get(worker, "")
        rows.append([str(worker), str(process.pid), state, str(len(entries)), token, wait, remark])
    return fitted(width, COLUMNS, rows, title="[italic]Five processes, one lock, no server[/]", split=True)


def _waited(lines: list[Line]) -> float:
    """Milliseconds for which the last worker that entered had waited."""
    wanted = entered = 0
    for line in lines:
        if line.what == "entered":
            entered = line.at - wanted
        elif line.what == "wanted":
            wanted = line.at
    return entered / 1e6


def _judge(out: Console, crew: Crew, killed: Fault | None) -> bool:
    lines = crew.lines()
    entries = [line for line in lines if line.what == "entered"]
    trace = to_trace(lines, crew.faults, WORKERS, "the default engine", 0)
    verdicts = judge_all(trace, lines, crew.faults)
    if killed is not None:
        after = next((line for line in entries if line.at > killed.at), None)
        if after is not None:
            late = (after.at - killed.at) / 1e6
            out.print(f"\nworker {killed.worker} was killed inside; worker {after.worker} got in {late:.1f} ms later")
    paused = {fault.kind: fault for fault in crew.faults if fault.kind in ("pause", "resume")}
    if len(paused) == 2:
        begun, ended = paused["pause"].at, paused["resume"].at
        passed = sum(begun < line.at < ended for line in entries)
        seconds = (ended - begun) / 1e9
        out.print(f"worker {paused['pause'].worker} stood still inside for {seconds:.1f} s; {passed} got in meanwhile")
    tokens = [line.token for line in entries]
    out.print(f"{len(entries)} turns, tokens {min(tokens)} to {max(tokens)}, always rising; the history, judged:")
    marks = {Status.BROKEN: "  [bold red]✗[/]", Status.NOT_JUDGED: "  [dim]–[/]"}
    rows = [[marks.get(one.status, "  [green]✓[/]"), f"{one.name}: {one.evidence}"] for one in verdicts]
    print_table(out, [Column(), Column()], rows, ruled=False)
    return not any(verdict.status is Status.BROKEN for verdict in verdicts) and killed is not None


def elect(out: Console) -> bool:
    """Show an election: the leader of three candidates is killed; True if another leads in a later term."""
    crew = Crew("leads", CANDIDATES, SECONDS)
    try:
        _until(crew.all_want)
        first = _leader(crew, after=0)
        if first is None:
            out.print("[red]nobody was elected[/]")
            return False
        out.print(f"\nThree candidates: worker {first.worker} leads in term {first.token}.")
        fault = crew.kill(first.worker)
        second = _leader(crew, after=fault.at)
        if second is None:
            out.print("[red]nobody took over[/]")
            return False
        late = (second.at - fault.at) / 1e6
        out.print(f"It is killed: worker {second.worker} leads in term {second.token}, {late:.1f} ms later.")
        return second.token > first.token and second.worker != first.worker
    finally:
        crew.close()


def _leader(crew: Crew, after: int) -> Line | None:
    def found() -> Line | None:
        return next((line for line in crew.lines() if line.what == "entered" and line.at > after), None)

    _until(lambda: found() is not None)
    return found()


def _until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)


def main() -> int:
    """Show the lock and the election; exit code 0 if both ended as expected."""
    out = console()
    out.print("\n[bold]vez[/]: whose turn is it?\n")
    good = take_turns(out)
    return 0 if elect(out) and good else 1
