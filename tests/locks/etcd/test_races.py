"""Releases against renewals, and reconnects under a changing leader. The counts are small here; `make campaign ETCD=1`
has large ones."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

import vez
from tests.locks.etcd.faulty import keys, leases, port_of
from tests.proxy import Proxy
from vez.errors import EngineUnavailable, LockTimeout, OwnershipLost
from vez.locks.engines.network.thread_engine import NetworkEngine
from vez.locks.engines.network.thread_sessions import ThreadSession
from vez.locks.engines.thread_primitives import at_work
from vez.testing.actors import PATIENCE, eventually
from vez.testing.servers import EtcdServer

RACES = int(os.environ.get("VEZ_RACES", "2000"))
RECONNECTS = int(os.environ.get("VEZ_RECONNECTS", "20"))
THREADS = 4
TURNS = 50
"""Number of turns of one client. Then it is closed, in the middle of a renewal."""


def sessions(client: vez.Client) -> list[ThreadSession]:
    engine = client.engine
    assert isinstance(engine, NetworkEngine)
    return list(engine._sessions._sessions)


@pytest.mark.long
def test_releases_against_renewals(own_etcd: EtcdServer) -> None:
    """A renewal is started at a random moment of a turn; the release, or the closing of the client, meets it. No
    renewer is alive after that, no lease is left, and no turn is lost (redisson#7272, ShedLock#606)."""
    before = len(at_work)

    def race(seed: int) -> int:
        chance, renewals = random.Random(seed), 0
        for _ in range(RACES // THREADS // TURNS):
            with vez.connect(own_etcd.url) as client:
                for turn in range(TURNS):
                    with client.lock(f"x{seed}") as grant:
                        for session in sessions(client):
                            assert session.guard is not None
                            session.guard.wake()  # its wait ends, and it renews
                            renewals += 1
                        time.sleep(chance.choice((0, 0, 0.0005, 0.001)))  # a stay
                        grant.check()
                    assert not grant.lost, turn
        return renewals

    with ThreadPoolExecutor(THREADS) as pool:
        assert sum(pool.map(race, range(THREADS))) >= RACES // THREADS // TURNS * TURNS * THREADS
    eventually(lambda: len(at_work) <= before, "the end of all renewers")
    assert (keys(own_etcd), leases(own_etcd)) == ([], 0)


class Candidate:
    """Stands repeatedly, and records the times at which it believed that it led."""

    def __init__(self, url: str, label: str, done: Callable[[], bool]) -> None:
        self.reigns: list[tuple[int, float, float]] = []
        self._client, self._label, self._done = vez.connect(url), label, done

    def run(self) -> None:
        while not self._done():
            try:
                leadership = self._client.election("chief", label=self._label).acquire(1)
            except (EngineUnavailable, LockTimeout):
                continue
            begun = last = time.monotonic()
            end = begun + 0.05
            while time.monotonic() < end:
                at = time.monotonic()
                if leadership.lost:
                    break
                last = at  # it was believed until here, at least
                time.sleep(0.001)  # a reign is looked at, often enough
            self.reigns.append((leadership.term, begun, last))
            try:
                leadership.release()
            except OwnershipLost:
                continue
        self._client.close()


def test_reconnects_never_make_two_leaders(own_etcd: EtcdServer) -> None:
    """curator#1137, #1169, #1211, kubernetes#23731: two leaders after a reconnect. Connections are cut while candidates
    stand and lead; terms are unique, and reigns do not overlap."""
    stop = threading.Event()
    chance = random.Random(RECONNECTS)
    with Proxy() as proxy:
        routes = [proxy.route(("127.0.0.1", own_etcd.port)) for _ in range(3)]
        urls = [f"etcd://127.0.0.1:{port_of(route)}?lease=1" for route in routes]
        candidates = [Candidate(url, str(place), stop.is_set) for place, url in enumerate(urls)]
        threads = [threading.Thread(target=candidate.run) for candidate in candidates]
        for thread in threads:
            thread.start()
        for _ in range(RECONNECTS):
            route = chance.choice(routes)
            if chance.random() < 0.3:
                route.cut()
                time.sleep(chance.uniform(0, 1.5))  # longer than the lease, sometimes
                route.heal()
            else:
                route.sever()
                time.sleep(chance.uniform(0, 0.1))  # between two faults
        reigned = sum(len(candidate.reigns) for candidate in candidates)
        eventually(lambda: sum(len(candidate.reigns) for candidate in candidates) > reigned + 3, "more leaders")
        stop.set()
        for thread in threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()
    reigns = sorted((reign for candidate in candidates for reign in candidate.reigns), key=lambda reign: reign[1])
    terms = [term for term, _, _ in reigns]
    assert len(terms) == len(set(terms)), "two leaders of one term"
    for (term, _, ended), (later, begun, _) in pairwise(reigns):
        assert later > term
        assert begun >= ended, f"terms {term} and {later} overlap"
    eventually(lambda: not keys(own_etcd) and not leases(own_etcd), "an empty server")
