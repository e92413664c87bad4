"""The catalogue: every algorithm by its name on the command line.

An algorithm is one file of event handlers that imports only `vez.core`. Four elections share `election/successive.py`,
and `elected-coordinator`, which contains an election of the catalogue, is a folder. To add an algorithm, write the file
and list its class here. Every command, page and test finds it through `ALGORITHMS`.
"""

from __future__ import annotations

from vez.catalogue.election.bully import Bully
from vez.catalogue.election.bully_stable import BullyStable
from vez.catalogue.election.chang_roberts import ChangRoberts
from vez.catalogue.election.dolev_klawe_rodeh import DolevKlaweRodeh
from vez.catalogue.election.franklin import Franklin
from vez.catalogue.election.invitation import Invitations
from vez.catalogue.election.itai_rodeh import ItaiRodeh
from vez.catalogue.election.luis import Luis
from vez.catalogue.election.majority import Majority
from vez.catalogue.election.ring_anonymous import RingAnonymous
from vez.catalogue.election.ring_collect import RingCollect
from vez.catalogue.election.tournament import Tournament
from vez.catalogue.election.yoyo import YoYo
from vez.catalogue.mutex.coordinator import Coordinator
from vez.catalogue.mutex.coordinator_lease import CoordinatorLease
from vez.catalogue.mutex.elected_coordinator import ElectedCoordinator
from vez.catalogue.mutex.lamport import Lamport
from vez.catalogue.mutex.maekawa import Maekawa
from vez.catalogue.mutex.maekawa_fair import MaekawaFair
from vez.catalogue.mutex.naimi_trehel import NaimiTrehel
from vez.catalogue.mutex.quorum import Quorum
from vez.catalogue.mutex.quorum_retry import QuorumRetry
from vez.catalogue.mutex.raymond import Raymond
from vez.catalogue.mutex.ricart_agrawala import RicartAgrawala
from vez.catalogue.mutex.ricart_agrawala_priority import RicartAgrawalaPriority
from vez.catalogue.mutex.suzuki_kasami import SuzukiKasami
from vez.catalogue.mutex.token_ring import TokenRing
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
