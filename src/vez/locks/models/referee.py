"""The referee: rules for one step of a turn table, checked on the values before and after it.

The rules are those of `vez.locks.table`, stated about values: no rule computes the next value. A broken rule raises an
exception in the server's handler, so that the checker shows the shortest run to it.
"""

from __future__ import annotations

from vez.locks.table import Break, Command, Crash, Effect, Enlist, Granted, Leave, Lost, Seat, Table, Transfer, position


class RuleBroken(Exception):
    """A step of the turn table broke a rule. This is not a `VezError`: the checker shows the run that leads to an
    exception of a handler, but it passes on the errors that vez raises on purpose."""


def judge(before: Table, command: Command, after: Table, effects: tuple[Effect, ...], newest: int, now_ns: int) -> None:
    """Raise `RuleBroken` if this step broke a rule. `newest` is the newest token that was granted before."""
    granted = [effect for effect in effects if isinstance(effect, Granted)]
    _together(after)
    _tokens(before, after, granted, newest)
    _told_first(effects, granted, after)
    _holders_stay(before, command, after, now_ns)
    _leavers_are_gone(command, after)
    _nobody_vanishes(before, command, after)
    _nobody_waits_in_vain(after)
    if after.kind == "election":
        _the_heaviest_wins(before, command, after)
    else:
        _in_order(after, granted)
    _positions_fall(before, after)


def _must(holds: bool, rule: str) -> None:
    if not holds:
        raise RuleBroken(rule)


def _together(table: Table) -> None:
    exclusive = sum(not seat.asked.shared for seat in table.holders)
    if table.kind == "semaphore":
        _must(len(table.holders) <= table.limit, f"more than {table.limit} hold a permit")
    else:
        _must(exclusive == 0 or len(table.holders) == 1, "two hold it that may not hold it together")


def _tokens(before: Table, after: Table, granted: list[Granted], newest: int) -> None:
    """Tokens strictly increase in the order of grants, were drawn from the counter, and are unique."""
    _must(after.last >= before.last, "the counter of tokens went back")
    for effect in granted:
        _must(newest < effect.token <= after.last, f"token {effect.token} was granted after {newest}")
        newest = effect.token
    for numbers in ([seat.token for seat in _all(after)], [seat.number for seat in _all(after)]):
        _must(len(numbers) == len(set(numbers)), "two requests have one number or one token")


def _told_first(effects: tuple[Effect, ...], granted: list[Granted], after: Table) -> None:
    kinds = [type(effect) for effect in effects if isinstance(effect, Granted | Lost)]
    _must(kinds == sorted(kinds, key=lambda kind: kind is Granted), "somebody was granted before a loss was told")
    inside = {(seat.number, seat.token) for seat in after.holders if seat.lost is None}
    _must(all((one.number, one.token) in inside for one in granted), "somebody was granted who does not hold it")


def _holders_stay(before: Table, command: Command, after: Table, now_ns: int) -> None:
    """A holder goes by its own leave or transfer, its client's crash, or when it was broken and its grace is over."""
    inside = {seat.number for seat in after.holders}
    for seat in before.holders:
        taken = isinstance(command, Break) and seat.lost is None and not seat.asked.grace_ms
        over = seat.lost == "broken" and now_ns >= seat.ends_ns
        own = isinstance(command, Leave | Transfer) and command.number == seat.number
        crashed = isinstance(command, Crash) and command.client == seat.asked.client
        stays = seat.number in inside
        _must(stays or taken or over or own or crashed, f"request {seat.number} was put out although it may stay")
        _must(not (stays and over), f"request {seat.number} stays although its grace is over")


def _leavers_are_gone(command: Command, after: Table) -> None:
    if isinstance(command, Leave):
        _must(after.find(command.number) is None, f"request {command.number} has left and is still there")
    if isinstance(command, Crash):
        left = [seat for seat in _all(after) if seat.asked.client == command.client]
        _must(not left, f"client {command.client} has crashed and its requests are still there")


def _nobody_vanishes(before: Table, command: Command, after: Table) -> None:
    """A waiter goes only by its own leave or its client's crash. A request that enlists and waits is in the table."""
    for seat in before.queue:
        own = isinstance(command, Leave) and command.number == seat.number
        crashed = isinstance(command, Crash) and command.client == seat.asked.client
        _must(own or crashed or after.find(seat.number) is not None, f"waiting request {seat.number} has vanished")
    if isinstance(command, Enlist) and command.wait:
        _must(any(seat.asked is command for seat in _all(after)), "a request has vanished on arrival")


def _nobody_waits_in_vain(table: Table) -> None:
    """The first of the queue could not be granted; in an election there is a leader."""
    if not table.queue:
        return
    first, holders = table.queue[0], table.holders
    if table.kind == "semaphore":
        _must(len(holders) >= table.limit, f"request {first.number} waits although a permit is free")
    elif table.kind == "lock" and first.asked.shared:
        _must(any(not seat.asked.shared for seat in holders), f"reader {first.number} waits although no writer is in")
    else:
        _must(bool(holders), f"request {first.number} waits although nobody holds it")


def _in_order(after: Table, granted: list[Granted]) -> None:
    """Nobody is granted while an earlier request waits."""
    first = after.queue[0].number if after.queue else None
    late = [effect.number for effect in granted if first is not None and effect.number > first]
    _must(not late, f"request {late} was granted before request {first}, which came earlier")


def _the_heaviest_wins(before: Table, command: Command, after: Table) -> None:
    """A new leader is the heaviest of those that wait, among equals the first; unless it was named by a transfer."""
    if not after.holders or isinstance(command, Transfer):
        return
    leader = after.holders[0]
    if any(seat.number == leader.number for seat in before.holders):
        _must(leader.token == before.holders[0].token, "the leader stays, and its term has changed")
        return
    for seat in after.queue:
        weight, other = leader.asked.weight, seat.asked.weight
        better = weight > other or (weight == other and leader.number < seat.number)
        _must(better, f"request {leader.number} was elected although request {seat.number} is better")


def _positions_fall(before: Table, after: Table) -> None:
    """Positions only fall, unless a heavier candidate has come."""
    came = [seat.asked.weight for seat in after.queue if seat.number > before.last and after.kind == "election"]
    for seat in after.queue:
        old, new = position(before, seat.number), position(after, seat.number)
        heavier = sum(weight > seat.asked.weight for weight in came)
        falls = old is None or (new is not None and new <= old + heavier)
        _must(falls, f"the position of request {seat.number} has risen")


def _all(table: Table) -> tuple[Seat, ...]:
    return table.holders + table.queue + table.stale
