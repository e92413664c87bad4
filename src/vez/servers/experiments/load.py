"""The five models side by side under load."""

from __future__ import annotations

from vez.draw.chart import Axis, Chart, Panels, Series
from vez.errors import UnknownName
from vez.servers.experiments.findings import Findings, Options, Step, cells, figure, summary
from vez.servers.experiments.timeline import timeline
from vez.servers.serving.models import MODELS, Settings
from vez.servers.serving.pages import KEPT_BYTES
from vez.servers.serving.trial.plan import Asked, HostPlan, PagesPlan
from vez.servers.serving.trial.trial import Trial, run_trial

SHORT, LONG = "/short.html", "/long/page.html"
WORKS: dict[str, tuple[str, PagesPlan, Asked]] = {
    "short": ("pages of 1 KB, kept in memory as by vez serve", PagesPlan(cache_bytes=KEPT_BYTES), Asked(clients=1)),
    "mixed": (
        "pages of 1 KB, read from the disk each time; one read in ten takes 50 ms",
        PagesPlan(),
        Asked(clients=1, targets=(SHORT,) * 9 + (LONG,)),
    ),
    "slow-client": (
        "as short, and a further client sends its request byte by byte; pages are kept in memory",
        PagesPlan(cache_bytes=KEPT_BYTES),
        Asked(clients=1, slow_clients=1),
    ),
    "slow-disk": ("pages are read from the disk each time, in 5 ms", PagesPlan(disk_ms=5), Asked(clients=1)),
}
CLIENTS = (1, 16, 256)
WORKERS = 16
COLUMNS = (
    "work, model, clients",
    "answers /s",
    "p50 ms",
    "p99 ms",
    "longest ms",
    "threads",
    "memory KB",
    "refused",
    "lost",
)
FIELDS = ("answers_a_second", "p50_ms", "p99_ms", "longest_ms", "threads", "memory_kb", "refused", "lost")


def load(options: Options, step: Step) -> Findings:
    """How do the five models behave from 1 to 256 clients, with short and long requests, a slow client, a slow disk?"""
    works = options.works or tuple(WORKS)
    for work in works:
        if work not in WORKS:
            raise UnknownName("work", work, WORKS)
    counts = options.clients or CLIENTS
    trials: dict[tuple[str, str], list[Trial]] = {}
    rows = []
    for work in works:
        for model in options.models or tuple(MODELS):
            for clients in counts:
                step(f"{work}, {model}, {clients} clients")
                trial = _trial(model, work, clients, options.seconds or 0.5)
                trials.setdefault((work, model), []).append(trial)
                rows.append({"work": work} | summary(trial))
    drawn = timeline(Options(models=options.models), step).pictures
    return Findings(
        title="Five models of a server under load",
        question=(load.__doc__ or "").strip(),
        columns=COLUMNS,
        rows=tuple((f"{row['work']}, {row['model']}, {row['clients']}", *cells(row, *FIELDS)) for row in rows),
        words=_words(works, options),
        pictures=(*(_panels(work, trials) for work in works if len(counts) > 1), *drawn),
        data=rows,
    )


def _trial(model: str, work: str, clients: int, seconds: float) -> Trial:
    _, pages, asked = WORKS[work]
    settings = Settings(workers=WORKERS, queue=256, most_threads=256, stages=(4, WORKERS, 4))
    host = HostPlan(model=model, service=pages, settings=settings)
    return run_trial(
        host, Asked(clients=clients, seconds=seconds, targets=asked.targets, slow_clients=asked.slow_clients)
    )


def _words(works: tuple[str, ...], options: Options) -> tuple[str, ...]:
    meanings = "; ".join(f"{work}: {WORKS[work][0]}" for work in works)
    return (
        f"{meanings}.",
        f"Pools have {WORKERS} workers and queues of 256. Each trial asks for {options.seconds or 0.5:g} s; latency is "
        "what clients saw. Memory is the growth of the server's process. Lost: the connection ended without an answer.",
    )


def _panels(work: str, trials: dict[tuple[str, str], list[Trial]]) -> Panels:
    chosen = {model: found for (of, model), found in trials.items() if of == work}

    def series(value: str) -> tuple[Series, ...]:
        made = []
        for model, found in chosen.items():
            points = [(trial.asked.clients, summary(trial)[value]) for trial in found]
            notes = tuple(f"{model}, {x} clients: {figure(y)}" for x, y in points if y)
            made.append(Series(model, tuple((x, y) for x, y in points if y), notes=notes))
        return tuple(made)

    clients = Axis("clients", scale="log")
    charts = (
        Chart("answers a second", clients, Axis("answers /s", scale="log"), series("answers_a_second")),
        Chart("latency, p99", clients, Axis("ms", scale="log"), series("p99_ms")),
        Chart("threads", clients, Axis("threads", scale="log"), series("threads")),
    )
    return Panels(f"{work}: {WORKS[work][0]}", charts)
