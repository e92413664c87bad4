"""Voting sets: the processes whose votes a process needs. Any two sets share a voter (Maekawa, 1985)."""

from __future__ import annotations

from math import isqrt

from vez.errors import Misuse

VotingSets = tuple[tuple[int, ...], ...]
"""The voting set of each process, by ascending identifier."""


def voting_set(me: int, ids: tuple[int, ...], given: VotingSets = ()) -> tuple[int, ...]:
    """The voting set of a process: the given one, or its row and its column of a grid.

    The grid has rows of ⌈√N⌉; the last may be shorter. For any two processes, the row of each crosses the column of
    the other. At most one of these two places can be missing, so the two sets share a process, for every N.
    """
    members = sorted(ids)
    place = members.index(me)
    if given:
        _check(place, members, given)
        return tuple(sorted(given[place]))
    columns = isqrt(len(members) - 1) + 1
    row, column = divmod(place, columns)
    return tuple(other for index, other in enumerate(members) if index // columns == row or index % columns == column)


def _check(place: int, members: list[int], given: VotingSets) -> None:
    """Refuse a wrong number of sets, an unknown member, and a set that shares no member with another."""
    if len(given) != len(members):
        raise Misuse(f"{len(given)} voting sets for {len(members)} processes", hint="give one for each process")
    mine = set(given[place])
    if strangers := sorted(mine - set(members)):
        raise Misuse(f"voting set {sorted(mine)}: there is no process {strangers[0]}")
    for other in given:
        if not mine & set(other):
            raise Misuse(
                f"voting sets {sorted(mine)} and {sorted(set(other))} share no voter",
                hint="any two must meet, or two processes could be inside at once",
            )
