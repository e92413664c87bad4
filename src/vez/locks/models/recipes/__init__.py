"""Recipes as processes of the checker: `vez check recipe:etcd-lock`.

The first process is a model of the server. The others are clients that run recipes; the recipes do not know that they
are checked. The model judges more than the usual properties. If one of its rules is broken, the run ends with an
exception whose first word is:

    orphan     a client has left, and a key of its request is still there, or arrives later
    theft      a client removed the key of another
    guess      a client enters, and its key was not the first when the server answered
    outlived   a client renews a session that it has closed
    unwoken    a client waits for a change although its turn has come
    unproved   a client is told that its lease is gone, and takes it for proved
    yielded    a candidate makes way for one that is not better

Forced releases, observers and transfers add `untold`, `unbroken`, `backwards` and `mistold`: see `breaking`,
`observing` and `transferring`.

The modules:

    store                  the server, as a value
    rules                  who holds a name and who is chosen, without the code of the recipes
    etcd_lock, others      the recipes of exclusive locks; those of shared locks, semaphores and elections
    timed                  the lock in a model with time
    turns                  the steps of a client
    wrong                  recipes with one mistake each
    positions, places      a recipe that stands at a yield, as a value; the yields of its source
    live_locals, scopes    the local variables that are part of a position; scopes of names
    labels                 requests and replies in a few words
"""

from __future__ import annotations

from vez.core.process import Process
from vez.errors import UnknownName
from vez.locks.models.recipes.breaking import EtcdBreak, EtcdBreakPermits
from vez.locks.models.recipes.etcd_lock import EtcdLock
from vez.locks.models.recipes.observing import EtcdObserve
from vez.locks.models.recipes.others import EtcdElection, EtcdOffice, EtcdSemaphore, EtcdShared
from vez.locks.models.recipes.timed import EtcdLockTimed
from vez.locks.models.recipes.transferring import EtcdTransfer
from vez.locks.models.recipes.wrong import WRONG

PREFIX = "recipe:"
RECIPES: dict[str, type[Process]] = {
    kind.name: kind
    for kind in (
        EtcdLock,
        EtcdLockTimed,
        EtcdShared,
        EtcdSemaphore,
        EtcdOffice,
        EtcdElection,
        EtcdBreak,
        EtcdBreakPermits,
        EtcdObserve,
        EtcdTransfer,
    )
}
WRONG_RECIPES: dict[str, type[EtcdLock]] = {kind.name: kind for kind in WRONG}


def find_recipe(name: str) -> type[Process]:
    """The recipe of that name, which begins with `recipe:`."""
    known = RECIPES | WRONG_RECIPES
    if name not in known:
        raise UnknownName("recipe", name, known)
    return known[name]


__all__ = ["PREFIX", "RECIPES", "WRONG_RECIPES", "find_recipe"]
