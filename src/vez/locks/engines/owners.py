"""Owners: the threads and tasks of this process that ask for locks, and what each holds or waits for.

This is the only place that knows it. Engines see the number of an owner. Their pumps enter what it waits for and
remove what is released; lock objects ask here for their newest grant.

Only an owner itself adds an entry, anybody may remove one, and each is one step of the interpreter
(docs/decisions/interpreter-lock.md). So there is no mutex for which a hand-over would wait, or that a forked child
would inherit locked. A grant that the program has dropped is released by its finaliser, so entries are weak references.
"""

from __future__ import annotations

from itertools import count
from sys import modules
from threading import local
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar
from weakref import ref

from vez.locks.engines.base import Request
from vez.locks.engines.machine import at_fork
from vez.locks.engines.wording import already_held

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Task

    from vez.locks.engines.cycles import Searched, Target

    Entry = tuple["Owner", Searched, ref["Claim"], AbstractEventLoop | Task[Any] | None]
    """The owner, the engine, the claim, and for threads what `running` said at that time."""


class Claim(Protocol):
    """A request in a queue; once granted, the holding. Engines keep these."""

    request: Request
    entry: Entry | None
    """Its entry in `Owner.entries`; whoever releases it calls `leave` with it."""
    waits: Target | None
    """For what its release waits: its owner has asked for that, and could not be refused."""

    @property
    def inside(self) -> bool:
        """Granted, and not yet released."""

    @property
    def token(self) -> int | None:
        """The fencing token."""

    def why_lost(self) -> str | None:
        """Reason of the loss, or None while held. Never blocks."""

    def release(self) -> object:
        """Release; for tasks of network engines the result must be awaited."""

    withdrawn: bool
    """True if its owner no longer wants it: the wait for it ends with `wording.withdrawn`."""

    def wake(self) -> None:
        """End a wait, from any thread."""


_numbers = count(1)
_owners: dict[int, ref[Owner]] = {}
known_owner = _owners.get  # bound once: every turn passes here
"""The owner with this number if it is alive, as a weak reference; `find` also finds the others."""


class Owner:
    """A thread or a task. Its number is never used again, unlike the system's numbers of threads."""

    __slots__ = ("__weakref__", "entries", "loop", "number", "task")

    def __init__(self, task: Task[Any] | None = None, number: int | None = None) -> None:
        self.number = number = next(_numbers) if number is None else number
        self.task = None if task is None else ref(task)  # None for a thread
        self.loop = None if task is None else task.get_loop()
        self.entries: list[Entry] = []
        _owners[number] = ref(self, lambda _: _owners.pop(number, None))

    def holdings(self, *, of: Owner | None = None) -> list[tuple[Searched, Claim]]:
        """The claims that this owner holds, each with its engine.

        For a thread with `of`: only the claims that it acquired before its event loop ran, and those of that task.
        Another task may release the rest."""
        mine = () if of is None or of.task is None else (None, of.task())
        found = []
        for entry in list(self.entries):
            _, engine, known, at = entry
            if (holding := known()) is None:
                leave(entry)  # an interrupt struck its finaliser
            elif holding.inside and (of is None or at in mine):
                found.append((engine, holding))
        return found


def running_loop() -> AbstractEventLoop | None:
    """The event loop that this thread runs, or None. In a process that has not imported asyncio no loop runs, and
    importing it takes longer than many programs run."""
    asyncio = modules.get("asyncio")
    return None if asyncio is None else getattr(asyncio, "_get_running_loop", _no_loop)()


def _no_loop() -> None:
    """Another thread is importing asyncio at this moment."""


def running(loop: AbstractEventLoop | None) -> AbstractEventLoop | Task[Any] | None:
    """The task that this event loop of this thread runs now, or else the loop; None without a loop."""
    if loop is None:
        return None
    from asyncio import current_task

    return current_task(loop) or loop


class _Here(local):
    """The owner of this thread."""

    def __init__(self) -> None:
        self.owner = Owner()


here = _Here()


def find(number: int) -> Owner:
    """The owner with this number. One that has ended, or that no thread or task stands for, is known as long as it
    holds something."""
    known = _owners.get(number)
    return (None if known is None else known()) or Owner(number=number)


def leave(entry: Entry | None) -> None:
    """Remove an entry; harmless if it was removed already."""
    if entry is not None:
        try:  # noqa: SIM105  every turn passes here
            entry[0].entries.remove(entry)
        except ValueError:
            pass


def refuse_self(owner: Owner, engine: Searched, request: Request) -> None:
    """Raise `AlreadyHeld` if the owner holds what it asks for."""
    held = [holding for of, holding in owner.holdings() if of is engine and _same(holding.request, request)]
    mine = [holding for holding in held if holding.why_lost() is None]
    if len(mine) >= request.limit:
        raise already_held(request, mine[0].request, mine[0].token)


def _same(one: Request, other: Request) -> bool:
    return one.name == other.name and one.kind == other.kind


def _all_owners() -> list[Owner]:
    return [owner for known in list(_owners.values()) if (owner := known()) is not None]


def all_holdings() -> list[tuple[Searched, Claim]]:
    """Everything that this process holds."""
    return [pair for owner in _all_owners() for pair in owner.holdings()]


def held_meanwhile(owner: Owner) -> list[tuple[Searched, Claim]]:
    """The claims that cannot be released while this owner waits.

    These are its own, and those that a task acquired through its thread. A waiting thread also stops the tasks of its
    event loop. Claims that a thread acquired before it ran a loop are released only after the loop."""
    held = owner.holdings()
    loop = running_loop()
    if loop is None:
        return held
    if owner.loop is not None:
        return held + here.owner.holdings(of=owner)
    return held + [pair for task in _all_owners() if task.loop is loop for pair in task.holdings()]


def leave_all(engine: Searched) -> None:
    """Release everything that this process holds of an engine, and wake every waiter."""
    for owner in _all_owners():
        for _, of, known, _ in list(owner.entries):
            if of is engine and (claim := known()) is not None:
                if claim.inside:
                    claim.release()
                else:
                    claim.wake()


def withdraw(number: int) -> None:
    """End the wait of a thread that another thread stops. It has no effect on a thread that is not waiting yet."""
    known = _owners.get(number)
    if known is not None and (owner := known()) is not None:
        for _, _, known_claim, _ in list(owner.entries):
            if (claim := known_claim()) is not None and not claim.inside:
                claim.withdrawn = True
                claim.wake()


def _forget() -> None:
    """A forked child holds nothing."""
    for owner in _all_owners():
        owner.entries.clear()


at_fork(after_in_child=_forget)


# Grants of one lock object

REMEMBERED = 32
"""Owners that a lock object remembers before it removes those that have ended."""


class Released(Protocol):
    """A grant that knows whether it was released, and the earlier grant of the same owner."""

    released: bool
    _below: Self | None

    @property
    def _held(self) -> bool:
        """True while it is held, as the engine knows it."""


G = TypeVar("G", bound=Released)


class Grants(dict[int, G]):
    """The newest grant of each owner through one lock object, by the number of the owner. The lock object keeps these
    grants alive. Only the holding knows if a grant is still held.

    One owner may hold several permits of a semaphore through one object, and many threads may share the object. An
    owner alone writes its own entry; others remove the entry only when the owner has ended."""

    __slots__ = ()

    def push(self, owner: int, grant: G) -> None:
        """Add a grant of the owner."""
        if len(self) > REMEMBERED:
            for number in list(self):
                if number not in _owners:
                    self.pop(number, None)
        if self.setdefault(owner, grant) is not grant:
            grant._below = self.newest(owner)
            self[owner] = grant

    def newest(self, owner: int) -> G | None:
        """The newest grant that the owner has not released. It is kept until then: an interrupt must not lose it."""
        grant = self.get(owner)
        while grant is not None and grant.released:
            grant = grant._below
        return grant

    def any_held(self) -> bool:
        """True if some owner holds something through this object."""
        return any(not grant.released and grant._held for grant in list(self.values()))

    def tidy(self, owner: int) -> None:
        """Remove what the owner has released."""
        grant = self.newest(owner)
        if grant is None:
            self.pop(owner, None)
        else:
            self[owner] = grant
