"""The conformance suite, as far as the traits of an algorithm go: all actors are threads and tasks of one member."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.locks.peers.groups import CALM, places
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
