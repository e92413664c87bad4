"""The diagram of two clients and one server that block: a real run, drawn.

Source: Camargos, Concorrência, the sequence diagram of Cliente, Servidor and Cliente2.
"""

from __future__ import annotations

import http.client
import threading
import time

import msgspec

from vez.draw.lanes import Arrow, Lanes, Stay, Tone
from vez.servers.experiments.findings import Findings, Options, Step
from vez.servers.serving.recording import Phase, Span
from vez.servers.serving.trial.plan import HostPlan, WorkPlan
from vez.servers.serving.trial.trial import hosted

THINK_MS, WORK_MS, APART_MS = 20.0, 30.0, 8.0
NAMES = (
    (Tone.WORK, "active"),
    (Tone.WAIT, "inactive, waiting for an answer"),
    (Tone.READ, "inactive, waiting for a request"),
)


class Asked(msgspec.Struct, frozen=True):
    """One request as its client saw it. Times are seconds of the monotonic clock."""

    began: float
    sent: float
    answered: float
    ended: float


class Client(threading.Thread):
    """Prepares a request, sends it, blocks until the answer is here, and uses it."""

    def __init__(self, address: tuple[str, int], late_s: float) -> None:
        super().__init__(daemon=True)
        self._address, self._late_s = address, late_s
        self.asked: Asked | None = None

    def run(self) -> None:
        """Ask once."""
        connection = http.client.HTTPConnection(*self._address, timeout=20)
        connection.connect()
        time.sleep(self._late_s)
        began = time.monotonic()
        time.sleep(THINK_MS / 1000)
        sent = time.monotonic()
        connection.request("GET", f"/{WORK_MS:g}/0")
        connection.getresponse().read()
        answered = time.monotonic()
        time.sleep(THINK_MS / 1000)
        self.asked = Asked(began, sent, answered, time.monotonic())
        connection.close()


def two_clients(options: Options, step: Step) -> Findings:
    """How much happens at the same time when clients and server block?"""
    rows, pictures, data = [], [], []
    for model in options.models or ("single", "pool"):
        step(model)
        with hosted(HostPlan(model=model, service=WorkPlan(), record=True)) as host:
            people = [Client(host.address, 0.0), Client(host.address, APART_MS / 1000)]
            for client in people:
                client.start()
            for client in people:
                client.join(30)
            report = host.end()
        asked = [client.asked for client in people if client.asked is not None]
        served = sorted((span for span in report.spans if span.phase is Phase.DECIDE), key=lambda span: span.begin)
        overlap = len(served) == 2 and served[1].begin < served[0].end
        rows.append((model, *(f"{(one.answered - one.sent) * 1000:.1f}" for one in asked), "yes" if overlap else "no"))
        pictures.append(draw(model, asked, list(report.spans)))
        data.append({"model": model, "clients": asked, "overlap": overlap, "spans": report.spans})
    return Findings(
        title="Two clients, one server",
        question=(two_clients.__doc__ or "").strip(),
        columns=("model", "client 1 waited ms", "client 2 waited ms", "both requests in work at once"),
        rows=tuple(rows),
        words=(
            f"Each client prepares its request for {THINK_MS:g} ms, blocks until it is answered, and uses the answer "
            f"for {THINK_MS:g} ms; the second begins {APART_MS:g} ms later. A request takes {WORK_MS:g} ms. In "
            "`single` request 2 is taken only after answer 1 was sent, although three parties could be active.",
        ),
        pictures=tuple(pictures),
        data=data,
    )


def draw(model: str, asked: list[Asked], spans: list[Span]) -> Lanes:
    """The run as lanes: a client above the server and one below."""
    first = min(one.began for one in asked)
    last = max(one.ended for one in asked)

    def ms(moment: float) -> float:
        return max(0.0, (moment - first) * 1000)

    threads = sorted({span.lane for span in spans if span.phase is not Phase.WAIT})
    names = {lane: "server" if len(threads) == 1 else f"server, {lane}" for lane in threads}
    stays: list[Stay] = []
    arrows: list[Arrow] = []
    for number, one in enumerate(asked, 1):
        lane = f"client {number}"
        stays += [
            Stay(lane, Tone.WORK, ms(one.began), ms(one.sent), f"request ({number})", "prepares the request"),
            Stay(lane, Tone.WAIT, ms(one.sent), ms(one.answered), "", "waits for the answer"),
            Stay(lane, Tone.WORK, ms(one.answered), ms(one.ended), f"answer ({number})", "uses the answer"),
        ]
    for lane in threads:
        busy = _busy([span for span in spans if span.lane == lane and span.phase is not Phase.WAIT])
        before = 0.0
        for begin, end, request in busy:
            stays.append(Stay(names[lane], Tone.READ, before, ms(begin), "", "waits for a request"))
            stays.append(Stay(names[lane], Tone.WORK, ms(begin), ms(end), f"({request})", f"request {request}"))
            before = ms(end)
            one = asked[request - 1]
            arrows.append(Arrow(f"client {request}", names[lane], ms(one.sent), ms(begin)))
            arrows.append(Arrow(names[lane], f"client {request}", ms(end), ms(one.answered)))
        stays.append(Stay(names[lane], Tone.READ, before, ms(last), "", "waits for a request"))
    lanes = ("client 1", *(names[lane] for lane in threads), "client 2")
    return Lanes(f"Two clients and one server: {model}", lanes, tuple(stays), NAMES, tuple(arrows))


def _busy(spans: list[Span]) -> list[tuple[float, float, int]]:
    """Beginning and end of each request in one thread, with its number."""
    found: dict[int, tuple[float, float]] = {}
    for span in spans:
        begin, end = found.get(span.request, (span.begin, span.end))
        found[span.request] = (min(begin, span.begin), max(end, span.end))
    return [(begin, end, request) for request, (begin, end) in sorted(found.items(), key=lambda one: one[1])]
