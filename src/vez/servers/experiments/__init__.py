"""Experiments with servers: each is a function that runs real trials and returns its findings.

    load          the five models under load
    sizes         the cost of a thread, the best size of a pool, the threads of stages
    timeline      the waits of requests in each model
    two_clients   two clients and one server that block, drawn
    updates       lost updates with and without a lock
    waiting       a full queue, and a slow client
    findings      the options and the result of an experiment
    registry      the experiments by name

Imports `vez.servers.serving` and `vez.draw`.
"""

from vez.servers.experiments.findings import Findings, Options
from vez.servers.experiments.registry import EXPERIMENTS, run_experiment

__all__ = ["EXPERIMENTS", "Findings", "Options", "run_experiment"]
