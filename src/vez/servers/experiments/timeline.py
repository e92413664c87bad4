"""The waits of requests: the recording of a server, drawn as lanes of its threads and queues."""

from __future__ import annotations

import re
from collections.abc import Iterable

from vez.draw.lanes import Lanes, Stay, Tone
from vez.servers.experiments.findings import Findings, Options, Step, figure
from vez.servers.serving.models import MODELS, Settings
from vez.servers.serving.recording import Phase, Span
from vez.servers.serving.trial.plan import Asked, HostPlan, PagesPlan
from vez.servers.serving.trial.trial import run_trial

TONES = {
    Phase.WAIT: Tone.WAIT,
    Phase.RECEIVE: Tone.READ,
    Phase.DECIDE: Tone.WORK,
    Phase.SEND: Tone.SEND,
    Phase.BLOCKED: Tone.BLOCKED,
}
NAMES = (
    (Tone.WAIT, "waits in a queue"),
    (Tone.READ, "is read"),
    (Tone.WORK, "is decided (the disk)"),
    (Tone.SEND, "is answered"),
    (Tone.BLOCKED, "thread blocked by a full queue"),
)
CLIENTS, REQUESTS, DISK_MS = 8, 2, 20.0


def lanes_of(title: str, spans: Iterable[Span]) -> Lanes:
    """Spans of a server as lanes: queues first, then threads, in the order of their numbers."""
    kept = sorted(spans, key=lambda span: span.begin)
    first = kept[0].begin if kept else 0.0
    stays = tuple(
        Stay(
            span.lane, TONES[span.phase], (span.begin - first) * 1000, (span.end - first) * 1000,
            str(span.request or ""), f"request {span.request}, {span.phase}" if span.request else str(span.phase),
        )
        for span in kept
    )  # fmt: skip
    return Lanes(title=title, lanes=tuple(sorted({span.lane for span in kept}, key=_place)), stays=stays, names=NAMES)


_ORDER = ("queue receive", "receive", "queue decide", "decide", "queue send", "send", "acceptor", "queue", "loop")


def _place(lane: str) -> tuple[int, str, int]:
    found = re.fullmatch(r"(.*?)(?: (\d+))?", lane)
    name, number = (found[1], int(found[2] or 0)) if found else (lane, 0)
    return (_ORDER.index(name) if name in _ORDER else len(_ORDER), name, number)


def wait_ms(spans: Iterable[Span]) -> dict[str, float]:
    """Milliseconds that requests waited, by queue."""
    found: dict[str, float] = {}
    for span in spans:
        if span.phase is Phase.WAIT:
            found[span.lane] = found.get(span.lane, 0.0) + (span.end - span.begin) * 1000
    return found


def timeline(options: Options, step: Step) -> Findings:
    """Where does a request wait, in each model?"""
    clients = options.clients_or(CLIENTS)
    rows, pictures, data = [], [], []
    for model in options.models or tuple(MODELS):
        step(model)
        host = HostPlan(
            model=model, service=PagesPlan(disk_ms=DISK_MS), settings=Settings(workers=4, stages=(1, 3, 1)), record=True
        )
        trial = run_trial(host, Asked(clients=clients, requests=REQUESTS, seconds=options.seconds or 10))
        waited = wait_ms(trial.spans)
        working = [span for span in trial.spans if span.phase is Phase.DECIDE]
        rows.append((model, str(len(trial.answered)), figure(sum(waited.values())), figure(most_at_once(working)),
                     figure(trial.latency.longest if trial.latency else None)))  # fmt: skip
        title = f"{model}: {clients} clients, {REQUESTS} requests each, a disk of {DISK_MS:g} ms"
        pictures.append(lanes_of(title, trial.spans))
        data.append({"model": model, "waited_ms": waited, "spans": trial.spans})
    return Findings(
        title="Where requests wait",
        question=(timeline.__doc__ or "").strip(),
        columns=("model", "answered", "ms waited in queues, all together", "most decided at once", "longest ms"),
        rows=tuple(rows),
        words=(
            "Every bar is a measurement of a real run. A number inside is the number of the request. A wait begins "
            "when the server sees the first bytes: who comes while `single` works is not seen before it looks again.",
        ),
        pictures=tuple(pictures),
        data=data,
    )


def most_at_once(spans: Iterable[Span]) -> int:
    """The largest number of spans that overlap."""
    ends = sorted(end for span in spans for end in ((span.begin, 1), (span.end, -1)))
    most = now = 0
    for _, change in ends:
        now += change
        most = max(most, now)
    return most
