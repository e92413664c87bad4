"""The effects of a full queue and of one slow client."""

from __future__ import annotations

from itertools import pairwise

import msgspec

from vez.servers.experiments.findings import Findings, Options, Step, cells, figure, summary
from vez.servers.experiments.timeline import lanes_of
from vez.servers.serving.models import MODELS, Settings
from vez.servers.serving.recording import Phase
from vez.servers.serving.trial.plan import Asked, HostPlan, PagesPlan
from vez.servers.serving.trial.trial import Trial, run_trial

DISK_MS = 10.0
WORKERS, QUEUE = 2, 4
SHOWN_S = 0.15


def full_queue(options: Options, step: Step) -> Findings:
    """What happens when requests come faster than they are served and the queue is full?"""
    clients = options.clients_or(32)
    rows, pictures, data = [], [], []
    for refuse in (False, True):
        step("refuse" if refuse else "block")
        settings = Settings(workers=WORKERS, queue=QUEUE, refuse_when_full=refuse)
        host = HostPlan(model="pool", service=PagesPlan(disk_ms=DISK_MS), settings=settings, record=True)
        trial = run_trial(host, Asked(clients=clients, seconds=options.seconds or 0.5))
        found = {"full queue": "the client is refused" if refuse else "the acceptor waits"} | summary(trial)
        found["blocked_ms"] = sum((s.end - s.begin) * 1000 for s in trial.spans if s.phase is Phase.BLOCKED)
        found["longest_queue"] = trial.report.queues["worker"]
        data.append(found)
        rows.append(cells(found, "full queue", "answered", "refused", "p50_ms", "p99_ms", "longest_ms", "longest_queue",
                          "blocked_ms"))  # fmt: skip
        begin = min((span.begin for span in trial.spans), default=0.0)
        until = begin + SHOWN_S
        early = [msgspec.structs.replace(span, end=min(span.end, until)) for span in trial.spans if span.begin < until]
        pictures.append(lanes_of(f"full queue: {found['full queue']}; the first {SHOWN_S * 1000:g} ms", early))
    return Findings(
        title="A full queue",
        question=(full_queue.__doc__ or "").strip(),
        columns=("full queue", "answered", "refused", "p50 ms", "p99 ms", "longest ms", "most in the queue",
                 "acceptor blocked ms"),
        rows=tuple(rows),
        words=(
            f"A pool of {WORKERS} workers with a queue of {QUEUE}, a disk of {DISK_MS:g} ms, {clients} clients that "
            "ask again at once, or 5 ms after a refusal. If the acceptor waits, nobody is refused, and everybody waits "
            "for all who came before. If clients are refused, those who are served wait for one short queue only.",
        ),
        pictures=tuple(pictures),
        data=data,
    )  # fmt: skip


def slow_client(options: Options, step: Step) -> Findings:
    """What does one client that sends its request byte by byte do to the others?"""
    clients = options.clients_or(4)
    rows, data = [], []
    for model in options.models or tuple(MODELS):
        step(model)
        host = HostPlan(model=model, service=PagesPlan(), settings=Settings(workers=4, stages=(2, 4, 2)))
        trial = run_trial(host, Asked(clients=clients, seconds=options.seconds or 1.0, slow_clients=1))
        slow = [sample for sample in trial.samples if sample.client >= clients]
        blocked = _longest_silence(trial)
        data.append(summary(trial) | {"longest_silence_ms": blocked, "slow_requests": len(slow)})
        rows.append(
            (model, figure(len(trial.answered)), *cells(data[-1], "p50_ms", "longest_ms", "longest_silence_ms"))
        )
    return Findings(
        title="One slow client",
        question=(slow_client.__doc__ or "").strip(),
        columns=("model", "answers to the others", "p50 ms", "longest ms", "longest time without an answer, ms"),
        rows=tuple(rows),
        words=(
            f"{clients} quick clients and one that sends a byte every 20 ms. A thread that reads its request can do "
            "nothing else, and `single` has only that thread. The loop reads whatever has come and goes on.",
        ),
        data=data,
    )


def _longest_silence(trial: Trial) -> float:
    """Longest time in which none of the quick clients got an answer, in milliseconds."""
    begun = min((sample.begin for sample in trial.quick), default=0.0)
    moments = [begun, *sorted(sample.end for sample in trial.answered)]
    return max((later - earlier) * 1000 for earlier, later in pairwise([*moments, moments[-1]]))
