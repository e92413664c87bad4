"""The options and the result of an experiment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from vez.draw.chart import Chart, Panels
from vez.draw.lanes import Lanes
from vez.servers.serving.trial.clients import Fate
from vez.servers.serving.trial.trial import Trial

MOST_CLIENTS = 256
MOST_SECONDS = 60.0

Step = Callable[[str], None]
"""A callback that is told the next step of an experiment."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Size of an experiment. None means the default of the experiment."""

    models: tuple[str, ...] | None = None
    clients: tuple[int, ...] | None = None
    works: tuple[str, ...] | None = None
    seconds: float | None = None

    def clients_or(self, default: int) -> int:
        """The number of clients, or the default."""
        return self.clients[0] if self.clients else default


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an experiment."""

    title: str
    question: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: tuple[str, ...]
    """Conclusions from the numbers, in sentences."""
    pictures: tuple[Chart | Panels | Lanes, ...] = ()
    data: Any = None
    """The measured values, for `--json`."""


def summary(trial: Trial) -> dict[str, Any]:
    """The numbers of a trial, for programs."""
    latency = trial.latency
    return {
        "model": trial.host.model,
        "clients": trial.asked.clients,
        "answers_a_second": round(trial.a_second, 1),
        "answered": len(trial.answered),
        "p50_ms": None if latency is None else round(latency.p50, 3),
        "p99_ms": None if latency is None else round(latency.p99, 3),
        "longest_ms": None if latency is None else round(latency.longest, 3),
        "threads": trial.report.most_threads,
        "memory_kb": trial.report.memory_kb,
        "refused": trial.count(Fate.REFUSED),
        "lost": trial.count(Fate.LOST) + trial.count(Fate.PENDING),
        "queues": trial.report.queues,
        "counts": trial.report.counts,
    }


def figure(value: float | None) -> str:
    """A number with three significant digits or more, as text."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def cells(row: dict[str, Any], *names: str) -> tuple[str, ...]:
    """Some fields of a summary as cells of a table."""
    return tuple(row[name] if isinstance(row[name], str) else figure(row[name]) for name in names)
