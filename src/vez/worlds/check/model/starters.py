"""Starters: the processes that are asked to elect, and whether all of them may crash before."""

from __future__ import annotations

from vez.core.process import Election
from vez.worlds.check.model.configuration import Configuration


def starters(configuration: Configuration) -> tuple[int, ...]:
    """The processes that are asked to elect."""
    return tuple(process for process in configuration.ids if configuration.requests[process])


def may_go_unasked(configuration: Configuration) -> bool:
    """True if all starters may crash before they are asked, while others live.

    Whether an election has started then depends on what processes did unasked, so each remembers it
    (`Local.took_part`).
    """
    asked, crashes = set(starters(configuration)), configuration.budget.crashes + configuration.budget.crashes_inside
    others = issubclass(configuration.algorithm, Election) and len(asked) < len(configuration.ids)
    return others and asked <= {*configuration.victims} and len(asked) <= crashes
