"""Owners: those who ask for turns in this process, each thread and each task, and what each holds or waits for.

Only an owner itself adds an entry, anybody may strike one out, and each is one step of the interpreter: there is no
mutex for a hand-over to wait for, or for a forked child to inherit locked. What nobody knows any more is let go by its
finaliser, so the entries must not keep it alive.
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
    """One thread or one task. Its number is never used again, as the system does with its own for threads."""

    __slots__ = ("__weakref__", "entries", "number")

    def __init__(self) -> None:
        self.number = number = next(_numbers)
        self.entries: list[Entry] = []
        _owners[number] = ref(self, lambda _: _owners.pop(number, None))

    def holdings(self) -> list[tuple[Engine, Waiting]]:
        """What it holds."""
        pairs = [(engine, known()) for engine, known in list(self.entries)]
        return [(engine, holding) for engine, holding in pairs if holding is not None and holding.inside]


NOBODY = Owner()
"""In whose name observers watch, and to whom belongs what was let go."""


def gone(number: int) -> bool:
    """Whether the owner with this number, a thread or a task, has ended and nobody holds anything in its name."""
    return number not in _owners


def leave_all(engine: Engine) -> None:
    """Let go of everything that this process holds of an engine, and let every waiter look up."""
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
