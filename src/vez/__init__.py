"""vez: whose turn is it?

Who may import whom (`tests/test_architecture.py` holds it):

    errors                                       nothing
    plugins     entry points of other packages   errors
    core        the words of a protocol          errors
    algorithms  the catalogue                    core, errors
    detectors   failure detectors                errors
    sim         virtual time and faults          core, detectors, errors
    node        real processes and sockets       core, detectors, errors
    cluster     nodes as child processes         core, node, sim, errors
    zoo         plausible mistakes               algorithms, core, sim, errors
    words       English and Portuguese           errors
    properties  judges of traces                 core, words, errors
    draw        pictures of traces, charts       core, properties, words, errors
    validate    real runs against an algorithm   core, properties, words, errors
    threads     programs over shared memory      errors
    check       every interleaving               core, properties, sim, threads, words, errors
    table       the turn table, a pure machine   errors
    models      parts of vez for the checker     core, recipes, table, errors
    study       runs, sweeps, shrinking,         all of the above
                comparisons, quorum, timeout
    recipes     clients of a server, without I/O errors
    engines     where turns are kept             recipes, table, plugins, errors
    peers       the algorithms as an engine      core, detectors, node, sim, study, engines, errors
    turns       requests, grants, the clients    engines, errors
    aio         public name of the async client  turns
    fence       guards of the protected side     errors
    metrics     what a client has measured       turns, fence, errors
    testing     conformance suite, fixtures      turns, engines, errors
    torture     real processes, real faults      turns, engines, core, properties, words, errors
    supervise   commands while a lock is held    turns, engines, errors
    serving     five models of a server          errors
    fetching    a page and its files             draw, serving, errors
    paging      a query, stateless and stateful  draw, serving, testing, errors
    cli         the command line                 all of the above
    demo        `make demo`                      all of the above
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vez import aio, core, errors, fence, metrics, testing
    from vez.errors import (
        AlreadyHeld,
        CorruptState,
        Deadlock,
        EngineUnavailable,
        LockTimeout,
        OwnershipLost,
        StaleToken,
        VezError,
    )
    from vez.turns.client import Client, Election, Grant, Leadership, Lock, connect, lock

__version__ = "0.2.0"

_HOMES = {
    "vez.turns.client": ("Client", "Election", "Grant", "Leadership", "Lock", "connect", "lock"),
    "vez.errors": (
        "AlreadyHeld", "CorruptState", "Deadlock", "EngineUnavailable", "LockTimeout", "OwnershipLost", "StaleToken",
        "VezError",
    ),
}  # fmt: skip
_home = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "AlreadyHeld",
    "Client",
    "CorruptState",
    "Deadlock",
    "Election",
    "EngineUnavailable",
    "Grant",
    "Leadership",
    "Lock",
    "LockTimeout",
    "OwnershipLost",
    "StaleToken",
    "VezError",
    "__version__",
    "aio",
    "connect",
    "core",
    "errors",
    "fence",
    "lock",
    "metrics",
    "testing",
]


def __getattr__(name: str) -> Any:
    """Loaded when first used, so that `import vez` and `vez --help` cost nothing."""
    if name in ("aio", "core", "errors", "fence", "metrics", "testing"):
        return import_module(f"vez.{name}")
    if name not in _home:
        raise AttributeError(f"module 'vez' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_home[name]), name)
    return value


def __dir__() -> list[str]:
    """The public names, for `dir` and for completion; what is imported to make them work is not among them."""
    return sorted(__all__)
