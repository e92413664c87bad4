"""The conformance suite with the algorithm that the environment names. `test_conformance.py` runs this file once for
each algorithm: as parameters its thousands of tests would slow down the collection of all others."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.locks.peers.groups import CALM, places
from vez.locks.turns.client import connect
from vez.testing.conformance import Conformance

ALGORITHM = "VEZ_TEST_ALGORITHM"
FIRST_LEADS = ("ring-collect", "yoyo")
"""Elections that choose the smallest member; the others choose the largest, or the one that asks."""
OPTIONS: dict[str, dict[str, Any]] = {"bully-stable": {"time_scale": 20}, "invitation": {"time_scale": 20}}
"""Elections that end only when their timers do."""


class TestGroup(Conformance):
    """A group of three, all in this process; the suite uses the member that is chosen."""

    @pytest.fixture
    def url(self) -> Iterator[str]:
        algorithm = os.environ[ALGORITHM]
        with places() as made:
            urls = [made.url(one, algorithm, **CALM | OPTIONS.get(algorithm, {})) for one in made.ids]
            clients = [connect(url) for url in urls]
            try:
                yield urls[0 if algorithm in FIRST_LEADS else -1]
            finally:
                for client in clients:
                    client.close()
