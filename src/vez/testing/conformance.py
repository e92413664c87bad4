"""The contract as tests, the same for every engine, for threads and for tasks.

class TestMine(Conformance):
    @pytest.fixture
    def url(self):
        return "mine://..."
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from vez.errors import AlreadyHeld, Deadlock, LockTimeout, Misuse, OwnershipLost
from vez.testing.actors import PATIENCE, Actor, AsyncActor, SyncActor, eventually

Make = Callable[[], Actor]


class Base:
    """The actors of a test, closed at its end."""

    @pytest.fixture
    def url(self) -> str:
        """The engine under test."""
        raise NotImplementedError("give the suite a `url` fixture")

    @pytest.fixture(params=["threads", "tasks", "mixed"])
    def actor(self, request: pytest.FixtureRequest, url: str) -> Iterator[Make]:
        """Makes actors: threads, tasks, or both alternately."""
        made: list[Actor] = []

        def make() -> Actor:
            kinds = {"threads": (SyncActor, SyncActor), "tasks": (AsyncActor, AsyncActor)}
            made.append(kinds.get(request.param, (SyncActor, AsyncActor))[len(made) % 2](url))
            return made[-1]

        yield make
        for one in made:
            one.close()


class LockConformance(Base):
    """Locks, read/write locks and semaphores."""

    def test_tokens_strictly_increase_over_clients(self, actor: Make) -> None:
        tokens = []
        for one in (actor(), actor(), actor()):
            for _ in range(3):
                grant = one.acquire("lock", "tokens")
                tokens.append(grant.token)
                one.release(grant)
        assert tokens == sorted(set(tokens))

    def test_one_inside_and_the_other_waits(self, actor: Make) -> None:
        one, other = actor(), actor()
        grant = one.acquire("lock", "one")
        with pytest.raises(LockTimeout) as refused:
            other.acquire("lock", "one", 0)
        assert refused.value.definite
        waiting = other.queue_up("lock", "one")
        assert not waiting.done()
        one.release(grant)
        later = waiting.result(PATIENCE)
        assert later.token > grant.token
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

    def test_first_come_first_served(self, actor: Make) -> None:
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
        assert served == queue == sorted(queue)

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

    @pytest.mark.parametrize("count", [2, 3])
    def test_the_request_that_closes_a_cycle_is_refused(self, actor: Make, count: int) -> None:
        """Exactly one is refused; which one closes the cycle is decided by the engine, not by who asked last."""
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

    def test_all_readers_behind_a_writer_get_in_together(self, actor: Make) -> None:
        writer, readers = actor(), [actor() for _ in range(4)]
        grant = writer.acquire("lock", "herd")
        futures = [reader.queue_up("lock", "herd", shared=True) for reader in readers]
        writer.release(grant)
        grants = [future.result(PATIENCE) for future in futures]
        assert len(writer.inspect("herd").holders) == 4
        for reader, got in zip(readers, grants, strict=True):
            reader.release(got)

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

    def test_forced_release_is_recorded_and_told(self, actor: Make) -> None:
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
        assert later.token > grant.token
        assert [done.reason for done in one.inspect("broken").breaks] == ["the test wants it"]
        one.release(grant)
        later.check()
        other.release(later)
        assert one.viewer.break_lock("broken", "nobody is there") is None

    @pytest.mark.parametrize("name", ["", "a b", "x" * 201, "-x", "ä", "a\n", "../x", 3])
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


class CancellationConformance(Base):
    """A cancelled request leaves nothing behind, at whatever point it was cancelled."""

    @pytest.mark.parametrize("kind", ["lock", "semaphore", "election"])
    def test_cancelled_while_waiting(self, url: str, kind: Any) -> None:
        one, other = AsyncActor(url), AsyncActor(url)
        options = {"limit": 2} if kind == "semaphore" else {}
        grants = [one.acquire(kind, "cancel", **options) for _ in range(options.get("limit", 1))]
        waiting = other.queue_up(kind, "cancel", **options)
        other.cancel()
        with pytest.raises(InterruptedError):
            waiting.result(PATIENCE)
        assert one.inspect("cancel", kind).queue == ()
        for grant in grants:
            one.release(grant)
        other.release(other.acquire(kind, "cancel", 1, **options))
        one.close()
        other.close()

    def test_cancelled_after_every_number_of_steps(self, url: str) -> None:
        """Cancel after each number of steps of the loop; the lock must be free for the next."""
        import asyncio

        from vez import aio

        async def run(steps: int) -> None:
            async with aio.connect(url) as client:
                holder = await client.lock("steps").acquire()

                async def want() -> None:
                    async with client.lock("steps"):
                        await asyncio.sleep(0)

                task = asyncio.create_task(want())
                for step in range(steps):
                    if step == 3:
                        await holder.release()
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.wait([task])
                await holder.release()
                seen = await client.inspect("steps")
                assert (seen.holders, seen.queue) == ((), ())
                await (await client.lock("steps").acquire(0)).release()

        for steps in range(12):
            asyncio.run(run(steps))


class ElectionConformance(Base):
    """Elections."""

    def test_terms_strictly_increase_and_the_next_leads_at_once(self, actor: Make) -> None:
        one, other = actor(), actor()
        first = one.acquire("election", "terms")
        waiting = other.queue_up("election", "terms")
        one.release(first)
        second = waiting.result(PATIENCE)
        assert second.term > first.term
        again = one.queue_up("election", "terms")
        other.release(second)
        assert again.result(PATIENCE).term > second.term

    def test_the_heaviest_wins_and_among_equals_the_first(self, actor: Make) -> None:
        leader = actor()
        leadership = leader.acquire("election", "weights")
        candidates = [(actor(), weight) for weight in (1, 5, 5, 3)]
        waiting = [one.queue_up("election", "weights", weight=weight) for one, weight in candidates]
        leader.release(leadership)
        order = []
        for _ in candidates:
            eventually(lambda: any(f.done() for place, f in enumerate(waiting) if place not in order), "a leader")
            place = next(place for place, f in enumerate(waiting) if f.done() and place not in order)
            order.append(place)
            candidates[place][0].release(waiting[place].result())
        assert order == [1, 2, 3, 0]

    def test_a_light_leader_is_not_overthrown(self, actor: Make) -> None:
        one, other = actor(), actor()
        leadership = one.acquire("election", "stable", weight=1)
        waiting = other.queue_up("election", "stable", weight=9)
        leadership.check()
        assert not waiting.done()
        one.release(leadership)
        waiting.result(PATIENCE)

    def test_transfer_goes_to_the_one_named(self, actor: Make) -> None:
        one, heavy, chosen = actor(), actor(), actor()
        leadership = one.acquire("election", "transfer", label="one")
        passed_over = heavy.queue_up("election", "transfer", weight=9, label="heavy")
        waiting = chosen.queue_up("election", "transfer", label="chosen")
        with pytest.raises(Misuse, match="nobody"):
            one.transfer(leadership, "nobody")
        leadership.check()
        term = one.transfer(leadership, "chosen")
        assert waiting.result(PATIENCE).term == term > leadership.term
        assert not passed_over.done()
        with pytest.raises(OwnershipLost):
            leadership.check()

    def test_observers_see_every_leader_who_stays(self, actor: Make, url: str) -> None:
        from vez.turns.client import connect

        one, other = actor(), actor()
        with connect(url) as client:
            seen = client.election("observed").observe(PATIENCE)
            assert next(seen) is None
            leadership = one.acquire("election", "observed", label="one")
            first = next(seen)
            assert first is not None
            assert (first.term, first.label) == (leadership.term, "one")
            waiting = other.queue_up("election", "observed", label="other")
            one.release(leadership)
            second = waiting.result(PATIENCE)
            labels = [leader.label if leader else None for leader in (next(seen),)]
            if labels == [None]:
                labels.append(getattr(next(seen), "label", None))
            assert labels[-1] == "other"
            other.release(second)
            assert next(seen) is None
            seen.close()  # type: ignore[attr-defined]

    def test_a_deposed_leader_is_told_and_another_leads(self, actor: Make) -> None:
        one, other = actor(), actor()
        leadership = one.acquire("election", "deposed", grace=0)
        waiting = other.queue_up("election", "deposed", grace=0)
        assert one.viewer.break_lock("deposed", "a test", "election") is not None
        later = waiting.result(PATIENCE)
        assert later.term > leadership.term
        with pytest.raises(OwnershipLost):
            leadership.check()
        later.check()
        one.release(leadership)
        later.check()


class LossConformance(Base):
    """On a loss the body of a task is cancelled."""

    @pytest.mark.parametrize("kind", ["lock", "election"])
    def test_the_body_is_cancelled_and_ends_with_ownership_lost(self, url: str, kind: Any) -> None:
        import asyncio

        from vez import aio

        async def run() -> list[str]:
            story = []
            async with aio.connect(url) as client:
                made = client.lock("body") if kind == "lock" else client.election("body")
                try:
                    async with made as grant:
                        breaking = asyncio.create_task(client.break_lock("body", "a test", kind))
                        try:
                            await asyncio.sleep(PATIENCE)
                        except asyncio.CancelledError:
                            story.append(f"cancelled, lost {grant.lost}")
                            raise
                except OwnershipLost:
                    story.append("ownership lost")
                await breaking
                async with made:  # the task goes on, and may hold again
                    story.append("again")
            return story

        assert asyncio.run(run()) == ["cancelled, lost True", "ownership lost", "again"]

    def test_a_cancellation_from_outside_stays_one(self, url: str) -> None:
        import asyncio

        from vez import aio

        async def run() -> None:
            async with aio.connect(url) as client:
                inside = asyncio.Event()

                async def body() -> None:
                    async with client.lock("outside"):
                        inside.set()
                        await asyncio.sleep(PATIENCE)

                task = asyncio.create_task(body())
                await inside.wait()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert (await client.inspect("outside")).holders == ()

        asyncio.run(run())


class Conformance(LockConformance, CancellationConformance, ElectionConformance, LossConformance):
    """The whole contract within one process."""
