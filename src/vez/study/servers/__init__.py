"""Experiments with servers: each is a function that runs real trials and returns what was found."""

from vez.study.servers.findings import Findings, Options
from vez.study.servers.registry import EXPERIMENTS, run_experiment

__all__ = ["EXPERIMENTS", "Findings", "Options", "run_experiment"]
