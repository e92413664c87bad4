"""peers: programs that take turns by an algorithm of the catalogue, each a member of a group on sockets.

It stands on `vez.node`: the pump around a Process, links, handshakes, TLS. In this list a module uses only modules of
earlier rows:

    eligible     which algorithms can be used, and what they give
    settings     what a URL says
    traits       what an engine on an algorithm can do
    seat         one request of this program
    instance     the algorithm for one name, and the local queue
    locks        the same for a mutual exclusion
    elections    the same for an election
    participant  this program as a member of its group
    background   the participant's thread, shared by all clients of the program
    desk         what the engines for threads and for tasks have in common
    threads      the engine for threads
    tasks        the engine for tasks
"""

from __future__ import annotations

from urllib.parse import quote

from vez.engines.base import Traits
from vez.engines.seam import AsyncEngine, Engine

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
"""What holds for every group. The engine's own traits say what the algorithm adds."""


def traits_by(algorithm: str) -> Traits:
    """What a group with this algorithm gives and does not tolerate, with three members and no other options."""
    from vez.peers.settings import read_url
    from vez.peers.traits import traits_of

    return traits_of(read_url(f"peers://unix:1,unix:2,unix:3?me=1&algorithm={quote(algorithm)}"))


def open_engine(url: str) -> Engine:
    """Join the group of a URL, for threads."""
    from vez.peers.settings import read_url
    from vez.peers.threads import PeersEngine

    return PeersEngine(read_url(url))


def open_async_engine(url: str) -> AsyncEngine:
    """The engine of a URL, for tasks. It joins the group at the first use."""
    from vez.peers.settings import read_url
    from vez.peers.tasks import PeersAsyncEngine

    return PeersAsyncEngine(read_url(url))
