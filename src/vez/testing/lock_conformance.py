"""The contract of locks, shared locks and semaphores, as tests."""

from __future__ import annotations

import time
from secrets import token_hex
from typing import Any

import pytest

from vez.errors import AlreadyHeld, Deadlock, LockTimeout, Misuse, OwnershipLost, StaleToken
from vez.locks.engines.base import Place, Traits
from vez.locks.turns.periods import Period
from vez.testing.actors import PATIENCE, Actor, eventually
from vez.testing.conformance_base import Base, Make, assert_newer, needs


@needs("locks")
class LockConformance(Base):
    """Exclusive and shared locks, and semaphores."""

    @needs("token")
    def test_tokens_strictly_increase_over_clients(self, actor: Make) -> None:
        tokens = []
        for one in (actor(), actor(), actor()):
            for _ in range(3):
                grant = one.acquire("lock", "tokens")
                tokens.append(grant.token)
                one.release(grant)
        assert tokens == sorted(set(tokens))

    def test_one_inside_and_the_other_waits(self, actor: Make, traits: Traits) -> None:
        one, other = actor(), actor()
        grant = one.acquire("lock", "one")
        with pytest.raises(LockTimeout) as refused:
            other.acquire("lock", "one", 0)
        assert refused.value.definite
        waiting = other.queue_up("lock", "one")
        assert not waiting.done()
        one.release(grant)
        later = waiting.result(PATIENCE)
        assert_newer(traits, later, grant)
        other.release(later)

    def test_timeout_leaves_nothing_behind(self, actor: Make) -> None:
        one, other, third = actor(), actor(), actor()
        grant = one.acquire("lock", "timeout")
        with pytest.raises(LockTimeout, match="timeout"):
            other.acquire("lock", "timeout", 0.05)
        seen = one.inspect("timeout")
        assert [who.token for who in seen.holders] == [grant.token]
        assert seen.queue == ()
        one.release(grant)
        third.release(third.acquire("lock", "timeout", 0))

    @needs("queue_visible")
    def test_first_come_first_served(self, actor: Make, traits: Traits) -> None:
        """Grants are in the order of the queue. A waiter's number in the queue is the token of its grant if tokens are
        drawn on arrival."""
        first = actor()
        grant = first.acquire("lock", "fifo")
        others = [actor() for _ in range(5)]
        waiting = [one.queue_up("lock", "fifo") for one in others]
        queue = [who.token for who in first.inspect("fifo").queue]
        first.release(grant)
        served = []
        for one, future in zip(others, waiting, strict=True):
            got = future.result(PATIENCE)
            served.append(got.token)
            assert sum(f.done() for f in waiting) == len(served)
            one.release(got)
        assert traits.token is None or served == sorted(set(served))
        if traits.token == "arrival":  # noqa: S105  not a password
            assert served == queue

    def test_one_who_gives_up_does_not_stop_those_behind(self, actor: Make) -> None:
        first = actor()
        grant = first.acquire("lock", "gap")
        impatient, patient = actor(), actor()
        giving_up = impatient.queue_up("lock", "gap", 0.2)
        waiting = patient.queue_up("lock", "gap")
        with pytest.raises(LockTimeout):
            giving_up.result(PATIENCE)
        assert not waiting.done()
        first.release(grant)
        patient.release(waiting.result(PATIENCE))

    @needs("queue_visible")
    def test_position_only_falls(self, actor: Make) -> None:
        holders = [actor() for _ in range(3)]
        grants = [holders[0].acquire("lock", "position")]
        futures = [one.queue_up("lock", "position") for one in holders[1:]]
        places: list[int] = []
        last = actor()
        future = last.queue_up("lock", "position", on_wait=lambda place: places.append(place.position))
        eventually(lambda: bool(places) and places[-1] == 3, "position 3")
        holders[0].release(grants[0])
        for one, waiting in zip(holders[1:], futures, strict=True):
            one.release(waiting.result(PATIENCE))
        last.release(future.result(PATIENCE))
        assert places == sorted(places, reverse=True)
        assert places[0] == 3

    @needs("queue_visible", "stays")
    def test_stays_are_known_and_waits_are_estimated(self, actor: Make) -> None:
        """The longer the stay before, the longer the estimate: a busy machine needs several tries."""
        one, other = actor(), actor()
        places: list[Place] = []
        stay = 0.05
        while not any(place.estimated_seconds for place in places):
            assert stay < PATIENCE, "no wait was estimated"
            grant = one.acquire("lock", "stays")
            time.sleep(stay)
            one.release(grant)
            grant = one.acquire("lock", "stays")
            waiting = other.queue_up("lock", "stays", on_wait=places.append)
            eventually(lambda: bool(places), "a place")
            mean = one.inspect("stays").mean_hold_seconds
            assert mean is not None
            assert mean > 0
            one.release(grant)
            other.release(waiting.result(PATIENCE))
            stay *= 2

    @needs("queue_visible")
    def test_inspection_shows_who_and_since_when(self, actor: Make) -> None:
        one, other = actor(), actor()
        grant = one.acquire("lock", "seen", label="alpha")
        waiting = other.queue_up("lock", "seen", label="beta")
        seen = one.inspect("seen")
        assert [(who.token, who.label) for who in seen.holders] == [(grant.token, "alpha")]
        assert [who.label for who in seen.queue] == ["beta"]
        assert seen.holders[0].pid > 0
        assert seen.holders[0].since <= seen.queue[0].since
        assert "seen" in one.viewer.locks("se")
        assert "seen" not in one.viewer.locks("x")
        one.release(grant)
        other.release(waiting.result(PATIENCE))
        assert one.inspect("seen").holders == ()

    def test_waiting_for_oneself_is_refused(self, actor: Make) -> None:
        one = actor()
        grant = one.acquire("lock", "self")
        with pytest.raises(AlreadyHeld, match="self"):
            one.acquire("lock", "self")
        one.release(grant)
        one.release(one.acquire("lock", "self"))

    @needs("cycles")
    @pytest.mark.parametrize("count", [2, 3])
    def test_the_request_that_closes_a_cycle_is_refused(self, actor: Make, count: int) -> None:
        """Exactly one request is refused. The engine decides which one closes the cycle, not the order of requests."""
        actors = [actor() for _ in range(count)]
        grants = [one.acquire("lock", f"cycle-{place}") for place, one in enumerate(actors)]
        waiting = [one.queue_up("lock", f"cycle-{(place + 1) % count}") for place, one in enumerate(actors)]
        eventually(lambda: any(future.done() for future in waiting), "a refusal")
        (refused,) = (place for place, future in enumerate(waiting) if future.done())
        error = waiting[refused].exception()
        assert isinstance(error, Deadlock)
        assert len(error.cycle) == count
        assert "cycle-1" in str(error)
        actors[refused].release(grants[refused])
        for step in range(1, count):  # the others get through, one after another
            place = (refused - step) % count
            actors[place].release(waiting[place].result(PATIENCE))
            actors[place].release(grants[place])

    def test_release_twice_is_harmless(self, actor: Make) -> None:
        one, other = actor(), actor()
        grant = one.acquire("lock", "twice")
        one.release(grant)
        later = other.acquire("lock", "twice")
        one.release(grant)
        later.check()
        with pytest.raises(LockTimeout):
            one.acquire("lock", "twice", 0)
        other.release(later)

    @needs("shared", "queue_visible")
    def test_readers_share_and_writers_do_not(self, actor: Make) -> None:
        one, two, writer, late = actor(), actor(), actor(), actor()
        first, second = one.acquire("lock", "rw", shared=True), two.acquire("lock", "rw", shared=True)
        wants = writer.queue_up("lock", "rw")
        behind = late.queue_up("lock", "rw", shared=True)  # behind the writer, so that the writer does not starve
        assert not behind.done()
        two.release(second)
        assert not wants.done()
        one.release(first)
        written = wants.result(PATIENCE)
        assert not behind.done()
        writer.release(written)
        late.release(behind.result(PATIENCE))

    @needs("shared", "queue_visible")
    def test_all_readers_behind_a_writer_get_in_together(self, actor: Make) -> None:
        writer, readers = actor(), [actor() for _ in range(4)]
        grant = writer.acquire("lock", "herd")
        futures = [reader.queue_up("lock", "herd", shared=True) for reader in readers]
        writer.release(grant)
        grants = [future.result(PATIENCE) for future in futures]
        assert len(writer.inspect("herd").holders) == 4
        for reader, got in zip(readers, grants, strict=True):
            reader.release(got)

    @needs("semaphores", "queue_visible")
    def test_semaphore_lets_so_many_in(self, actor: Make) -> None:
        actors = [actor() for _ in range(5)]
        grants = [one.acquire("semaphore", "three", limit=3) for one in actors[:3]]
        futures = [one.queue_up("semaphore", "three", limit=3) for one in actors[3:]]
        assert not any(future.done() for future in futures)
        assert actors[0].inspect("three", "semaphore").limit == 3
        actors[1].release(grants[1])
        fourth = futures[0].result(PATIENCE)
        assert not futures[1].done()
        actors[0].release(grants[0])
        actors[3].release(fourth)
        actors[4].release(futures[1].result(PATIENCE))
        actors[2].release(grants[2])

    @needs("semaphores")
    def test_semaphore_with_two_limits_is_refused(self, actor: Make) -> None:
        one, other = actor(), actor()
        grant = one.acquire("semaphore", "limits", limit=2)
        with pytest.raises(Misuse, match="limit of 2"):
            other.acquire("semaphore", "limits", limit=3)
        one.release(grant)
        other.release(other.acquire("semaphore", "limits", limit=3))

    def test_lock_all_takes_all_or_nothing(self, actor: Make) -> None:
        one, other = actor(), actor()
        assert sorted(one.lock_all(["b", "a", "c"], None)) == ["a", "b", "c"]
        grant = other.acquire("lock", "b")
        with pytest.raises(LockTimeout):
            one.lock_all(["c", "b", "a"], 0.05)
        assert one.inspect("a").holders == ()
        other.release(grant)

    @needs("breaks")
    def test_forced_release_is_recorded_and_told(self, actor: Make, traits: Traits) -> None:
        one, other = actor(), actor()
        grant = one.acquire("lock", "broken", grace=0)
        waiting = other.queue_up("lock", "broken")
        record = one.viewer.break_lock("broken", "the test wants it")
        assert record is not None
        assert record.tokens == (grant.token,)
        assert grant.lost
        with pytest.raises(OwnershipLost, match="force"):
            grant.check()
        later = waiting.result(PATIENCE)
        assert_newer(traits, later, grant)
        assert one.inspect("broken").breaks[-1].reason == "the test wants it"
        with pytest.raises(OwnershipLost, match="force"):
            one.release(grant)
        later.check()
        other.release(later)
        assert one.viewer.break_lock("broken", "nobody is there") is None

    @needs("memos", "token")
    def test_work_is_done_once_in_a_period_whoever_does_it(self, actor: Make) -> None:
        one, other, name = actor(), actor(), _fresh("daily")
        done: list[str] = []

        def fails() -> None:
            done.append("failed")
            raise ValueError("the work failed")

        def succeeds() -> str:
            done.append("done")
            return "a result"

        with pytest.raises(ValueError, match="the work failed"):
            one.once(name, "366d", fails)
        assert other.once(name, "366d", succeeds) == "a result"
        assert one.once(name, "366d", succeeds) is None
        assert other.once(name, "366d", succeeds) is None
        assert done == ["failed", "done"]
        assert one.once(f"{name}/more", "366d", succeeds) == "a result"

    @needs("memos", "token")
    def test_work_is_not_done_twice_by_two_at_once(self, actor: Make) -> None:
        actors, name, done = [actor() for _ in range(4)], _fresh("at-once"), list[int]()
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda one: one.once(name, "366d", lambda: done.append(1)), actors))
        assert done == [1]

    @needs("memos", "token")
    def test_a_memo_stays_and_is_kept_from_stale_writers(self, actor: Make) -> None:
        one, other, name = actor(), actor(), _fresh("memo")
        assert one.memo(name) is None
        before = one.acquire("lock", name)
        text = "first line\nsecond: \u00e9"
        assert one.memo(name, text, before.token) == text
        one.release(before)
        assert other.memo(name) == text
        later = other.acquire("lock", name)
        assert other.memo(name, "", later.token) == ""
        assert other.memo(name, "again", later.token) == "again"
        with pytest.raises(StaleToken):
            one.memo(name, "stale", before.token)
        other.release(later)
        other.viewer.prune(name)
        assert one.memo(name) == "again"
        assert one.memo(f"{name}/more") is None
        assert one.viewer.locks(name) == [name]
        with pytest.raises(StaleToken):
            one.viewer.engine.write_memo(name, None, before.token)
        one.viewer.engine.write_memo(name, None, later.token)
        one.viewer.engine.write_memo(name, None, later.token)
        assert other.memo(name) is None

    @needs("memos", "token")
    def test_inspect_shows_what_was_done_and_pruning_forgets_past_periods_only(self, actor: Make) -> None:
        one, other, name = actor(), actor(), _fresh("done")
        one.once(name, "366d", lambda: None)
        (done,) = other.inspect(name).done
        assert (done.every, done.due) == ("366d", False)
        assert done.at <= time.time() < done.next_at < done.at + 367 * 86400
        grant = other.acquire("lock", name)
        day, hour = Period("1d"), Period("1h")
        for number, kept in ((0, True), (-1, True), (-2, False)):
            both = day.memo(day.current() + number, hour.memo(hour.current() - 5))
            other.memo(name, both, grant.token)
            one.viewer.prune(name)
            assert one.memo(name) == both, "it is held"
            other.release(grant)
            assert [found.due for found in one.inspect(name).done] == [number < 0, True]
            one.viewer.prune(name)
            assert one.memo(name) == (both if kept else None)
            grant = other.acquire("lock", name)
        other.release(grant)
        assert one.inspect(name).done == ()

    @pytest.mark.parametrize("name", ["", "a b", "x" * 201, "-x", "\u2066ab", "a\n", "../x", 3])
    def test_names_are_checked(self, actor: Make, name: Any) -> None:
        with pytest.raises(Misuse):
            actor().acquire("lock", name)

    def test_long_and_odd_names_work_and_differ(self, actor: Make) -> None:
        one = actor()
        names = ["a/b", "a.b", "A/b", "x" * 200, "x" * 199 + "y", "/".join("k" * 100)]
        grants = [one.acquire("lock", name) for name in names]
        assert {name for name in one.viewer.locks() if name in names} == set(names)
        for grant in grants:
            one.release(grant)

    def test_many_owners_never_lose_an_update(self, actor: Make) -> None:
        """Read, yield, write: without exclusion updates would be lost."""
        actors, cell = [actor() for _ in range(4)], [0]

        def work(one: Actor) -> None:
            for _ in range(25):
                grant = one.acquire("lock", "cell")
                value = cell[0]
                eventually(lambda: True)
                cell[0] = value + 1
                one.release(grant)

        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, actors))
        assert cell == [100]


def _fresh(name: str) -> str:
    """A name that no earlier run has used: memos stay."""
    return f"{name}-{token_hex(8)}"
