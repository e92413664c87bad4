"""The contract of cancellation and of loss in tasks, as tests."""

from __future__ import annotations

from typing import Any

import pytest

from vez.errors import OwnershipLost
from vez.testing.actors import PATIENCE, AsyncActor
from vez.testing.conformance_base import Base


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
