"""The promises of the turn table, one test each, and the texts of its errors."""

from __future__ import annotations

import msgspec
import pytest

from vez.core.class_rules import is_immutable
from vez.errors import Misuse
from vez.locks.table import (
    Alarm,
    Break,
    Command,
    Crash,
    Effect,
    Enlist,
    Granted,
    Leave,
    Lost,
    Queued,
    Refused,
    Table,
    Tick,
    Transfer,
    Vacant,
    estimate,
    in_turn,
    position,
    step,
)
from vez.locks.table.values import MOST_FORCED

MS = 1_000_000


def run(table: Table, *commands: Command, now: int = 0) -> tuple[Table, list[Effect]]:
    """The table after all commands, and the effects of the last one."""
    effects: tuple[Effect, ...] = ()
    for command in commands:
        table, effects = step(table, command, now)
    return table, list(effects)


def numbers(table: Table) -> tuple[list[int], list[int], list[int]]:
    """The numbers of holders, waiters and stale requests."""
    holders, queue, stale = ([seat.number for seat in seats] for seats in (table.holders, table.queue, table.stale))
    return holders, queue, stale


LOCK, SEMAPHORE, ELECTION = Table("lock", "x"), Table("semaphore", "x", 2), Table("election", "x")
WRITE, READ = Enlist(1), Enlist(2, shared=True)
PERMIT = Enlist(1, limit=2)


def test_a_lock_is_granted_in_the_order_of_arrival_with_the_token_of_the_arrival() -> None:
    table, effects = run(LOCK, WRITE)
    assert effects == [Granted(1, 1)]
    table, effects = run(table, WRITE, WRITE)
    assert effects == [Queued(3, 2)]
    assert run(table, Leave(1))[1] == [Granted(2, 2)]


def test_readers_share_and_stand_behind_a_waiting_writer() -> None:
    table, effects = run(LOCK, READ, READ)
    assert effects == [Granted(2, 2)]
    table, effects = run(table, WRITE, READ, READ)
    assert effects == [Queued(5, 4)]
    table, effects = run(table, Leave(1), Leave(2))
    assert effects == [Granted(3, 3)]
    assert run(table, Leave(3))[1] == [Granted(4, 4), Granted(5, 5)]


def test_a_writer_that_gives_up_lets_the_readers_behind_it_in() -> None:
    table, _ = run(LOCK, READ, WRITE, READ)
    assert run(table, Leave(2))[1] == [Granted(3, 3)]


def test_a_semaphore_has_its_limit_and_a_new_one_after_everybody_has_left() -> None:
    table, effects = run(SEMAPHORE, PERMIT, PERMIT, PERMIT)
    assert effects == [Queued(3, 2)]
    with pytest.raises(Misuse, match=r"in use with a limit of 2, asked for 3; held by 1, 2; queue 3; last number 3"):
        step(table, Enlist(1, limit=3), 0)
    table, effects = run(table, Leave(1), Leave(2), Leave(3), Enlist(1, limit=1))
    assert (table.limit, effects) == (1, [Granted(4, 4)])


def test_the_heaviest_candidate_wins_among_equals_the_first_and_is_not_overthrown() -> None:
    table, effects = run(ELECTION, Enlist(1))
    assert effects == [Granted(1, 2)], "the number is 1 and the term 2: a term is drawn when it begins"
    table, _ = run(table, Enlist(2, weight=1), Enlist(3, weight=5), Enlist(4, weight=5))
    assert numbers(table)[0] == [1]
    table, effects = run(table, Leave(1))
    assert effects == [Granted(4, 6)]
    assert run(table, Leave(4), Leave(5), Leave(3))[1] == [Vacant()]


def test_a_leadership_is_transferred_to_a_label_at_once_with_a_new_term() -> None:
    table, _ = run(ELECTION, Enlist(1), Enlist(2, weight=9), Enlist(3, label="chosen"))
    table, effects = run(table, Transfer(1, "chosen"))
    assert effects == [Lost(1, "transferred", 0), Granted(4, 5)]
    assert numbers(table) == ([4], [3], [1])
    assert numbers(run(table, Leave(1))[0]) == ([4], [3], [])


def test_a_broken_holder_is_told_first_and_keeps_others_out_until_its_grace_is_over() -> None:
    table, _ = run(LOCK, Enlist(1, grace_ms=5), WRITE)
    table, effects = run(table, Break("stuck", "me"), now=MS)
    assert effects == [Lost(1, "broken", 6 * MS), Alarm(6 * MS)]
    assert [(one.tokens, one.reason, one.by, one.at_ns) for one in table.forced] == [((1,), "stuck", "me", MS)]
    assert run(table, Tick(), now=6 * MS - 1)[1] == [Alarm(6 * MS)]
    table, effects = run(table, Tick(), now=6 * MS)
    assert (effects, numbers(table)) == ([Granted(2, 2)], ([2], [], [1]))
    assert numbers(run(table, Leave(1))[0]) == ([2], [], [])


def test_a_broken_holder_that_leaves_lets_the_next_in_before_its_grace_is_over() -> None:
    table, _ = run(LOCK, Enlist(1, grace_ms=5), WRITE, Break("stuck"))
    table, effects = run(table, Leave(1))
    assert (effects, table.alarm_ns, table.mean_ns) == ([Granted(2, 2)], None, None)


def test_every_command_ends_the_graces_that_are_over() -> None:
    table, _ = run(LOCK, Enlist(1, grace_ms=5), WRITE, Break("stuck"))
    assert run(table, Enlist(3), now=9 * MS)[1] == [Granted(2, 2), Queued(3, 1)]


def test_without_a_grace_the_loss_stands_before_the_grant() -> None:
    table, _ = run(LOCK, WRITE, WRITE)
    assert run(table, Break("stuck"))[1] == [Lost(1, "broken", 0), Granted(2, 2)]


def test_who_is_broken_again_loses_nothing_more() -> None:
    table, _ = run(LOCK, Enlist(1, grace_ms=5), Break("stuck"))
    assert run(table, Break("again"), now=MS) == (table, [])
    assert run(LOCK, Break("nobody is there")) == (LOCK, [])


def test_each_permit_has_a_grace_of_its_own() -> None:
    table, _ = run(SEMAPHORE, Enlist(1, limit=2, grace_ms=9), PERMIT, PERMIT, PERMIT)
    table, effects = run(table, Break("stuck"))
    assert effects == [Lost(1, "broken", 9 * MS), Lost(2, "broken", 0), Granted(3, 3), Alarm(9 * MS)]
    assert run(table, Tick(), now=9 * MS)[1] == [Granted(4, 4)]


def test_a_crash_takes_all_requests_of_its_client_along() -> None:
    table, _ = run(LOCK, Enlist(1), Enlist(2), Enlist(1), Enlist(3))
    table, effects = run(table, Crash(1))
    assert (effects, numbers(table)) == ([Granted(2, 2)], ([2], [4], []))
    assert run(table, Crash(1)) == (table, [])
    assert run(table, Crash(2), Crash(3), Enlist(1))[1] == [Granted(5, 5)], "a token is never used again"


def test_who_does_not_wait_leaves_nothing_behind() -> None:
    table, _ = run(LOCK, WRITE)
    assert run(table, Enlist(2, wait=False)) == (table, [Refused()])


def test_the_position_counts_broken_holders_so_that_it_only_falls() -> None:
    table, _ = run(ELECTION, Enlist(1, grace_ms=5), Enlist(2), Enlist(3, weight=1))
    assert position(table, 3) == 2
    table, _ = run(table, Break("stuck"))
    assert position(table, 3) == 2
    table, _ = run(table, Tick(), now=5 * MS)
    assert (position(table, 3), position(table, 4), position(table, 99)) == (1, None, None)


def test_in_an_election_the_heavier_are_before() -> None:
    table, _ = run(ELECTION, Enlist(1), Enlist(2), Enlist(3, weight=1))
    assert [position(table, number) for number in (3, 4)] == [2, 1], "the term of the leader is 2"
    table, effects = run(table, Enlist(4, weight=1), Enlist(5, weight=-1))
    assert effects == [Queued(6, 4)]
    assert [position(table, number) for number in (3, 4, 5, 6)] == [3, 1, 2, 4]
    assert [seat.number for seat in in_turn(table)] == [4, 5, 3, 6]
    table, _ = run(LOCK, Enlist(1), Enlist(2), Enlist(3, weight=1))
    assert [seat.number for seat in in_turn(table)] == [2, 3], "locks have no weights"


def test_the_mean_of_stays_is_that_of_releases() -> None:
    table, _ = run(LOCK, WRITE, WRITE, WRITE)
    assert table.mean_ns is None
    table, _ = step(table, Leave(1), 100)
    assert table.mean_ns == 100
    table, _ = step(table, Leave(2), 250)
    assert table.mean_ns == 110, "the newest stay, of 150, counts for a fifth"
    table, _ = step(step(table, Break("stuck"), 1000)[0], Leave(3), 5000)
    assert table.mean_ns == 110, "a stay that was broken does not count"


def test_the_estimate_is_the_position_times_the_mean_of_stays_less_the_time_of_the_first() -> None:
    assert estimate(3, 10.0, 1, 4.0) == 26
    assert estimate(3, 10.0, 2, 4.0) == 11
    assert estimate(3, None, 1, 0.0) is None, "no stay has ended yet"
    assert estimate(1, 10.0, 1, 11.0) is None, "nobody knows"


def test_the_record_of_forced_releases_does_not_grow_without_end() -> None:
    table = LOCK
    for number in range(1, MOST_FORCED + 5):
        table, _ = run(table, WRITE, Break(f"break {number}"), Leave(number))
    assert (len(table.forced), table.forced[0].reason) == (MOST_FORCED, "break 5")


def test_a_table_is_one_immutable_value_that_can_be_written_down() -> None:
    """A server would keep this value in a journal."""
    table, effects = run(SEMAPHORE, PERMIT, PERMIT, PERMIT, Break("stuck", "me"))
    assert is_immutable(table)
    assert is_immutable(tuple(effects))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(table), type=Table) == table
    commands: list[Command] = [PERMIT, Leave(3), Break("x"), Transfer(1, "a"), Crash(1), Tick()]
    assert msgspec.json.decode(msgspec.json.encode(commands), type=list[Command]) == commands
    assert msgspec.json.decode(msgspec.json.encode(effects), type=list[Effect]) == effects


@pytest.mark.parametrize(
    ("table", "commands", "words"),
    [
        (LOCK, [WRITE, Leave(7)], "lock 'x' has no request 7: no such number was drawn; held by 1; last number 1"),
        (LOCK, [WRITE, Leave(1), Leave(1)], "no request 1: it has left, its client has crashed"),
        (LOCK, [Enlist(1, limit=2)], "the limit of a lock is 1, asked for 2"),
        (SEMAPHORE, [Enlist(1, limit=0)], "the limit of a semaphore is at least 1, asked for 0"),
        (SEMAPHORE, [Enlist(1, limit=2, shared=True)], "a semaphore is not shared"),
        (ELECTION, [Enlist(1, shared=True)], "an election is not shared"),
        (LOCK, [WRITE, Transfer(1, "a")], "a lock cannot be transferred to 'a'"),
        (ELECTION, [WRITE, Transfer(1, "a")], r"no candidate 'a' in 'x' \(candidates: none; label= names one\)"),
        (
            ELECTION,
            [WRITE, Enlist(2, label="a"), Transfer(3, "a")],
            "does not lead: request 3 waits; held by 1; queue 3",
        ),
        (
            ELECTION,
            [Enlist(1, grace_ms=1), Enlist(2, label="a"), Break("stuck"), Transfer(1, "a")],
            r"does not lead: request 1 was broken; held by 1 \(lost\); queue 3; last number 3; broken by force \(2,\) \(stuck\)",
        ),
        (ELECTION, [WRITE, Enlist(2, label="a"), Transfer(9, "a")], "does not lead: request 9 is not there"),
        (LOCK, [*[WRITE] * 9, Leave(70)], "queue 5, 6, 7, 8, 9 and 3 more"),
    ],
)
def test_an_illegal_command_is_refused_with_the_story(table: Table, commands: list[Command], words: str) -> None:
    before, _ = run(table, *commands[:-1])
    with pytest.raises(Misuse, match=words):
        step(before, commands[-1], 0)
