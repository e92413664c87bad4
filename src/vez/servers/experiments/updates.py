"""Lost updates in a server: the counter, with and without a lock, behind every model."""

from __future__ import annotations

from vez.servers.experiments.findings import Findings, Options, Step, figure, summary
from vez.servers.serving.models import MODELS, Settings
from vez.servers.serving.trial.plan import Asked, CounterPlan, HostPlan
from vez.servers.serving.trial.trial import run_trial

REQUESTS = 20


def lost_updates(options: Options, step: Step) -> Findings:
    """Does a server need a lock around an update?"""
    clients = options.clients_or(8)
    rows, data = [], []
    for locked in (False, True):
        for model in options.models or tuple(MODELS):
            step(f"{model}, {'lock' if locked else 'no lock'}")
            host = HostPlan(
                model=model, service=CounterPlan(locked=locked), settings=Settings(workers=8, stages=(2, 8, 2))
            )
            asked = Asked(
                clients=clients, requests=REQUESTS, seconds=options.seconds or 20, targets=("/counter",), method="POST"
            )
            trial = run_trial(host, asked)
            told, number = len(trial.answered), trial.report.number or 0
            data.append(
                summary(trial) | {"locked": locked, "acknowledged": told, "number": number, "lost": told - number}
            )
            rows.append(
                (model, "yes" if locked else "no", str(told), str(number), str(told - number), figure(trial.a_second))
            )
    return Findings(
        title="Lost updates",
        question=(lost_updates.__doc__ or "").strip(),
        columns=("model", "lock", "updates acknowledged", "counter at the end", "lost", "answers /s"),
        rows=tuple(rows),
        words=(
            f"{clients} clients, {REQUESTS} updates each: read the number from a file, 1 ms later write the number "
            "plus one. Each update was acknowledged. One thread needs no lock. With several, two read the same number, "
            "and one update is lost. The lock makes the update one step, and its waiters stand in line.",
        ),
        data=data,
    )
