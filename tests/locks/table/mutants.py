"""Mutants of the turn table: each has one plausible mistake, which the checker, the naive specification or both see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from vez.locks.table import Break, Crash, Enlist, Granted, Leave, Seat, Table, Transfer, granting, machine
from vez.locks.table.machine import Outcome

Patch = pytest.MonkeyPatch
Step = Callable[[Table, Any, int], Outcome]


class Mutant(NamedTuple):
    """A mistake."""

    make: Callable[[Patch], None]
    configuration: str | None
    """The configuration of the checker that must find it; None if the model does not contain the broken part."""
    rule: str = ""
    """The rule that the referee names."""
    judged: str = ""
    """A property that is broken even without the referee."""


def instead(command: type, change: Callable[[Step], Step]) -> Callable[[Patch], None]:
    """The mutant in which a command is carried out differently."""

    def make(patch: Patch) -> None:
        patch.setitem(machine._STEPS, command, change(machine._STEPS[command]))

    return make


def grants_before_the_grace_is_over(patch: Patch) -> None:
    patch.setattr(
        machine, "_lost", lambda seat, ends: Seat(seat.number, seat.token, seat.since_ns, seat.asked, "broken")
    )


def grace_never_ends(patch: Patch) -> None:
    patch.setattr(machine, "_end_graces", lambda table, now: (table, ()))


def reader_overtakes_a_writer(right: Step) -> Step:
    def enlist(table: Table, asked: Enlist, now: int) -> Outcome:
        after, effects = right(replace(table, queue=()), asked, now)
        if asked.shared and isinstance(effects[-1], Granted):
            return replace(after, queue=table.queue), effects
        return right(table, asked, now)

    return enlist


def token_reused_after_a_crash(right: Step) -> Step:
    def crash(table: Table, command: Crash, now: int) -> Outcome:
        after, effects = right(table, command, now)
        return replace(after, last=max((seat.token for seat in after.holders + after.queue), default=0)), effects

    return crash


def withdrawn_waiter_granted(right: Step) -> Step:
    def leave(table: Table, command: Leave, now: int) -> Outcome:
        waits = any(seat.number == command.number for seat in table.queue[:1])
        return (table, ()) if waits else right(table, command, now)

    return leave


def withdrawal_lets_nobody_in(right: Step) -> Step:
    def leave(table: Table, command: Leave, now: int) -> Outcome:
        queue = tuple(seat for seat in table.queue if seat.number != command.number)
        return right(table, command, now) if len(queue) == len(table.queue) else (replace(table, queue=queue), ())

    return leave


def two_leaders_of_one_term(right: Step) -> Step:
    def transfer(table: Table, command: Transfer, now: int) -> Outcome:
        after, effects = right(table, command, now)
        (leader,), term = after.holders, table.holders[0].token
        again = (effects[0], Granted(leader.number, term))
        return replace(after, last=table.last, holders=(replace(leader, token=term),)), again

    return transfer


def deposed_leader_transfers(right: Step) -> Step:
    def transfer(table: Table, command: Transfer, now: int) -> Outcome:
        forgiven = tuple(replace(seat, lost=None) for seat in table.holders)
        return right(replace(table, holders=forgiven, alarm_ns=None), command, now)

    return transfer


def two_leaders_at_once(patch: Patch) -> None:
    right = granting.next_in_line
    patch.setattr(machine, "next_in_line", lambda table, holders, queue: right(table, (), queue))


def lighter_wins(patch: Patch) -> None:
    patch.setattr(granting, "heaviest", lambda seats: min(seats, key=lambda seat: (seat.asked.weight, seat.number)))


def last_of_equals_wins(patch: Patch) -> None:
    patch.setattr(granting, "heaviest", lambda seats: max(seats, key=lambda seat: (seat.asked.weight, seat.number)))


def leader_overthrown(right: Step) -> Step:
    def enlist(table: Table, asked: Enlist, now: int) -> Outcome:
        if table.kind == "election" and table.holders and asked.weight > table.holders[0].asked.weight:
            after, effects = right(replace(table, holders=(), queue=()), asked, now)
            return replace(after, queue=table.queue, stale=table.stale + table.holders), effects
        return right(table, asked, now)

    return enlist


def term_of_arrival(patch: Patch) -> None:
    right = machine._admit

    def admit(table: Table, *seats: Any) -> Outcome:
        after, effects = right(table, *seats)
        if table.kind != "election":
            return after, effects
        old = tuple(replace(seat, token=seat.number) if seat not in table.holders else seat for seat in after.holders)
        changed = (Granted(one.number, one.number) if isinstance(one, Granted) else one for one in effects)
        return replace(after, holders=old), tuple(changed)

    patch.setattr(machine, "_admit", admit)


def newcomer_jumps_the_queue(right: Step) -> Step:
    def enlist(table: Table, asked: Enlist, now: int) -> Outcome:
        after, effects = right(table, asked, now)
        return replace(after, queue=after.queue[-1:] + after.queue[:-1]), effects

    return enlist


def one_permit_too_many(patch: Patch) -> None:
    right = granting.admits
    patch.setattr(
        machine, "admits", lambda table, holders, asked: right(table, holders[1:], asked)
    )  # fmt: skip


def crash_leaves_waiters_behind(right: Step) -> Step:
    def crash(table: Table, command: Crash, now: int) -> Outcome:
        after, _ = right(replace(table, queue=()), command, now)
        return machine._admit(after, after.holders, table.queue, after.stale, after.mean_ns, now)

    return crash


def told_after_the_grant(right: Step) -> Step:
    def force(table: Table, command: Break, now: int) -> Outcome:
        after, effects = right(table, command, now)
        return after, tuple(sorted(effects, key=lambda one: not isinstance(one, Granted)))

    return force


def break_without_a_record(right: Step) -> Step:
    def force(table: Table, command: Break, now: int) -> Outcome:
        after, effects = right(table, command, now)
        return replace(after, forced=table.forced), effects

    return force


def refused_request_stays(right: Step) -> Step:
    return lambda table, asked, now: right(table, replace(asked, wait=True), now)


def limit_changed_in_use(patch: Patch) -> None:
    patch.setattr(machine, "_with_limit", lambda table, asked: replace(table, limit=asked.limit))


def mean_without_the_newest(patch: Patch) -> None:
    patch.setattr(machine, "mean_with", lambda mean, stay: stay if mean is None else mean)


def one_at_a_time(patch: Patch) -> None:
    right = granting.next_in_line
    patch.setattr(machine, "next_in_line", lambda table, holders, queue: right(table, holders, queue)[:1])


def former_leader_vanishes(right: Step) -> Step:
    def transfer(table: Table, command: Transfer, now: int) -> Outcome:
        after, effects = right(table, command, now)
        return replace(after, stale=table.stale), effects

    return transfer


def chosen_leader_still_waits(right: Step) -> Step:
    def transfer(table: Table, command: Transfer, now: int) -> Outcome:
        after, effects = right(table, command, now)
        return replace(after, queue=table.queue), effects

    return transfer


def crash_leaves_losers_behind(right: Step) -> Step:
    def crash(table: Table, command: Crash, now: int) -> Outcome:
        after, effects = right(table, command, now)
        return replace(after, stale=table.stale), effects

    return crash


def second_break_prolongs_the_grace(right: Step) -> Step:
    def force(table: Table, command: Break, now: int) -> Outcome:
        forgiven = tuple(replace(seat, lost=None) for seat in table.holders)
        return right(replace(table, holders=forgiven), command, now)

    return force


MUTANTS = {
    "grants before the grace is over": Mutant(
        grants_before_the_grace_is_over, "table:break", "was put out although it may stay"
    ),
    "a grace never ends": Mutant(grace_never_ends, "table:break", "stays although its grace is over"),
    "a reader overtakes a writer": Mutant(
        instead(Enlist, reader_overtakes_a_writer), "table:shared", "was granted before request 2"
    ),
    "a token is used again after a crash": Mutant(
        instead(Crash, token_reused_after_a_crash), "table:crash", "the counter of tokens went back"
    ),
    "a withdrawn waiter is granted": Mutant(
        instead(Leave, withdrawn_waiter_granted), "table:withdrawal", "has left and is still there", "deadlock_freedom"
    ),
    "a withdrawal lets nobody in": Mutant(
        instead(Leave, withdrawal_lets_nobody_in), "table:shared-withdrawal", "waits although no writer is in"
    ),
    "two leaders of one term": Mutant(
        instead(Transfer, two_leaders_of_one_term), "table:election-transfer", "token 2 was granted after 2"
    ),
    "two leaders at once": Mutant(
        two_leaders_at_once, "table:election-withdrawal", "two hold it that may not hold it together", "exclusion"
    ),
    "a deposed leader transfers": Mutant(instead(Transfer, deposed_leader_transfers), None),
    "the lighter candidate wins": Mutant(lighter_wins, "table:election", "was elected although request 3 is better"),
    "the last of equals wins": Mutant(
        last_of_equals_wins, "table:election", "was elected although request 3 is better"
    ),
    "a leader is overthrown": Mutant(
        instead(Enlist, leader_overthrown), "table:election", "was put out although it may stay", "exclusion"
    ),
    "the term is drawn on arrival": Mutant(term_of_arrival, "table:election", "token 3 was granted after 4"),
    "a position rises": Mutant(
        instead(Enlist, newcomer_jumps_the_queue), "table:lock", "the position of request 2 has risen"
    ),
    "one permit too many": Mutant(one_permit_too_many, "table:semaphore", "more than 2 hold a permit"),
    "a crash leaves waiters behind": Mutant(
        instead(Crash, crash_leaves_waiters_behind),
        "table:crash",
        "has crashed and its requests are still there",
        "starvation_freedom",
    ),
    "a loss is told after the grant": Mutant(
        instead(Break, told_after_the_grant), "table:break-at-once", "granted before a loss was told"
    ),
    "readers are granted one at a time": Mutant(one_at_a_time, "table:shared", "waits although no writer is in"),
    "a former leader vanishes": Mutant(
        instead(Transfer, former_leader_vanishes), "table:election-transfer", "was told, and is not in the table"
    ),
    "a chosen leader still waits": Mutant(
        instead(Transfer, chosen_leader_still_waits), "table:election-transfer", "two requests have one number"
    ),
    "a crash leaves losers behind": Mutant(
        instead(Crash, crash_leaves_losers_behind), "table:break-crash", "has crashed and its requests are still there"
    ),
    "a second break prolongs the grace": Mutant(instead(Break, second_break_prolongs_the_grace), None),
    "a break is not recorded": Mutant(instead(Break, break_without_a_record), None),
    "a refused request stays": Mutant(instead(Enlist, refused_request_stays), None),
    "the limit changes in use": Mutant(limit_changed_in_use, None),
    "the mean is wrong": Mutant(mean_without_the_newest, None),
}
