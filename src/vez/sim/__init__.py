"""The simulator: virtual time, every fault, and a seed that decides it all.

`simulation.py` makes the parts of a run and gives each of them what it uses; no other module knows all of them.
In this list a module uses only modules of earlier rows (`tests/sim/test_edges.py` holds this):

    scenario, delays        what is asked for, as data
    agenda                  what happens when: deliveries to nodes, and actions; the clock
    availability            who is up, paused or crashed; holds back what must wait for the end of a pause
    directory               who has which peers and neighbours
    setup                   the scenario made concrete: topology, processes, streams of chance
    limits, nemesis         when the run must stop; the random faults as a list
    choices                 what `io.choose` gives
    timers                  the table of timers that are set
    recording, header       what processes did and said; the header of the trace
    node                    the `Io` of a process: passes on to agenda, directory, timers, choices and recording;
                            through two interfaces of its own to network (`Channels`) and harness (`Application`)
    debug, blame            running a handler twice; whose fault an exception is
    dispatch                finds handlers and calls them, then lets the recording note how the process describes itself
    loop                    takes entries from the agenda and hands them to the dispatcher, until a limit is met
    network                 what becomes of a message: lost, delayed, copied, cut
    harness                 the application: wants, stays, elections
    expiry, suspicions      timers that run out; what a failure detector says
    detection               the failure detectors: none, perfect, by heartbeats (these ask the network about cuts)
    quiet                   nodes and harness of runs without trace and faults: the same, faster
    faults                  starts, crashes, recoveries, pauses and partitions; tells availability, timers, recording,
                            network, harness and detection
    simulation              the parts put together, and run
"""

from vez.sim.delays import parse_delay
from vez.sim.scenario import Scenario
from vez.sim.simulation import Progress, Run, simulate

__all__ = ["Progress", "Run", "Scenario", "parse_delay", "simulate"]
