"""Deadlock detection: a request is refused if its wait would close a cycle of waits.

A lock is granted when all its holders have released it, a semaphore when one of them has. While a request waits, some
holdings cannot be released: those of its owner and, if the owner is a thread that runs an event loop, those of the
tasks of that loop. The request is refused if the name can be granted only after one of these holdings is released.

The search covers all engines of this process, from name to name. Its cost depends on the names that it visits, not on
the number of names that are held. The wait of a holding is noted on the holding itself and under its name. Engines that
are shared by processes also note it where the other processes can read it. A wait is noted before the search, and the
note is removed if the request is refused. So if several waits close a cycle together, at least one search sees the
others. If the searches exclude each other (`Searched.searching`), as they do within one engine, exactly one request is
refused.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Hashable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol
from weakref import ref

from vez.locks.engines.machine import at_fork
from vez.locks.engines.owners import Claim
from vez.locks.engines.urls import without_password
from vez.locks.engines.wording import deadlock
from vez.locks.table.graph import Link, Node, cycle

Key = tuple[Hashable, str, str]
"""Identifies a name: the identity of its engine (`Searched.identity`), its kind, and the name."""

LOOK_AGAIN = 1.0
"""Seconds between two searches of a waiter that holds something. The last waiter of a cycle does not see a wait that is
noted only in the memory of another process. So every waiter repeats its search."""
_SHARE = 0.02
"""Share of one core that all repeated searches of a process may use together. With many waiters, each searches less
often."""

_one_at_a_time = threading.RLock()
"""Held during a search. Never taken while an engine's own mutex or the gate of descriptors is held."""
_waiting: dict[Key, dict[int, ref[Claim]]] = {}
"""Holdings that cannot be released because their owner waits, by the name that is held and by `id` of the holding.
Names are added and removed only under `_one_at_a_time`; a holding is removed at any time."""
_emptied: list[Key] = []
"""Names in `_waiting` that may have no holding left. `_tidy` removes them."""
_cost = 0.0
"""CPU seconds of the last search."""


class Searched(Protocol):
    """The methods of an engine that the search uses."""

    url: str

    @property
    def identity(self) -> Hashable:
        """Identifies the place where the names are kept. Equal for all engines that share it, however their URLs are
        written."""

    def holders(self, target: Target, here: list[Claim], mine: set[int]) -> Holders:
        """The holders of a name, and the name for which each of them waits. `here` are the holdings of this process
        that cannot be released because their owner waits. `mine` are the `id`s of the holdings that cannot be
        released while this request waits. A holder that does not wait may be left out: it does not change what can
        be granted."""

    def searching(self) -> AbstractContextManager[object]:
        """Exclude the searches of other processes that share this engine. Raises `BlockingIOError` if one is
        running."""

    def note(self, holding: Claim, target: Target | None) -> None:
        """Publish for other processes the name for which the owner of a holding waits; None if it no longer waits."""


class Target(NamedTuple):
    """A name of an engine for which a request waits."""

    engine: Searched
    kind: str
    name: str

    @property
    def key(self) -> Key:
        """Identifies the name. Equal for all clients of the same engine, however its URL is written."""
        return self.engine.identity, self.kind, self.name


class Holder(NamedTuple):
    """A holder of a name."""

    who: str
    waits: Target | None
    """The name for which its owner waits; None if the owner does not wait, or is not known to wait."""
    mine: bool
    """True if this holding cannot be released while the request waits."""


class Holders(NamedTuple):
    """All holders of a name, and the limit if it is a semaphore."""

    of: Target
    holders: list[Holder]
    limit: int | None

    def node(self) -> Node[Key]:
        """The node of the wait-for graph (`vez.locks.table.graph`)."""
        links = (Link(one.who, None if one.waits is None else one.waits.key, one.mine) for one in self.holders)
        return Node(tuple(links), self.limit)


def refuse_cycle(waiting: Claim, engine: Searched, blocked: Sequence[tuple[Searched, Claim]]) -> bool:
    """Raise `Deadlock` if this wait would close a cycle; otherwise note the wait and return True. `blocked` are the
    holdings that cannot be released while it lasts. Returns False if another process is searching, or was stopped
    during a search; then call it again. It may read files, and may wait for a search of another thread."""
    global _cost
    target = Target(engine, waiting.request.kind, waiting.request.name)
    engines = {one.identity: one for one in (engine, *(of for of, _ in blocked))}
    with _one_at_a_time, contextlib.ExitStack() as stack:
        try:
            for identity in sorted(engines, key=repr):  # the same order in every process
                stack.enter_context(engines[identity].searching())
        except BlockingIOError:
            return False
        begin = time.thread_time()
        _tidy()
        _note(blocked, target)
        try:
            links = _search(target, {id(holding) for _, holding in blocked})
            _cost = time.thread_time() - begin
        except BaseException:
            _note(blocked, None)
            raise
        if links is None:
            return True
        _note(blocked, None)
    held = [_named(Target(of, claim.request.kind, claim.request.name), target) for of, claim in blocked]
    raise deadlock(target.name, held, links)


def look_again() -> float:
    """Seconds that a waiter may wait before it searches again."""
    return max(LOOK_AGAIN, _cost * len(_waiting) / _SHARE)


def _note(blocked: Sequence[tuple[Searched, Claim]], target: Target | None) -> None:
    for engine, holding in blocked:
        holding.waits = target
        key = Target(engine, holding.request.kind, holding.request.name).key
        if target is not None:
            _waiting.setdefault(key, {})[id(holding)] = ref(holding)
        elif (known := _waiting.get(key)) is not None:
            known.pop(id(holding), None)
            _emptied.append(key)
        engine.note(holding, target)


def _tidy() -> None:
    """Remove names from `_waiting` that have no holding left. Call it under `_one_at_a_time`."""
    while _emptied:
        key = _emptied.pop()
        if not _waiting.get(key, True):
            del _waiting[key]


def forget(blocked: Sequence[tuple[Searched, Claim]]) -> None:
    """Remove the notes of a wait that has ended."""
    _note(blocked, None)


def _search(target: Target, mine: set[int]) -> tuple[str, ...] | None:
    """The chain of holders and waits that leads from the name back to the requester, as text; None if there is no
    cycle."""
    found: dict[Key, Holders] = {}
    todo = [target]
    for one in todo:
        if one.key not in found:
            found[one.key] = one.engine.holders(one, _waiting_with(one.key), mine)
            todo += [holder.waits for holder in found[one.key].holders if holder.waits is not None and not holder.mine]
    waits = cycle({key: holders.node() for key, holders in found.items()}, target.key)
    if waits is None:
        return None
    names = {key: _named(holders.of, target) for key, holders in found.items()}
    links = [f"{one.who} holds {names[one.holds]} and waits for {names[one.waits]}" for one in waits if one.waits]
    return tuple(links) or (f"{waits[0].who} holds {names[target.key]} itself",)


def _waiting_with(key: Key) -> list[Claim]:
    """The holdings of a name whose owner waits."""
    known = [one() for one in list(_waiting.get(key, {}).values())]
    return [holding for holding in known if holding is not None and holding.inside]


def _named(one: Target, target: Target) -> str:
    """The name, in quotes; with the URL of its engine, if that is not the engine of the request."""
    if one.engine.identity == target.engine.identity:
        return repr(one.name)
    return f"{one.name!r} of {without_password(one.engine.url)}"


def _renew() -> None:
    """Reset the state in a forked child: it has one thread, and no search is running."""
    global _one_at_a_time
    _one_at_a_time = threading.RLock()
    _waiting.clear()
    _emptied.clear()


at_fork(after_in_child=_renew)
