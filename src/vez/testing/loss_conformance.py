"""The contract of cancellation and of loss in tasks, as tests."""

from __future__ import annotations

from typing import Any

import pytest

from vez.errors import OwnershipLost
from vez.locks.turns.client import connect
from vez.testing.actors import PATIENCE, AsyncActor
from vez.testing.conformance_base import Base, Make, needs


class CancellationConformance(Base):
    """A cancelled request leaves nothing behind, at whatever point it was cancelled."""

    @needs("queue_visible")
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

    @needs("locks")
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


_each_kind = pytest.mark.parametrize("kind", ["lock", "semaphore", "election"])


class ToldConformance(Base):
    """A loss is reported once to threads and to tasks, when the block is left or the grant is released."""

    @_each_kind
    @needs("breaks")
    def test_leaving_the_block_raises_and_lost_stays_true(self, actor: Make, kind: Any) -> None:
        one = actor()
        grants = []

        def lose(grant: Any) -> None:
            grants.append(grant)
            assert one.viewer.break_lock("told", "a test", kind) is not None

        with pytest.raises(OwnershipLost, match="force"):
            one.within(kind, "told", lose)
        assert grants[0].lost
        assert grants[0].released
        with pytest.raises(OwnershipLost, match="force"):
            grants[0].check()
        one.release(one.acquire(kind, "told", 0))

    @_each_kind
    @needs("breaks")
    def test_the_exception_of_the_body_wins(self, actor: Make, kind: Any) -> None:
        one = actor()

        def lose_and_fail(grant: Any) -> None:
            assert one.viewer.break_lock("told", "a test", kind) is not None
            raise LookupError("the body's own")

        with pytest.raises(LookupError, match="own"):
            one.within(kind, "told", lose_and_fail)

    @_each_kind
    @needs("breaks")
    def test_a_release_raises_once(self, actor: Make, kind: Any) -> None:
        one, other = actor(), actor()
        grant = one.acquire(kind, "told", grace=0)
        assert one.viewer.break_lock("told", "a test", kind) is not None
        later = other.acquire(kind, "told")
        with pytest.raises(OwnershipLost, match="force"):
            one.release(grant)
        one.release(grant)
        assert grant.lost
        later.check()
        other.release(later)
        assert not later.lost

    @needs("locks")
    def test_a_block_whose_grant_was_released_ends_silently(self, actor: Make) -> None:
        one = actor()
        grants: list[Any] = []
        one.within("lock", "told", grants.append)
        assert not grants[0].lost
        with pytest.raises(OwnershipLost, match="released"):
            grants[0].check()

    @_each_kind
    def test_closing_the_client_is_not_a_loss(self, url: str, kind: Any) -> None:
        client = connect(url)
        made = {"lock": client.lock, "semaphore": lambda name: client.semaphore(name, 1), "election": client.election}
        with made[kind]("closed") as grant:
            client.close()
            assert not grant.lost
            with pytest.raises(OwnershipLost, match="released"):
                grant.check()
        grant.release()

    @needs("elections", "transfer", "queue_visible")
    def test_a_transfer_is_not_a_loss(self, actor: Make) -> None:
        one, other = actor(), actor()
        leadership = one.acquire("election", "handed", label="one")
        waiting = other.queue_up("election", "handed", label="other")
        one.transfer(leadership, "other")
        assert not leadership.lost
        one.release(leadership)
        other.release(waiting.result(PATIENCE))

    @needs("breaks")
    def test_several_locks_of_which_one_is_lost(self, url: str) -> None:
        with connect(url) as client:
            with pytest.raises(OwnershipLost, match="'b'"), client.lock_all(["a", "b", "c"]):
                assert client.break_lock("b", "a test") is not None
            with client.lock_all(["a", "b", "c"], timeout=1):
                pass


class LossConformance(Base):
    """On a loss the body of a task is cancelled."""

    @needs("breaks")
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
                async with made:  # the task continues, and may hold again
                    story.append("again")
            return story

        assert asyncio.run(run()) == ["cancelled, lost True", "ownership lost", "again"]

    @needs("locks")
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
