"""The number of threads: the cost of creating one, the best size of a pool, and the threads of stages."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time

from vez.draw.chart import Axis, Chart, Mark, Series
from vez.servers.experiments.findings import Findings, Options, Step, cells, figure, summary
from vez.servers.serving.models import Settings
from vez.servers.serving.stage import Size, Stage
from vez.servers.serving.trial.plan import Asked, HostPlan, PagesPlan, WorkPlan
from vez.servers.serving.trial.trial import run_trial

TASKS = 2000
PROCESSES = 100
POOLS = (1, 2, 4, 8, 16, 32)
TOTAL_MS = 10.0
SHARES = (0.0, 0.5, 0.9)
DISK_MS = 10.0


def creation_us(tasks: int) -> float:
    """Microseconds for a task that gets a thread of its own."""
    begin = time.perf_counter()
    for _ in range(tasks):
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()
    return (time.perf_counter() - begin) / tasks * 1e6


def process_us(tasks: int) -> float | None:
    """Microseconds from the start to the end of a process that ends at once; None without a program for it."""
    program = shutil.which("true")
    if program is None:
        return None
    begin = time.perf_counter()
    for _ in range(tasks):
        subprocess.run([program], check=True)  # noqa: S603 - a program of the system, without arguments
    return (time.perf_counter() - begin) / tasks * 1e6


def reuse_us(tasks: int) -> float:
    """Microseconds for a task that a thread of a pool does."""
    done = threading.Semaphore(0)
    stage: Stage[int] = Stage("worker", Size(1, 1, 1), lambda _: done.release())
    stage.start()
    begin = time.perf_counter()
    for number in range(tasks):
        stage.put(number)
        done.acquire()
    spent = time.perf_counter() - begin
    stage.close()
    stage.join(time.monotonic() + 5)
    return spent / tasks * 1e6


def thread_cost(options: Options, step: Step) -> Findings:
    """What does a new thread for each request cost beside one that is used again, and beside a process?"""
    step("bare threads")
    create, reuse = min(creation_us(TASKS) for _ in range(3)), min(reuse_us(TASKS) for _ in range(3))
    step("bare processes")
    process = process_us(PROCESSES)
    beside = "" if process is None else f" A process that ends at once takes {process:.0f} µs."
    clients = options.clients_or(8)
    rows, data = [], []
    for model in ("thread-per-request", "pool"):
        step(model)
        host = HostPlan(model=model, service=PagesPlan(), settings=Settings(workers=8))
        trial = run_trial(host, Asked(clients=clients, seconds=options.seconds or 1.0))
        data.append(summary(trial) | {"threads_started": trial.report.threads_started})
        rows.append(cells(data[-1], "model", "answered", "threads_started", "answers_a_second", "p50_ms", "p99_ms"))
    return Findings(
        title="A new thread beside a used one",
        question=(thread_cost.__doc__ or "").strip(),
        columns=("model", "answered", "threads started", "answers /s", "p50 ms", "p99 ms"),
        rows=tuple(rows),
        words=(
            f"Without a server: a task with a thread of its own takes {create:.0f} µs, a task handed to a waiting "
            f"thread {reuse:.0f} µs: {create / reuse:.1f} times as long.{beside}",
        ),
        data={"process_us": process, "create_us": create, "reuse_us": reuse, "trials": data},
    )


def pool_size(options: Options, step: Step) -> Findings:
    """How does the best size of a pool depend on the share of a request that is waiting?"""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    rows, series, data = [], [], []
    for share in SHARES:
        wait, compute = TOTAL_MS * share, TOTAL_MS * (1 - share)
        points = []
        for workers in POOLS:
            step(f"{share:.0%} waiting, {workers} workers")
            host = HostPlan(model="pool", service=WorkPlan(), settings=Settings(workers=workers, queue=256))
            asked = Asked(
                clients=options.clients_or(48), seconds=options.seconds or 0.6, targets=(f"/{wait:g}/{compute:g}",)
            )
            trial = run_trial(host, asked)
            points.append((workers, trial.a_second))
            data.append(summary(trial) | {"waiting_share": share, "workers": workers})
        best = max(rate for _, rate in points)
        enough = next(workers for workers, rate in points if rate >= 0.9 * best)
        rows.append((f"{share:.0%}", *(figure(rate) for _, rate in points), str(enough), figure(cores / (1 - share))))
        series.append(Series(f"{share:.0%} waiting", tuple((x, y) for x, y in points if y)))
    chart = Chart(
        "Answers a second and the size of the pool",
        Axis("workers", scale="log"),
        Axis("answers /s", scale="log"),
        tuple(series),
        marks=(Mark(cores, f"{cores} cores"),),
    )
    return Findings(
        title="The best size of a pool",
        question=(pool_size.__doc__ or "").strip(),
        columns=("waiting", *(f"{workers} workers" for workers in POOLS), "enough", "cores / computing share"),
        rows=tuple(rows),
        words=(
            f"Each request takes {TOTAL_MS:g} ms, of which a share is waiting and the rest is computing, outside the "
            "interpreter's lock. The cells are answers a second; `enough` is the smallest pool with 90 % of the best. "
            "While a thread waits, another can compute: the more waiting, the more threads keep the cores busy.",
        ),
        pictures=(chart,),
        data=data,
    )


def stages(options: Options, step: Step) -> Findings:
    """Why does one stage need more threads than another?"""
    rows, data = [], []
    points: dict[str, list[tuple[int, float]]] = {"threads in decide": [], "threads in receive": []}
    for name, make in (("threads in decide", lambda n: (1, n, 1)), ("threads in receive", lambda n: (n, 1, 1))):
        for threads in (1, 2, 4, 8):
            sizes = make(threads)
            step(f"{sizes[0]}-{sizes[1]}-{sizes[2]}")
            settings = Settings(stages=sizes, queue=8)
            host = HostPlan(model="staged", service=PagesPlan(disk_ms=DISK_MS), settings=settings)
            trial = run_trial(host, Asked(clients=options.clients_or(24), seconds=options.seconds or 0.5))
            queues = trial.report.queues
            data.append(summary(trial) | {"stages": sizes})
            points[name].append((threads, trial.a_second))
            rows.append(("-".join(map(str, sizes)), figure(trial.a_second), *cells(data[-1], "p50_ms", "p99_ms"),
                         *(str(queues[stage]) for stage in ("receive", "decide", "send"))))  # fmt: skip
    chart = Chart("Answers a second and the threads of one stage, the others with one", Axis("threads", scale="log"),
                  Axis("answers /s"), tuple(Series(name, tuple(found)) for name, found in points.items()))  # fmt: skip
    return Findings(
        title="Stages and their threads",
        question=(stages.__doc__ or "").strip(),
        columns=("receive-decide-send", "answers /s", "p50 ms", "p99 ms", "most before receive", "before decide",
                 "before send"),
        rows=tuple(rows),
        words=(
            f"Deciding blocks for {DISK_MS:g} ms in the disk; receiving and sending only compute. A thread that "
            f"decides serves at most {1000 / DISK_MS:.0f} requests a second, so that stage needs a thread for each "
            "request that is in the disk. More threads elsewhere change nothing: the queue before decide stays full.",
        ),
        pictures=(chart,),
        data=data,
    )  # fmt: skip
