"""Views: a turn table as clients see it. A table never changes, so nothing here needs a mutex."""

from __future__ import annotations

import os

from vez.locks.engines.base import Break, Contestant, Inspection, Leader
from vez.locks.engines.machine import host_name
from vez.locks.engines.memory.line import since_epoch
from vez.locks.table import Forced, Seat, Table, in_turn


def contestant(seat: Seat) -> Contestant:
    """A holder or a waiter, as `inspect` shows it."""
    asked = seat.asked
    return Contestant(
        seat.token, os.getpid(), host_name(), since_epoch(seat.since_ns), asked.shared, asked.label, asked.weight,
        seat.lost is not None,
    )  # fmt: skip


def leader(table: Table) -> Leader | None:
    """The leader, as an observer sees it, or None."""
    seat = table.leader
    if seat is None:
        return None
    return Leader(seat.token, os.getpid(), host_name(), seat.asked.label, since_epoch(seat.since_ns))


def record(table: Table, forced: Forced) -> Break:
    """A forced release."""
    return Break(
        table.name, forced.tokens, forced.reason, since_epoch(forced.at_ns), os.getpid(), host_name(), table.kind
    )  # fmt: skip


def inspection(table: Table) -> Inspection:
    """Everything that is known of one name. A holder that has lost it and has not released yet is shown as a holder."""
    inside = sorted(table.holders + table.stale, key=lambda seat: seat.number)
    mean = None if table.mean_ns is None else table.mean_ns / 1e9
    breaks = tuple(record(table, forced) for forced in table.forced)
    return Inspection(
        table.name, table.kind, table.limit, tuple(map(contestant, inside)), tuple(map(contestant, in_turn(table))),
        table.last, mean, None, breaks,
    )  # fmt: skip
