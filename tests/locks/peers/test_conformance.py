"""The conformance suite, as far as the traits of an algorithm go: all actors are threads and tasks of one member."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.locks.peers.every_algorithm import ALGORITHM
from tests.locks.peers.groups import CALM, places
from vez.catalogue.algorithms import ALGORITHMS
from vez.locks.peers.eligible import why_not
from vez.locks.turns.client import connect
from vez.testing.conformance import Conformance
from vez.testing.interrupts import InterruptConformance


class Group(Conformance):
    """A group of three, all in this process; the suite uses its last member."""

    algorithm: str
    options = CALM

    @pytest.fixture
    def url(self) -> Iterator[str]:
        with places() as made:
            urls = [made.url(one, self.algorithm, **self.options) for one in made.ids]
            clients = [connect(url) for url in urls]
            try:
                yield urls[-1]
            finally:
                for client in clients:
                    client.close()


class TestRicartAgrawala(Group, InterruptConformance):
    algorithm = "ricart-agrawala"


class TestTokenRing(Group):
    algorithm = "token-ring"


class TestCoordinatorLease(Group):
    """It gives tokens."""

    algorithm = "coordinator-lease"
    options = CALM | {"lease_ms": 100}


class TestBully(Group):
    """Elections; the largest member leads."""

    algorithm = "bully"


class TestMajority(Group):
    """Elections with terms."""

    algorithm = "majority"
    options = CALM | {"time_scale": 200}


OTHERS = sorted(
    {name for name, kind in ALGORITHMS.items() if not why_not(name, kind)}
    - {one.algorithm for one in (TestRicartAgrawala, TestTokenRing, TestCoordinatorLease, TestBully, TestMajority)}
)


@pytest.mark.long
@pytest.mark.limit(300)
@pytest.mark.parametrize("algorithm", OTHERS)
def test_every_other_algorithm_conforms(algorithm: str) -> None:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/locks/peers/every_algorithm.py"]
    done = subprocess.run(
        command, env={**os.environ, ALGORITHM: algorithm}, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout
