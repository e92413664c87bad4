"""The simulator: virtual time, faults, and a seed that determines every random choice.

`simulation.py` makes the parts of a run and gives each of them what it uses; no other module knows all of them.
In this list a module uses only modules of earlier rows (`tests/worlds/sim/test_edges.py` checks this):

    scenario, delays        the description of a run, as data
    agenda                  the queue of future events (deliveries to nodes, and actions), and the clock
    availability            which processes are up, paused or crashed; the actions that wait for the end of a pause
    topology_cache          the peers and neighbours of each process
    setup                   the scenario after checks: topology, processes, random generators
    limits, nemesis         the end of the run; the random faults
    choices                 the results of `io.choose`
    timers                  the table of running timers
    recording, header       the events of the trace; its header
    node                    the `Io` of a process: calls agenda, topology_cache, timers, choices and recording, and
                            through two interfaces of its own network (`Channels`) and harness (`Application`)
    debug, blame            running a handler twice; finding the handler that raised an exception
    handler_crashes         crashes inside a handler
    dispatch                finds handlers and calls them, then lets the recording note how the process describes itself
    loop                    takes entries from the agenda and hands them to the dispatcher, until a limit is met
    network                 loss, delay, duplication and partitions of messages
    harness                 the application: requests, stays in the critical section, elections
    expiry, suspicions      timers that run out; calls of `on_suspect` and `on_trust`
    detection               the failure detectors: none, perfect, with heartbeats (which need the network)
    quiet                   faster nodes and harness, for runs without trace and faults
    faults                  starts, crashes, recoveries, pauses and partitions; tells availability, timers, recording,
                            network, harness and detection
    simulation              makes the parts and runs the loop
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from vez.worlds.sim.delays import parse_delay
from vez.worlds.sim.scenario import Scenario

if TYPE_CHECKING:
    from vez.worlds.sim.simulation import Progress, Run, simulate

__all__ = ["Progress", "Run", "Scenario", "parse_delay", "simulate"]


def __getattr__(name: str) -> Any:
    """Load the simulator when it is first used: a node needs scenarios, but not the simulator."""
    if name not in ("Progress", "Run", "simulate"):
        raise AttributeError(f"module 'vez.worlds.sim' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module("vez.worlds.sim.simulation"), name)
    return value
