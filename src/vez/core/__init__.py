"""The words of a protocol. An algorithm imports from here and from nowhere else.

Nothing in this package, nor in `vez.algorithms`, imports asyncio, socket, time, random, threading or
logging: a handler may only do to the world what `Io` offers, which is why the same file can be simulated,
checked over every interleaving, and run on sockets. `tests/test_architecture.py` holds the rule.
"""

from vez.core.assumptions import Assumption, Property
from vez.core.io import Io
from vez.core.message import Message
from vez.core.process import Durable, Election, Mutex, Parameter, Process
from vez.core.topology import BidirectionalRing, Complete, Graph, Grid, Ring, Star, Topology
from vez.core.view import View
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
    "Property",
    "Ring",
    "Star",
    "Topology",
    "View",
    "VotingSets",
    "voting_set",
]


def __dir__() -> list[str]:
    """The public names, for `dir` and for completion."""
    return sorted(__all__)
