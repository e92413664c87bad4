"""The engine etcd: locks, semaphores and elections on an etcd cluster.

The recipes are in `vez.recipes.etcd`, the way to wait in `vez.engines.network`. Here is what is etcd's own: its URL
(`address.py`), its JSON gateway (`codec.py`, `http.py`, `verdicts.py`, `router.py`), the two transports, and the book.
"""

from __future__ import annotations

import msgspec

from vez.engines.base import Traits
from vez.engines.etcd.address import DEFAULT_LEASE_SECONDS, Address, parse
from vez.engines.etcd.book import EtcdBook
from vez.engines.network.async_engine import NetworkAsyncEngine
from vez.engines.network.engine import NetworkEngine
from vez.engines.promises import Finding
from vez.engines.seam import AsyncEngine, Engine
from vez.errors import MissingPart

NEEDS = "vez[etcd]"
TRAITS = Traits(
    frees="lease",
    reaches="network",
    token="arrival",  # noqa: S106  not a password
    cycles="process",
    lease_seconds=float(DEFAULT_LEASE_SECONDS),
    order="all",
    stays="present",
    notes=(
        "A lock and an election of one name share their keys, so they need two names.",
        "Weights and transfers count among clients of vez only; etcdctl and Go programs keep the order of arrival.",
        "A cluster that was restored from a backup may give tokens again that it gave after the backup.",
    ),
)


def open_engine(url: str) -> Engine:
    """The engine for threads."""
    address, book = _prepared(url)
    from vez.engines.etcd.transport import EtcdTransport

    return NetworkEngine(url, book, EtcdTransport(address))


def open_async_engine(url: str) -> AsyncEngine:
    """The engine for tasks."""
    address, book = _prepared(url)
    from vez.engines.etcd.async_transport import EtcdAsyncTransport

    return NetworkAsyncEngine(url, book, EtcdAsyncTransport(address))


def examine(url: str) -> list[Finding]:
    """What `vez doctor` says of the cluster."""
    address, _ = _prepared(url)
    from vez.engines.etcd.examination import examine_cluster

    return examine_cluster(address)


def _prepared(url: str) -> tuple[Address, EtcdBook]:
    try:
        import httpcore  # noqa: F401
    except ImportError as error:
        raise MissingPart(f"the engine etcd needs {error.name}", hint=f"pip install '{NEEDS}'") from error
    address = parse(url)
    return address, EtcdBook(address, msgspec.structs.replace(TRAITS, lease_seconds=float(address.lease_seconds)))
