"""Recipes as processes of the checker: `vez check recipe:etcd-lock`.

The first process is a model of the server, the others are clients that run recipes, which do not know that they are
checked. What the model judges beside the usual
properties ends a run with an exception, whose first word is:

    orphan     a client has left, and a key of its request is there, or comes
    theft      a client removed the key of another
    guess      a client enters, and its key was not the first when the server answered
    outlived   a client renews a session that it has closed

Forced releases, observers and transfers add `untold`, `unbroken`, `backwards` and `mistold`: see `breaking`,
`observing` and `transferring`.
"""

from __future__ import annotations

from vez.core.process import Process
from vez.errors import UnknownName
from vez.models.recipes.breaking import EtcdBreak, EtcdBreakPermits
from vez.models.recipes.etcd_lock import EtcdLock
from vez.models.recipes.observing import EtcdObserve
from vez.models.recipes.others import EtcdElection, EtcdOffice, EtcdSemaphore, EtcdShared
from vez.models.recipes.timed import EtcdLockTimed
from vez.models.recipes.transferring import EtcdTransfer
from vez.models.recipes.wrong import WRONG

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
