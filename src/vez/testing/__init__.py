"""Tests for engines and for programs: the contract as a suite, fixtures for programs that use vez, real servers.

For an engine: subclass `vez.testing.conformance.Conformance` in a test file and give it a `url` fixture. For a program:
pytest loads the fixtures of `vez.testing.plugin` automatically. They provide clients of a `memory:` engine whose locks
can be lost, and whose leaders can be deposed, on demand.

    conformance          the suite; `suite` runs it for `python -m vez.testing URL`
    conformance_base, lock_conformance, election_conformance, loss_conformance, edge_conformance,
    process_conformance, interrupts   its parts
    actors, workers      threads, tasks and processes that a test controls; `worker_program` runs in those processes
    plugin               fixtures for pytest
    servers              etcd, PostgreSQL and Redis on free loopback ports
    torture              real workers that are killed, paused and forked; their history is judged

Imports `vez.locks`; `torture` also `vez.core` and `vez.judge`. May be imported by: cli, servers.paging.
"""

from vez.testing.actors import Actor, AsyncActor, SyncActor, eventually

__all__ = ["Actor", "AsyncActor", "SyncActor", "eventually"]


def __dir__() -> list[str]:
    """The public names, for `dir` and for completion."""
    return sorted(__all__)
