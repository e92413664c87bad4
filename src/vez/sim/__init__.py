"""The first of the three worlds: virtual time, every fault, and a seed that decides it all."""

from vez.sim.delays import parse_delay
from vez.sim.scenario import Scenario
from vez.sim.simulation import Run, Simulation, simulate

__all__ = ["Run", "Scenario", "Simulation", "parse_delay", "simulate"]
