"""The engine `peers:`: programs that take turns by an algorithm of the catalogue, each a member of a group on sockets.

It is built on `vez.worlds.node`: the pump around a Process, links, handshakes, TLS. In this list a module uses only
modules of earlier rows:

    eligible     the algorithms that can be used, and their features
    settings     parses the URL
    traits       the traits of an engine on an algorithm
    seat         one request of this program
    instance     the algorithm for one name, and the local queue
    locks        the instance of a mutual exclusion
    elections    the instance of an election
    participant  this program as a member of its group
    background   the participant's thread, shared by all clients of the program
    core         the part that the engines for threads and for tasks share
    task_side    the parts that only tasks need; thread_side, those that only threads need, with the same names
    task_engine  the engine for tasks; thread_engine, for threads, is generated from it
"""

from __future__ import annotations

from urllib.parse import quote

from vez.locks.engines.base import Traits
from vez.locks.engines.seam import AsyncEngine, Engine

NEEDS = ""
TRAITS = Traits(
    frees=None,
    chosen_leases=False,
    reaches="network",
    token=None,
    cycles="process",
    queue_visible=False,
    stays=None,
    order=None,
    transfer=False,
    breaks=False,
    shared=False,
    semaphores=False,
    weights=False,
    notes=(
        "The algorithm says what it tolerates: most assume that no member stops.",
        "Only algorithms that hand out tokens or terms can be fenced.",
    ),
)
"""Traits that hold for every group. `engine.traits` adds those of its algorithm."""


def traits_by(algorithm: str) -> Traits:
    """The traits of a group with this algorithm, three members and no other options."""
    from vez.locks.peers.settings import read_url
    from vez.locks.peers.traits import traits_of

    return traits_of(read_url(f"peers://unix:1,unix:2,unix:3?me=1&algorithm={quote(algorithm)}"))


def open_engine(url: str) -> Engine:
    """Join the group of a URL, for threads."""
    from vez.locks.peers.settings import read_url
    from vez.locks.peers.thread_engine import PeersEngine

    return PeersEngine(read_url(url))


def open_async_engine(url: str) -> AsyncEngine:
    """The engine of a URL, for tasks. It joins the group when it is first used, and reads files only then, beside the
    loop: until then its traits are those of all groups, if the algorithm or the members are in a file."""
    from vez.locks.peers.settings import glance
    from vez.locks.peers.task_engine import PeersAsyncEngine
    from vez.locks.peers.traits import traits_of

    seen = glance(url)
    return PeersAsyncEngine(url, TRAITS if seen is None else traits_of(seen))
