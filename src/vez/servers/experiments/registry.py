"""The experiments by name."""

from __future__ import annotations

from collections.abc import Callable

from vez.errors import Misuse, UnknownName
from vez.servers.experiments.findings import MOST_CLIENTS, MOST_SECONDS, Findings, Options, Step
from vez.servers.experiments.load import load
from vez.servers.experiments.sizes import pool_size, stages, thread_cost
from vez.servers.experiments.timeline import timeline
from vez.servers.experiments.two_clients import two_clients
from vez.servers.experiments.updates import lost_updates
from vez.servers.experiments.waiting import full_queue, slow_client
from vez.servers.serving.models import MODELS

EXPERIMENTS: dict[str, tuple[Callable[[Options, Step], Findings], frozenset[str]]] = {
    "load": (load, frozenset({"models", "clients", "works", "seconds"})),
    "timeline": (timeline, frozenset({"models", "clients"})),
    "two-clients": (two_clients, frozenset({"models"})),
    "full-queue": (full_queue, frozenset({"clients", "seconds"})),
    "thread-cost": (thread_cost, frozenset({"clients", "seconds"})),
    "pool-size": (pool_size, frozenset({"clients", "seconds"})),
    "stages": (stages, frozenset({"clients", "seconds"})),
    "slow-client": (slow_client, frozenset({"models", "clients", "seconds"})),
    "lost-updates": (lost_updates, frozenset({"models", "clients"})),
}
"""Each experiment with the options that it uses."""


def run_experiment(name: str, options: Options, step: Step) -> Findings:
    """Run an experiment. Raises `Misuse` for options that it does not use or that are out of bounds."""
    if name not in EXPERIMENTS:
        raise UnknownName("experiment", name, EXPERIMENTS)
    experiment, _ = EXPERIMENTS[name]
    for model in options.models or ():
        if model not in MODELS:
            raise UnknownName("model", model, MODELS)
    for clients in options.clients or ():
        if not 1 <= clients <= MOST_CLIENTS:
            raise Misuse(f"{clients} clients: expected 1 to {MOST_CLIENTS}")
    if options.seconds is not None and not 0.01 <= options.seconds <= MOST_SECONDS:
        raise Misuse(f"{options.seconds:g} s: expected 0.01 to {MOST_SECONDS:g}")
    return experiment(options, step)
