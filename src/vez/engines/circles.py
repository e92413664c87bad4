"""Circles: a request is refused if its wait would close a cycle of holders that wait for each other.

A lock is granted when all its holders release, a semaphore when one of them does. A request is refused when the name
cannot be granted unless one of the holdings that its own wait keeps from being released is released. Which ones these
are depends on the owner: a thread that waits also stops the tasks of the event loop that it runs.

The search goes over all engines of this process, from name to name: it costs what the names on its way cost, however
many others are held. What a holding of this process waits for is noted on the holding itself and under its name;
engines that are shared by processes also note it where the others can read it. A wait is noted before the search, and
taken back if it is refused, so of those that close a cycle together at least one sees the others; exactly one is
refused where they exclude each other (`Searched.searching`), as all that share an engine do.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Hashable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol
from weakref import ref

from vez.engines.machine import at_fork
from vez.engines.owners import Claim
from vez.engines.urls import without_password
from vez.engines.wording import deadlock
from vez.table.graph import Link, Node, cycle

Key = tuple[Hashable, str, str]
"""Where a name is, its kind, and the name."""

LOOK_AGAIN = 1.0
"""Seconds between two searches of a waiter that holds something: what others of its cycle wait for in the memory of
another process is not seen by those who came last."""
_SHARE = 0.02
"""Part of one core that all repeated searches of a process may take together, so with many waiters each looks less
often."""

_one_at_a_time = threading.RLock()
"""Held during a search. Never taken while an engine's own mutex or the gate of descriptors is held."""
_waiting: dict[Key, dict[int, ref[Claim]]] = {}
"""Holdings whose release waits for something, by name and by `id`. A name is added and removed under `_one_at_a_time`
only; a holding leaves it at any time."""
_emptied: list[Key] = []
"""Names that may have no such holding any more."""
_cost = 0.0
"""Seconds that the last search took."""


class Searched(Protocol):
    """An engine, as the search sees it."""

    url: str

    @property
    def identity(self) -> Hashable:
        """Where the names are: the same for all engines that share them, however their URLs are written."""

    def holders(self, target: Target, here: list[Claim], mine: set[int]) -> Holders:
        """Who holds a name, and what each waits for. `here` are the holdings of this process that wait for something,
        `mine` the numbers (`id`) of those that the request keeps from being released. A holder that waits for nothing
        may be left out: it does not change what can be granted."""

    def searching(self) -> AbstractContextManager[object]:
        """Exclude the searches of other processes that share this engine; `BlockingIOError` if one is under way."""

    def note(self, holding: Claim, target: Target | None) -> None:
        """Note for other processes what a holding waits for; None when it no longer does."""


class Target(NamedTuple):
    """A name of an engine, for which somebody waits."""

    engine: Searched
    kind: str
    name: str

    @property
    def key(self) -> Key:
        """Identifies the name. Equal for all clients of one place, whatever its URL."""
        return self.engine.identity, self.kind, self.name


class Holder(NamedTuple):
    """Somebody who holds a name."""

    who: str
    waits: Target | None
    """For what the release waits; None if it can go on, or is not known to wait."""
    mine: bool
    """True if the request itself keeps it from being released."""


class Holders(NamedTuple):
    """All holders of a name, and the limit if it is a semaphore."""

    of: Target
    holders: list[Holder]
    limit: int | None

    def node(self) -> Node[Key]:
        """As the pure graph sees it."""
        links = (Link(one.who, None if one.waits is None else one.waits.key, one.mine) for one in self.holders)
        return Node(tuple(links), self.limit)


def refuse_circle(waiting: Claim, engine: Searched, blocked: Sequence[tuple[Searched, Claim]]) -> bool:
    """Raise `Deadlock` if this wait would close a cycle; else note it. `blocked` are the holdings that cannot be
    released while it lasts. False if another process is searching, or was stopped while searching: ask again.
    It may read files, and may wait for another thread that searches."""
    global _cost
    target = Target(engine, waiting.request.kind, waiting.request.name)
    engines = {one.identity: one for one in (engine, *(of for of, _ in blocked))}
    with _one_at_a_time, contextlib.ExitStack() as stack:
        try:
            for identity in sorted(engines, key=repr):  # in one order everywhere
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
    """How many seconds a waiter may wait before it searches again."""
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
    """Remove the names of which nobody waits any more, under `_one_at_a_time`."""
    while _emptied:
        key = _emptied.pop()
        if not _waiting.get(key, True):
            del _waiting[key]


def forget(blocked: Sequence[tuple[Searched, Claim]]) -> None:
    """The wait has ended: nothing waits for it any more."""
    _note(blocked, None)


def _search(target: Target, mine: set[int]) -> tuple[str, ...] | None:
    """The links from the name back to the requester, if it cannot be granted; else None."""
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
    """The holdings of a name whose release waits for something."""
    known = [one() for one in list(_waiting.get(key, {}).values())]
    return [holding for holding in known if holding is not None and holding.inside]


def _named(one: Target, target: Target) -> str:
    """The name, with its engine if that is another than the request's."""
    if one.engine.identity == target.engine.identity:
        return repr(one.name)
    return f"{one.name!r} of {without_password(one.engine.url)}"


def _renew() -> None:
    """A forked child has one thread, and no search is under way."""
    global _one_at_a_time
    _one_at_a_time = threading.RLock()
    _waiting.clear()
    _emptied.clear()


at_fork(after_in_child=_renew)
