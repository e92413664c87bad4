"""vez: whose turn is it?

    core        what a protocol is written with
    catalogue   what is written: the textbook algorithms, the zoo of mistakes, and how they are found by name
    worlds      where it runs: sim (virtual time), check (every interleaving), node (real processes)
    threads     programs over shared memory, on real threads
    judge       what a trace says: properties, validation, and the words of both languages
    draw        pictures of traces, charts
    study       runs, sweeps, shrinking, comparisons, quorum, timeout
    locks       locks and leaders for programs: clients, engines, recipes
    servers     experiments with servers: five models of serving, state, fetching
    testing     the conformance suite for engines, fixtures, and torture
    cli         the command line, and `make demo`

Modules beside the rooms: `errors` and `plugins`, which everybody may import, and public names for parts of rooms
(`aio`, `algorithms`, `check`, `detectors`, `fence`, `metrics`, `properties`, `sim`, `validate`). `tools/rooms.py` says
who may import whom, and `tests/test_architecture.py` holds it.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing takes longer to load than everything else here
if TYPE_CHECKING:
    from typing import Any

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
    from vez.locks.turns.client import Client, Election, Grant, Leadership, Lock, connect, lock

__version__ = "0.2.0"

_HOMES = {
    "vez.locks.turns.client": ("Client", "Election", "Grant", "Leadership", "Lock", "connect", "lock"),
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
    if name in _home:
        value = globals()[name] = getattr(__import__(_home[name], fromlist=(name,)), name)
        return value
    module = f"vez.{name}"
    try:
        if not name.startswith("_"):
            return getattr(__import__(module), name)
    except ModuleNotFoundError as error:
        if error.name != module:  # it exists, and something that it needs does not
            raise
    from vez.locks.turns.other_words import no_member

    raise no_member("vez", name, tuple(__all__))


def __dir__() -> list[str]:
    """The public names, for `dir` and for completion; what is imported to make them work is not among them."""
    return sorted(__all__)
