"""Elections: when a leader is owed in a state of the checker, and whether there is one.

The definitions are those of the judge of traces (`vez.judge.properties.election`).
"""

from __future__ import annotations

from vez.worlds.check.arrays import Mask, np
from vez.worlds.check.model.configuration import FOREVER, Configuration
from vez.worlds.check.model.local import Local
from vez.worlds.check.search.breadth_first import Search


def has_live_leader(live: dict[int, Local]) -> bool:
    """True if a live process leads, or if one has led and no process names a dead leader."""
    named = {process: local.view[0] for process, local in live.items() if local.view}
    if any(leader == process for process, leader in named.items()):
        return True
    return live.keys() >= set(named.values()) and any(local.led for local in live.values())


def starts_election(configuration: Configuration, process: int, local: Local) -> bool:
    """True if an election has started at this process: it was asked, or it sent a message or named a leader.

    What it did unasked is remembered only if all starters may crash before they are asked (`may_go_unasked`). Otherwise
    one of them is alive wherever a run ends or repeats a fair loop, and fairness asks it before.
    """
    requests = configuration.requests[process]
    return local.left < requests or requests == FOREVER or local.took_part


def unasked_states(search: Search) -> Mask:
    """The states in which no election has started, although a process that may lead is alive."""
    model, store = search.model, search.packed.store
    words = store.slice(0, store.count)
    able: Mask = np.zeros(store.count, dtype=bool)
    started: Mask = np.zeros(store.count, dtype=bool)
    for place, (process, table) in enumerate(zip(model.ids, search.packed.processes, strict=True)):
        at, locals_ = store.values(words, place), [model.locals[number] for number in table.numbers]
        started |= np.array([starts_election(model.configuration, process, one) for one in locals_])[at]
        if process in model.configuration.candidates:
            able |= np.array([one.alive for one in locals_])[at]
    return able & ~started
