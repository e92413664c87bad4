"""The machine: one step of a table, from a command to the next value and its effects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from vez.errors import Misuse, article
from vez.locks.table.commands import Break, Command, Crash, Enlist, Leave, Tick, Transfer
from vez.locks.table.effects import Alarm, Effect, Granted, Lost, Queued, Refused, Vacant
from vez.locks.table.granting import admits, next_in_line
from vez.locks.table.places import index_in, mean_with, position
from vez.locks.table.refusals import no_such_request, nobody_called, not_the_leader, other_limit
from vez.locks.table.values import MOST_FORCED, Forced, Seat, Table

Outcome = tuple[Table, tuple[Effect, ...]]

MS = 1_000_000


def step(table: Table, command: Command, now_ns: int) -> Outcome:
    """The table after a command, and the effects. Raises `Misuse` if the command is illegal in this table."""
    if table.alarm_ns is None or now_ns < table.alarm_ns:
        return _STEPS[type(command)](table, command, now_ns)
    table, before = _end_graces(table, now_ns)
    table, effects = _STEPS[type(command)](table, command, now_ns)
    return table, before + effects


def _enlist(table: Table, asked: Enlist, now_ns: int) -> Outcome:
    if asked.limit != table.limit or asked.limit < 1:
        table = _with_limit(table, asked)
    if asked.shared and table.kind != "lock":
        raise Misuse(f"{article(table.kind)} is not shared: {table.name!r}", hint="only locks have shared holders")
    number = table.last + 1
    free = not table.queue and admits(table, table.holders, asked)
    if not free and not asked.wait:
        return table, (Refused(),)
    token = number + 1 if free and table.kind == "election" else number
    seat = Seat(number, token, now_ns, asked)
    if free:
        return _put(table, token, (*table.holders, seat), table.queue), (Granted(number, token),)
    table = _put(table, number, table.holders, (*table.queue, seat))
    return table, (Queued(number, position(table, number) or 0),)


def _leave(table: Table, command: Leave, now_ns: int) -> Outcome:
    number = command.number
    place = index_in(table.holders, number)
    if place is not None:
        holder, holders = table.holders[place], table.holders[:place] + table.holders[place + 1 :]
        mean_ns = table.mean_ns if holder.lost else mean_with(table.mean_ns, now_ns - holder.since_ns)
        return _admit(table, holders, table.queue, table.stale, mean_ns, now_ns)
    place = index_in(table.queue, number)
    if place is not None:
        queue = table.queue[:place] + table.queue[place + 1 :]
        return _admit(table, table.holders, queue, table.stale, table.mean_ns, now_ns)
    stale = tuple(seat for seat in table.stale if seat.number != number)
    if len(stale) == len(table.stale):
        raise no_such_request(table, number)
    return replace(table, stale=stale), ()


def _break(table: Table, command: Break, now_ns: int) -> Outcome:
    taken = [seat for seat in table.holders if seat.lost is None]
    if not taken:
        return table, ()
    broken = {seat.number: _lost(seat, now_ns + seat.asked.grace_ms * MS) for seat in taken}
    record = Forced(tuple(seat.token for seat in taken), command.reason, command.by, now_ns)
    told = tuple(Lost(seat.number, "broken", seat.ends_ns) for seat in broken.values())
    holders = tuple(broken.get(seat.number, seat) for seat in table.holders)
    forced = (*table.forced, record)[-MOST_FORCED:]
    alarm_ns = min(seat.ends_ns for seat in holders if seat.lost)
    after, effects = _end_graces(replace(table, holders=holders, forced=forced, alarm_ns=alarm_ns), now_ns)
    return after, told + effects + _alarm(after)


def _transfer(table: Table, command: Transfer, now_ns: int) -> Outcome:
    leader = table.leader
    if table.kind != "election" or leader is None or leader.number != command.number or leader.lost is not None:
        raise not_the_leader(table, command)
    winner = next((seat for seat in table.queue if seat.asked.label == command.to), None)
    if winner is None:
        raise nobody_called(table.name, command.to, [seat.asked.label for seat in table.queue])
    term = table.last + 1
    queue = tuple(seat for seat in table.queue if seat is not winner)
    former = Seat(leader.number, leader.token, leader.since_ns, leader.asked, "transferred", now_ns)
    holders = (Seat(winner.number, term, now_ns, winner.asked),)
    after = replace(table, last=term, holders=holders, queue=queue, stale=(*table.stale, former))
    return after, (Lost(leader.number, "transferred", now_ns), Granted(winner.number, term))


def _crash(table: Table, command: Crash, now_ns: int) -> Outcome:
    def left(seats: tuple[Seat, ...]) -> tuple[Seat, ...]:
        return tuple(seat for seat in seats if seat.asked.client != command.client)

    return _admit(table, left(table.holders), left(table.queue), left(table.stale), table.mean_ns, now_ns)


def _tick(table: Table, command: Tick, now_ns: int) -> Outcome:
    return table, _alarm(table)


def _alarm(table: Table) -> tuple[Effect, ...]:
    return () if table.alarm_ns is None else (Alarm(table.alarm_ns),)


def _end_graces(table: Table, now_ns: int) -> Outcome:
    """Remove broken holders whose grace is over from the holders, and grant the next requests."""
    over = tuple(seat for seat in table.holders if seat.lost and seat.ends_ns <= now_ns)
    holders = tuple(seat for seat in table.holders if not (seat.lost and seat.ends_ns <= now_ns))
    return _admit(table, holders, table.queue, table.stale + over, table.mean_ns, now_ns)


def _admit(
    table: Table, holders: tuple[Seat, ...], queue: tuple[Seat, ...], stale: tuple[Seat, ...], mean_ns: float | None,
    now_ns: int,
) -> Outcome:  # fmt: skip
    """The table with these seats, after granting every request that can be granted."""
    last = table.last
    effects: tuple[Effect, ...] = ()
    if queue and (chosen := next_in_line(table, holders, queue)):
        election = table.kind == "election"
        queue = tuple(seat for seat in queue if seat is not chosen[0]) if election else queue[len(chosen) :]
        last += election
        granted = tuple(Seat(seat.number, last if election else seat.token, now_ns, seat.asked) for seat in chosen)
        holders, effects = holders + granted, tuple(Granted(seat.number, seat.token) for seat in granted)
    elif table.kind == "election" and table.holders and not holders:
        effects = (Vacant(),)
    alarm_ns = min((seat.ends_ns for seat in holders if seat.lost), default=None)
    after = Table(
        table.kind, table.name, table.limit, last, holders, queue, stale, mean_ns, alarm_ns, table.forced
    )  # fmt: skip
    return after, effects


def _put(table: Table, last: int, holders: tuple[Seat, ...], queue: tuple[Seat, ...]) -> Table:
    return Table(
        table.kind, table.name, table.limit, last, holders, queue, table.stale, table.mean_ns, table.alarm_ns,
        table.forced,
    )  # fmt: skip


def _with_limit(table: Table, asked: Enlist) -> Table:
    if asked.limit < 1 or table.kind != "semaphore" or table.holders or table.queue:
        raise other_limit(table, asked)
    return replace(table, limit=asked.limit)


def _lost(seat: Seat, ends_ns: int) -> Seat:
    return Seat(seat.number, seat.token, seat.since_ns, seat.asked, "broken", ends_ns)


_STEPS: dict[type, Callable[[Table, Any, int], Outcome]] = {
    Enlist: _enlist,
    Leave: _leave,
    Break: _break,
    Transfer: _transfer,
    Crash: _crash,
    Tick: _tick,
}
