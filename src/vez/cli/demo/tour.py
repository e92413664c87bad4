"""Second half of the demo: three runs of the simulator and one of real processes, judged and drawn.

It calls the same functions as the commands that it prints, and writes pictures to open in a browser.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.markup import escape

from vez import draw
from vez.catalogue.load import load_algorithm
from vez.cli.cluster_live_table import ClusterView
from vez.cli.printing.consoles import new_console
from vez.cli.printing.output import console, write_file
from vez.cli.printing.tables import Column, print_table
from vez.core.trace import Trace
from vez.judge.properties import Status
from vez.study.report import Report, report, run_and_report
from vez.worlds.node.cluster.cluster import Cluster
from vez.worlds.sim.scenario import Crash, Detector, Elect, Pause, Scenario, Want
from vez.worlds.sim.setup import Setup

FOLDER = Path("demo-out")
NEXT = (  # purpose, command
    ("in two terminals, and vez status in a third", "vez run nightly -- sleep 5"),
    ("an algorithm with one mistake: find it", "vez zoo twins"),
    (
        "1000 runs with crashes, and the shortest that fails",
        "vez sim token-ring --runs 1000 --crashes 1 --shrink lost.toml",
    ),
)
REAL = Scenario(
    algorithm="bully",
    n=4,
    elect=(Elect(process=4),),
    crash=(Crash(process=4, at_ms=20),),
    detector=Detector(kind="heartbeat"),
)
REAL_SCALE = 40.0
"""Real milliseconds for each millisecond of the algorithm: a message may take 40 ms, and the run takes a few
seconds."""
STOPS = [
    (
        "Everybody asks everybody",
        "Three of four processes want in at almost the same time. Ricart and Agrawala: ask all the others; who has the "
        "older claim answers later. Nobody is in charge, and still they take turns.",
        "vez sim ricart-agrawala -n 4 --want 1@0 --want 2@0.4 --want 3@0.7 --diagram text",
        Scenario(
            algorithm="ricart-agrawala",
            n=4,
            want=(Want(process=1), Want(process=2, at_ms=0.4), Want(process=3, at_ms=0.7)),
        ),
    ),
    (
        "A timeout cannot tell the slow from the dead",
        "A coordinator takes a permission back after 10 ms. Process 2 is not dead, it only stood still: two are "
        "inside. The resource checks tokens, so the late write of process 2 is refused.",
        "vez sim coordinator-lease -n 3 --want 2@0+3 --want 3@1+6 --pause 2@3+12 --diagram text",
        Scenario(
            algorithm="coordinator-lease",
            n=3,
            want=(Want(process=2, inside_ms=3), Want(process=3, at_ms=1, inside_ms=6)),
            pause=(Pause(process=2, at_ms=3, for_ms=12),),
        ),
    ),
    (
        "The leader dies",
        "Four processes, 4 leads. It crashes, the others are told, and the bully with the largest number takes over.",
        "vez sim bully -n 4 --elect 4 --crash 4@5 --diagram text",
        Scenario(algorithm="bully", n=4, elect=(Elect(process=4),), crash=(Crash(process=4, at_ms=5),)),
    ),
]


def main(started: float) -> int:
    """Run the tour; exit code 0 if each run ended as its text says."""
    out = console()
    FOLDER.mkdir(exist_ok=True)
    out.print("\nWhy is this hard? [bold]Three runs in virtual time[/], judged and drawn.\n")
    found = []
    for number, (title, story, command, scenario) in enumerate(STOPS, 1):
        out.print(f"[bold]{number}. {title}[/]\n\n{story}\n")
        out.print(f"[dim]$ {command}[/]", soft_wrap=True)  # not wrapped or decorated, so that it can be copied
        judged = run_and_report(scenario, load_algorithm(scenario.algorithm))
        sys.stdout.write(draw.text(judged.trace, judged.verdicts, width=out.width, color=_colour(out)) + "\n")
        sys.stdout.flush()
        _print_verdicts(judged)
        path = FOLDER / f"{number}-{scenario.algorithm}.html"
        write_file(path, draw.html(judged.trace, judged.verdicts))
        found.append((path, judged))
    found.append(_real(out, len(STOPS) + 1))
    out.print("[bold]The same runs to play, pause and step through[/] (open in a browser, no network needed):")
    for path, _ in found:
        out.print(f"    {path}", soft_wrap=True)
    out.print("\n[bold]Try next[/]")
    for purpose, command in NEXT:
        out.print(f"  {purpose}:")
        out.print(f"    .venv/bin/{command}", soft_wrap=True)
    out.print(f"\n[dim]{time.monotonic() - started:.1f} s[/]")
    return 0 if _as_told([judged for _, judged in found]) else 1


def _real(out: Console, number: int) -> tuple[Path, Report]:
    """The last part: the previous run once more, by real processes."""
    out.print(f"[bold]{number}. The leader dies, and this time it is real[/]\n")
    out.print(
        "The same file, now four operating-system processes that talk over sockets. Number 4 gets SIGKILL. What they "
        "wrote down is merged, judged and drawn by the same code.\n"
    )
    out.print(f"[dim]$ vez cluster -n 4 --algorithm bully --elect 4@0 --crash 4@20 --time-scale {REAL_SCALE:g}[/]",
              soft_wrap=True)  # fmt: skip
    setup = Setup(REAL, load_algorithm(REAL.algorithm))
    view, errors = ClusterView(), new_console(stderr=True)
    watched = Live(console=errors, transient=True, auto_refresh=False) if errors.is_terminal else nullcontext()
    with tempfile.TemporaryDirectory(prefix="vez-demo-") as folder, watched as live:

        def watch(running: Cluster) -> None:
            if live is not None:
                live.update(view.table(running, None), refresh=True)

        async def run() -> Trace:
            return await Cluster(setup, Path(folder), time_scale=REAL_SCALE, watch=watch).run(seconds=30)

        found = report(asyncio.run(run()))
    sys.stdout.write(draw.text(found.trace, found.verdicts, width=out.width, color=_colour(out)) + "\n")
    sys.stdout.flush()
    _print_verdicts(found)
    path = FOLDER / f"{number}-{REAL.algorithm}-real.html"
    write_file(path, draw.html(found.trace, found.verdicts))
    return path, found


def _colour(out: Console) -> bool:
    return out.is_terminal and not out.no_color


def _print_verdicts(report: Report) -> None:
    out = console()
    rows = []
    for verdict in report.verdicts:
        if verdict.promised and verdict.status is not Status.NOT_JUDGED:
            mark = "  [bold red]✗[/]" if verdict.status is Status.BROKEN else "  [green]✓[/]"
            rows.append([mark, f"{verdict.name}: {verdict.words}; {escape(verdict.evidence)}"])
    print_table(out, [Column(), Column()], rows, ruled=False)
    cost = report.measurements
    per_entry = f", {cost.messages_per_entry:g} per entry" if cost.messages_per_entry else ""
    leader = f"; leader {report.leader}" if report.trace.header.role == "election" else ""
    out.print(f"    {cost.messages} messages{per_entry}{leader}\n")


def _as_told(reports: list[Report]) -> bool:
    first, second, third, real = reports
    return (
        not first.broken
        and [verdict.name for verdict in second.broken] == ["exclusion"]
        and third.leader == 3
        and not any(verdict.promised for verdict in third.broken)
        and real.leader == 3
    )
