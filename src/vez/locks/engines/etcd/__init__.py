"""The engine etcd: locks, semaphores and elections on an etcd cluster.

The recipes are in `locks/recipes/etcd`, and the code that waits is in `locks/engines/network`. This package contains
only the parts that are specific to etcd: the URL (`address.py`), the JSON gateway (`codec.py`, `http.py`,
`error_replies.py`, `router.py`), connections and transports (written for tasks, generated for threads), and the set of
recipes (`recipe_set.py`).
"""

from __future__ import annotations

from vez.errors import MissingPart, how_to_install
from vez.locks.engines.base import Traits
from vez.locks.engines.etcd.address import DEFAULT_LEASE_SECONDS, Address, parse
from vez.locks.engines.etcd.recipe_set import EtcdRecipeSet
from vez.locks.engines.network.task_engine import NetworkAsyncEngine
from vez.locks.engines.network.thread_engine import NetworkEngine
from vez.locks.engines.promises import Finding
from vez.locks.engines.seam import AsyncEngine, Engine

NEEDS = "vez[etcd]"
TRAITS = Traits(
    frees="lease",
    reaches="network",
    token="arrival",  # noqa: S106  not a password
    cycles="process",
    lease_seconds=float(DEFAULT_LEASE_SECONDS),
    order="all",
    stays="present",
    memos=True,
    notes=(
        "A lock and an election of one name share their keys, so they need two names.",
        "Weights and transfers count among clients of vez only; etcdctl and Go programs keep the order of arrival.",
        "A cluster that was restored from a backup may give tokens again that it gave after the backup.",
    ),
)


def open_engine(url: str) -> Engine:
    """The engine for threads."""
    address, recipes = _prepared(url)
    from vez.locks.engines.etcd.thread_transport import EtcdTransport

    transport = EtcdTransport(address)
    transport.read_files()
    return NetworkEngine(url, recipes, transport)


def open_async_engine(url: str) -> AsyncEngine:
    """The engine for tasks. It reads the password and the certificates when it is first used, beside the loop."""
    address, recipes = _prepared(url)
    from vez.locks.engines.etcd.task_transport import EtcdAsyncTransport

    return NetworkAsyncEngine(url, recipes, EtcdAsyncTransport(address))


def examine(url: str) -> list[Finding]:
    """Findings for `vez doctor` about the cluster."""
    address, _ = _prepared(url)
    from vez.locks.engines.etcd.examination import examine_cluster

    return examine_cluster(address)


def _prepared(url: str) -> tuple[Address, EtcdRecipeSet]:
    try:
        import h11  # noqa: F401
    except ImportError as error:
        raise MissingPart(f"the engine etcd needs {error.name}", hint=how_to_install("etcd")) from error
    address = parse(url)
    return address, EtcdRecipeSet(address, TRAITS._replace(lease_seconds=float(address.lease_seconds)))
