"""Owners: the threads and tasks of this process that ask for locks, and what each holds or waits for.

Only an owner itself adds an entry, anybody may remove one, and each is one step of the interpreter
(docs/decisions/interpreter-lock.md). So there is no mutex for which a hand-over would wait, or that a forked child
would inherit locked. A grant that the program has dropped is released by its finaliser, so entries are weak references.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING
from weakref import ref

from vez.engines.machine import at_fork

if TYPE_CHECKING:
    from vez.engines.base import Engine
    from vez.engines.local import Waiting

    Entry = tuple[Engine, ref[Waiting]]

_numbers = count(1)
_owners: dict[int, ref[Owner]] = {}


class Owner:
    """A thread or a task. Its number is never used again, unlike the system's numbers of threads."""

    __slots__ = ("__weakref__", "entries", "number")

    def __init__(self) -> None:
        self.number = number = next(_numbers)
        self.entries: list[Entry] = []
        _owners[number] = ref(self, lambda _: _owners.pop(number, None))

    def holdings(self) -> list[tuple[Engine, Waiting]]:
        """What it holds, with the engine of each."""
        pairs = [(engine, known()) for engine, known in list(self.entries)]
        return [(engine, holding) for engine, holding in pairs if holding is not None and holding.inside]


NOBODY = Owner()
"""Placeholder owner for observers and released holdings."""


def gone(number: int) -> bool:
    """True if the owner with this number has ended."""
    return number not in _owners


def leave_all(engine: Engine) -> None:
    """Release everything that this process holds of an engine, and wake every waiter."""
    for known in list(_owners.values()):
        owner = known()
        for of, mine in list(owner.entries) if owner is not None else ():
            if of is engine and (waiting := mine()) is not None:
                if waiting.inside:
                    waiting.release()
                else:
                    waiting.wake()


def _forget() -> None:
    """A forked child holds nothing."""
    for known in list(_owners.values()):
        if (owner := known()) is not None:
            owner.entries.clear()


at_fork(after_in_child=_forget)
