"""Orbits: worlds that differ only by a renaming of the processes, for protocols that declare a symmetry.

`full` renames all but the hub, `rotation` turns the ring; fields that hold identifiers are renamed with the processes.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import permutations
from typing import Any

from tests.worlds.crosscheck.world import Frozen, Mail, Proc, Rules, World

Names = dict[int, int]


def renamings(rules: Rules) -> list[Names]:
    """Maps from old to new identifiers, including the one that changes nothing."""
    ids = rules.topology.ids
    if rules.algorithm.symmetry == "rotation":
        return [dict(zip(ids, ids[by:] + ids[:by], strict=True)) for by in range(len(ids))]
    return [dict(zip(ids, (ids[0], *others), strict=True)) for others in permutations(ids[1:])]


def count_orbits(rules: Rules, worlds: Iterable[World]) -> int:
    """The number of worlds if those that differ only by a renaming count as one."""
    all_names, seen, orbits = renamings(rules), set(), 0  # type: list[Names], set[World], int
    for world in worlds:
        if world not in seen:
            orbits += 1
            seen.update(_renamed(rules, world, names) for names in all_names)
    return orbits


def _renamed(rules: Rules, world: World, names: Names) -> World:
    ids = rules.topology.ids
    came_from = {names[old]: place for place, old in enumerate(ids)}
    procs = tuple(_proc(rules, world.procs[came_from[me]], names) for me in ids)
    channels = tuple(
        _channel(rules, world.channels[came_from[sender] * len(ids) + came_from[to]], names)
        for sender in ids
        for to in ids
    )
    return world._replace(procs=procs, channels=channels)


def _proc(rules: Rules, proc: Proc, names: Names) -> Proc:
    marked = rules.algorithm.identifier_fields
    pairs = zip(rules.algorithm.__struct_fields__, proc.fields, strict=True)
    return proc._replace(
        fields=tuple(_value(value, names) if field in marked else value for field, value in pairs),
        view=(names[proc.view[0]], proc.view[1]) if proc.view else None,
        told=frozenset(names[peer] for peer in proc.told),
    )


def _channel(rules: Rules, mails: tuple[Mail, ...], names: Names) -> tuple[Mail, ...]:
    moved = tuple(mail._replace(content=_message(rules, mail.content, names)) for mail in mails)
    return moved if rules.fifo else tuple(sorted(moved, key=repr))


def _message(rules: Rules, message: Frozen, names: Names) -> Frozen:
    kind, values = message
    marked = rules.algorithm.identifier_fields
    pairs = zip(kind.__struct_fields__, values, strict=True)
    return (kind, tuple(_value(value, names) if field in marked else value for field, value in pairs))


def _value(frozen: Frozen, names: Names) -> Any:
    kind, content = frozen
    if kind in (tuple, frozenset):
        return (kind, kind(_value(part, names) for part in content))
    return (int, names.get(content, content)) if kind is int else frozen
