"""The catalogue: every algorithm by its name on the command line.

An algorithm is one file of event handlers that imports `vez.core` and nothing else. To add one, write the
file and name its class here; every command, page and test finds it through `ALGORITHMS`.
"""

from __future__ import annotations

from vez.algorithms.election.bully import Bully
from vez.algorithms.election.chang_roberts import ChangRoberts
from vez.algorithms.mutex.coordinator import Coordinator
from vez.algorithms.mutex.coordinator_lease import CoordinatorLease
from vez.algorithms.mutex.lamport import Lamport
from vez.algorithms.mutex.maekawa import Maekawa
from vez.algorithms.mutex.maekawa_fair import MaekawaFair
from vez.algorithms.mutex.naimi_trehel import NaimiTrehel
from vez.algorithms.mutex.quorum import Quorum
from vez.algorithms.mutex.quorum_retry import QuorumRetry
from vez.algorithms.mutex.raymond import Raymond
from vez.algorithms.mutex.ricart_agrawala import RicartAgrawala
from vez.algorithms.mutex.ricart_agrawala_priority import RicartAgrawalaPriority
from vez.algorithms.mutex.suzuki_kasami import SuzukiKasami
from vez.algorithms.mutex.token_ring import TokenRing
from vez.core import Process
from vez.errors import UnknownName

ALGORITHMS: dict[str, type[Process]] = {
    algorithm.name: algorithm
    for algorithm in (
        Coordinator,
        CoordinatorLease,
        TokenRing,
        Quorum,
        QuorumRetry,
        Lamport,
        RicartAgrawala,
        RicartAgrawalaPriority,
        Maekawa,
        MaekawaFair,
        SuzukiKasami,
        Raymond,
        NaimiTrehel,
        ChangRoberts,
        Bully,
    )
}


def find(name: str) -> type[Process]:
    """The algorithm of that name; an unknown name gets the nearest ones as a hint."""
    try:
        return ALGORITHMS[name]
    except KeyError:
        raise UnknownName("algorithm", name, ALGORITHMS) from None
