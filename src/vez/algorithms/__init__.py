"""The catalogue: every algorithm by its name on the command line.

An algorithm is one file of event handlers that imports only `vez.core`. Four elections share `election/successive.py`,
and `elected-coordinator`, which contains an election of the catalogue, is a folder. To add an algorithm, write the file
and list its class here. Every command, page and test finds it through `ALGORITHMS`.
"""

from __future__ import annotations

from vez.algorithms.election.bully import Bully
from vez.algorithms.election.bully_stable import BullyStable
from vez.algorithms.election.chang_roberts import ChangRoberts
from vez.algorithms.election.dolev_klawe_rodeh import DolevKlaweRodeh
from vez.algorithms.election.franklin import Franklin
from vez.algorithms.election.invitation import Invitations
from vez.algorithms.election.itai_rodeh import ItaiRodeh
from vez.algorithms.election.luis import Luis
from vez.algorithms.election.majority import Majority
from vez.algorithms.election.ring_anonymous import RingAnonymous
from vez.algorithms.election.ring_collect import RingCollect
from vez.algorithms.election.tournament import Tournament
from vez.algorithms.election.yoyo import YoYo
from vez.algorithms.mutex.coordinator import Coordinator
from vez.algorithms.mutex.coordinator_lease import CoordinatorLease
from vez.algorithms.mutex.elected_coordinator import ElectedCoordinator
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
        ElectedCoordinator,
        Lamport,
        RicartAgrawala,
        RicartAgrawalaPriority,
        Maekawa,
        MaekawaFair,
        SuzukiKasami,
        Raymond,
        NaimiTrehel,
        RingAnonymous,
        RingCollect,
        ChangRoberts,
        Franklin,
        Tournament,
        DolevKlaweRodeh,
        ItaiRodeh,
        YoYo,
        Bully,
        BullyStable,
        Luis,
        Invitations,
        Majority,
    )
}


def find(name: str) -> type[Process]:
    """Return the algorithm of that name; the error for an unknown name suggests similar ones."""
    try:
        return ALGORITHMS[name]
    except KeyError:
        raise UnknownName("algorithm", name, ALGORITHMS) from None
