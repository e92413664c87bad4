"""The vocabulary of a protocol: processes, messages, topologies, properties. An algorithm imports only this package.

    process, message, io       a participant, its messages, and the actions of a handler
    topology, voting           channels between processes; voting sets
    assumptions, declarations  assumptions and guarantees of an algorithm, and the checks of these declarations
    class_rules, handlers      checks when a class is defined; its table of handlers
    overrides                  the methods by which an algorithm describes itself
    effects, recorder          the calls of a handler as data
    identity, purity           identity of values; checks that handlers depend only on their state
    inner_process              an algorithm inside another
    trace, trace_file          the events of a run, and their file
    process_ids                which numbers are processes, so that pictures can show names
    drawn_view                 the part of a process that pictures show
    detectors                  failure detectors without I/O

Nothing here, and no algorithm, imports asyncio, socket, time, random, threading or logging: a handler acts on the
world only through `Io`. This is why the same file can be simulated, checked over every interleaving, and run on
sockets. `tests/test_architecture.py` checks the rule. This room imports `vez.errors` only. May be imported by: judge,
worlds, catalogue, draw, study, cli, locks.models, locks.peers, testing.torture.
"""

from vez.core.assumptions import Assumption, Property
from vez.core.drawn_view import View
from vez.core.io import Io
from vez.core.message import Message
from vez.core.process import Durable, Election, Mutex, Parameter, Process
from vez.core.process_ids import ProcessId, named
from vez.core.topology import BidirectionalRing, Complete, Graph, Grid, Ring, Star, Topology
from vez.core.voting import VotingSets, voting_set

__all__ = [
    "Assumption",
    "BidirectionalRing",
    "Complete",
    "Durable",
    "Election",
    "Graph",
    "Grid",
    "Io",
    "Message",
    "Mutex",
    "Parameter",
    "Process",
    "ProcessId",
    "Property",
    "Ring",
    "Star",
    "Topology",
    "View",
    "VotingSets",
    "named",
    "voting_set",
]


def __dir__() -> list[str]:
    """The public names, for `dir` and for completion."""
    return sorted(__all__)
