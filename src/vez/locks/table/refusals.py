"""Refusals: the errors of illegal commands, each with the state and the forced releases that the table knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vez.errors import Misuse, article

if TYPE_CHECKING:
    from vez.locks.table.commands import Enlist, Transfer
    from vez.locks.table.values import Table

_SHOWN = 5
"""Largest number of requests of one sort that a story names."""


def story(table: Table) -> str:
    """Holders, waiters and forced releases, in one line."""
    parts = [
        _list("held by", [f"{seat.number}{' (lost)' if seat.lost else ''}" for seat in table.holders]),
        _list("queue", [str(seat.number) for seat in table.queue]),
        _list("lost, not left yet", [f"{seat.number} ({seat.lost})" for seat in table.stale]),
        f"last number {table.last}",
        _list("broken by force", [f"{record.tokens} ({record.reason})" for record in table.forced]),
    ]
    return "; ".join(filter(None, parts))


def _list(what: str, found: list[str]) -> str:
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"{what} {', '.join(found[-_SHOWN:])}{more}" if found else ""


def no_such_request(table: Table, number: int) -> Misuse:
    """The error of a `Leave` for a request that is not in the table."""
    if 0 < number <= table.last:
        known = "it has left, its client has crashed, or the number was the term of a leader"
    else:
        known = "no such number was drawn"
    return Misuse(
        f"{table.kind} {table.name!r} has no request {number}: {known}; {story(table)}",
        hint="a request leaves once",
    )


def other_limit(table: Table, asked: Enlist) -> Misuse:
    """The error of an `Enlist` with another limit than the table's."""
    if table.kind != "semaphore" or asked.limit < 1:
        expected = "at least 1" if table.kind == "semaphore" else "1"
        return Misuse(f"the limit of {article(table.kind)} is {expected}, asked for {asked.limit}: {table.name!r}")
    return limit_in_use(table.name, table.limit, asked.limit, story(table))


def not_the_leader(table: Table, command: Transfer) -> Misuse:
    """The error of a `Transfer` by a request that does not lead."""
    if table.kind != "election":
        return cannot_transfer(table.kind, command.to)
    seat = table.find(command.number)
    if seat is None:
        why = f"request {command.number} is not there"
    elif seat.lost is None:
        why = f"request {command.number} waits"
    else:
        why = f"request {command.number} was {seat.lost}"
    return does_not_lead(table.name, f"{why}; {story(table)}")


# Engines without a table raise these errors too.


def limit_in_use(name: str, limit: int, asked: int, known: str = "") -> Misuse:
    """The error for a semaphore that is in use with another limit."""
    return Misuse(
        f"semaphore {name!r} is in use with a limit of {limit}, asked for {asked}{f'; {known}' if known else ''}",
        hint="all users of a semaphore must name the same limit",
    )


def cannot_transfer(kind: str, to: str) -> Misuse:
    """The error for a transfer of something other than a leadership."""
    return Misuse(f"{article(kind)} cannot be transferred to {to!r}", hint="release it; the next in line gets it")


def does_not_lead(name: str, why: str) -> Misuse:
    """The error for a transfer by a client that does not lead."""
    return Misuse(f"only the leader of {name!r} can transfer it, and this one does not lead: {why}",
                  hint="stand for election first")  # fmt: skip


def nobody_called(name: str, to: str, candidates: Sequence[str]) -> Misuse:
    """The error for a transfer to a label that no candidate has."""
    return Misuse(
        f"there is no candidate {to!r} in {name!r}",
        hint=f"candidates: {', '.join(candidates) or 'none'}; label= names one",
    )
