"""`Election.lead`: the steps of a leader, their pauses, their errors, and every state in which it is stopped.

`vez.testing.election_conformance` has what holds on every engine.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from collections.abc import Iterator
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest

import vez
import vez.aio
from tests.expectations import eventually_in_task
from vez.errors import EngineUnavailable, Misuse
from vez.locks.engines.owners import withdraw
from vez.locks.turns import leading, thread_leading
from vez.testing import eventually

_spaces = count()
PATIENCE = 30.0


@pytest.fixture(params=["memory", "file"])
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[vez.Client]:
    url = f"memory:leading-{next(_spaces)}" if request.param == "memory" else f"file://{tmp_path}/turns"
    with vez.connect(url) as made:
        yield made


def nothing(leadership: vez.Leadership) -> None:
    pass


def test_the_term_is_shown_while_it_leads(client: vez.Client) -> None:
    terms: list[int | None] = []
    with client.election("shown").lead(lambda leadership: terms.append(leadership.term), every=60) as lead:
        eventually(lambda: bool(terms), "the first step")
        assert lead.term == terms[0] is not None
        with client.election("shown").lead(nothing, every=60) as second:
            eventually(lambda: bool(client.inspect("shown", "election").queue), "a candidate")
            assert second.term is None
    assert lead.term is None
    assert not client.inspect("shown", "election").holders


def test_stopping_waits_for_the_step_and_says_if_it_takes_too_long(client: vez.Client) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def step(leadership: vez.Leadership) -> None:
        begun.set()
        assert go_on.wait(PATIENCE)
        leadership.check()

    lead = client.election("slow").lead(step, every=0)
    assert begun.wait(PATIENCE)
    assert not lead.stop(timeout=0.01)
    assert client.inspect("slow", "election").holders, "nobody else leads while the step runs"
    go_on.set()
    assert lead.stop(timeout=PATIENCE)
    assert lead.stop(), "twice is harmless"
    assert not client.inspect("slow", "election").holders


def test_a_step_may_stop_it(client: vez.Client) -> None:
    leads: list[Any] = []
    ready = threading.Event()
    steps: list[bool] = []

    def step(leadership: vez.Leadership) -> None:
        assert ready.wait(PATIENCE)
        steps.append(leads[0].stop())

    leads.append(client.election("itself").lead(step, every=0))
    ready.set()
    eventually(lambda: bool(steps), "the end of the step")
    assert leads[0].stop(PATIENCE)
    assert steps == [True]


def test_a_step_that_fails_is_logged_and_others_may_lead(
    client: vez.Client, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thread_leading, "AGAIN", PATIENCE)
    terms: list[int | None] = []
    with client.election("fails").lead(lambda _: 1 / 0, every=0):
        eventually(lambda: "ZeroDivisionError" in caplog.text, "the traceback")
        with client.election("fails").lead(lambda leadership: terms.append(leadership.term), every=0):
            eventually(lambda: bool(terms), "another leader")
    assert "a step of the leader failed" in caplog.text


def test_a_step_that_fails_is_called_again(client: vez.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_leading, "AGAIN", 0.01)
    terms: list[int | None] = []

    def step(leadership: vez.Leadership) -> None:
        terms.append(leadership.term)
        raise ValueError("once more")

    with client.election("fails").lead(step, every=0):
        eventually(lambda: len(terms) >= 3, "three steps")
    assert len(set(terms)) == len(terms), "it resigned each time"


def test_a_loss_that_the_step_notices_is_no_failure(client: vez.Client, caplog: pytest.LogCaptureFixture) -> None:
    terms: list[int | None] = []

    def step(leadership: vez.Leadership) -> None:
        terms.append(leadership.term)
        while len(set(terms)) == 1:
            leadership.check()

    with client.election("noticed", grace=0).lead(step, every=0.01):
        eventually(lambda: bool(terms), "a leader")
        assert client.break_lock("noticed", "a test", "election") is not None
        eventually(lambda: len(set(terms)) > 1, "the next term")
    assert "failed" not in caplog.text


def test_the_pause_ends_when_the_leadership_is_lost(client: vez.Client) -> None:
    terms: list[int | None] = []
    with client.election("pause", grace=0).lead(lambda leadership: terms.append(leadership.term), every=3600):
        eventually(lambda: len(terms) == 1, "the first step")
        assert client.break_lock("pause", "a test", "election") is not None
        eventually(lambda: len(terms) == 2, "the first step of the next term")


def test_steps_begin_at_intervals_and_none_is_made_up(client: vez.Client) -> None:
    starts: list[float] = []

    def step(leadership: vez.Leadership) -> None:
        starts.append(time.monotonic())
        if len(starts) == 2:
            eventually(lambda: time.monotonic() >= starts[-1] + 0.2, "four intervals")  # a late step delays the next

    with client.election("intervals").lead(step, every=0.05):
        eventually(lambda: len(starts) >= 6, "six steps")
    gaps = [later - earlier for earlier, later in pairwise(starts[:6])]
    assert all(gap >= 0.05 for gap in gaps)
    assert gaps[1] >= 0.2


def test_an_engine_that_fails_is_asked_again(
    client: vez.Client, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thread_leading, "AGAIN", 0.01)
    caplog.set_level(logging.WARNING, "vez.turns")
    election, failures = client.election("outage"), [4]
    acquire = client.engine.acquire

    def outage(*arguments: Any) -> Any:
        if failures[0]:
            failures[0] -= 1
            raise EngineUnavailable("it is away")
        return acquire(*arguments)

    monkeypatch.setattr(client.engine, "acquire", outage)
    steps: list[object] = []
    with election.lead(steps.append, every=60):
        eventually(lambda: bool(steps), "a step after the outage")
    assert caplog.text.count("it is away") == 1, "told once, not each time"


def test_an_error_that_trying_again_does_not_cure_is_raised_by_stop(
    client: vez.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*arguments: Any) -> Any:
        raise Misuse("this engine has no elections")

    monkeypatch.setattr(client.engine, "acquire", refused)
    lead = client.election("refused").lead(nothing, every=60)
    with pytest.raises(Misuse, match="no elections"):
        lead.stop()
    assert lead.stop(), "it is raised once"


def test_closing_the_client_ends_it(client: vez.Client) -> None:
    steps: list[object] = []
    lead = client.election("closed").lead(steps.append, every=0.01)
    eventually(lambda: bool(steps), "a leader")
    waiting = client.election("closed").lead(steps.append, every=0.01)
    eventually(lambda: bool(client.inspect("closed", "election").queue), "a candidate")
    client.close()
    assert waiting.stop(PATIENCE)
    assert lead.stop(PATIENCE)


def test_nothing_is_done_after_the_client_was_closed(tmp_path: Path) -> None:
    """Two led at once: a release is no loss, and only a loss ended the steps."""
    with vez.connect(f"file://{tmp_path}/turns") as other:
        with vez.connect(other.url) as made:
            steps: list[object] = []
            lead = made.election("closed").lead(steps.append, every=0.001)
            waits = made.election("closed").lead(steps.append, every=0.001)
            eventually(lambda: bool(steps), "a leader")
        assert lead.term is None
        eventually(lambda: not (lead._thread.is_alive() or waits._thread.is_alive()), "the end of both threads")
        done = len(steps)
        with other.election("closed", timeout=PATIENCE):
            assert len(steps) == done


def test_a_step_may_resign(client: vez.Client) -> None:
    terms: list[int | None] = []

    def step(leadership: vez.Leadership) -> None:
        terms.append(leadership.term)
        leadership.resign()

    with client.election("resigns").lead(step, every=3600):
        eventually(lambda: len(set(terms)) > 2, "three terms")


def test_a_step_that_ends_its_thread_is_a_failure(
    client: vez.Client, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thread_leading, "AGAIN", 0.01)
    terms: list[int | None] = []

    def step(leadership: vez.Leadership) -> None:
        terms.append(leadership.term)
        sys.exit(3)

    with client.election("exits").lead(step, every=0):
        eventually(lambda: len(terms) > 1, "two steps")
    assert "SystemExit: 3" in caplog.text


def test_a_task_that_suppresses_its_end_is_ended_after_the_step() -> None:
    steps: list[str] = []

    async def main() -> None:
        begun = asyncio.Event()

        async def step(leadership: vez.aio.Leadership) -> None:
            try:
                steps.append("begins")
                begun.set()
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                steps.append("suppressed")

        async with vez.aio.connect(f"memory:leading-{next(_spaces)}") as client:
            async with client.election("x").lead(step, every=0):
                await begun.wait()
            assert steps == ["begins", "suppressed"]
            begun.clear()
            client.election("x").lead(step, every=0)  # nobody stops it: the end of the loop does
            await begun.wait()

    asyncio.run(asyncio.wait_for(main(), PATIENCE))
    assert steps[2:] == ["begins", "suppressed"]


def test_a_step_whose_own_task_was_cancelled_has_failed(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vez.locks.turns.task_leading.AGAIN", 0.001)
    terms: list[int | None] = []

    async def main() -> None:
        again = asyncio.Event()

        async def step(leadership: vez.aio.Leadership) -> None:
            terms.append(leadership.term)
            if len(terms) == 3:
                again.set()
            part = asyncio.create_task(asyncio.Event().wait())
            await asyncio.sleep(0)
            part.cancel()
            await part

        url = f"memory:leading-{next(_spaces)}"
        async with vez.aio.connect(url) as client, client.election("x").lead(step, every=0):
            await again.wait()

    asyncio.run(asyncio.wait_for(main(), PATIENCE))
    assert "a step of the leader failed" in caplog.text


def test_closing_the_client_ends_the_candidacy_of_a_task() -> None:
    async def main() -> None:
        done = asyncio.Event()

        async def step(leadership: vez.aio.Leadership) -> None:
            done.set()

        async with vez.aio.connect(f"memory:leading-{next(_spaces)}") as client:
            lead = client.election("x").lead(step, every=3600)
            await done.wait()
        await asyncio.wait_for(asyncio.shield(lead._task), PATIENCE)
        assert lead.term is None

    asyncio.run(main())


async def step(leadership: vez.aio.Leadership) -> None:
    pass


@pytest.mark.parametrize(
    ("work", "every", "text"),
    [
        (None, 1, "lead calls a function"),
        (step, 1, "is a coroutine function, and vez.connect is for threads"),
        (lambda _: (yield), 1, "is a generator"),
        (nothing, -1, "every is a number of seconds"),
        (nothing, True, "every is a number of seconds"),
        (nothing, "60", "every is a number of seconds"),
        (nothing, float("nan"), "every is a number of seconds"),
        (nothing, float("inf"), "every is a number of seconds"),
    ],
)
def test_what_cannot_be_a_step_is_refused_at_once(client: vez.Client, work: Any, every: Any, text: str) -> None:
    with pytest.raises(Misuse, match=text):
        client.election("wrong").lead(work, every=every)
    assert "wrong" not in client.locks(kind="election")


def test_a_task_refuses_a_step_for_threads() -> None:
    async def main() -> None:
        async with vez.aio.connect("memory:") as client:
            with pytest.raises(Misuse, match=r"is not a coroutine function, and vez\.aio\.connect is for tasks"):
                client.election("x").lead(nothing, every=1)  # type: ignore[arg-type]

    asyncio.run(main())


def test_a_step_of_a_task_is_cancelled_by_stop_and_by_a_loss() -> None:
    ended: list[str] = []

    async def main() -> None:
        async with vez.aio.connect(f"memory:leading-{next(_spaces)}") as client:
            entered = asyncio.Event()

            async def step(leadership: vez.aio.Leadership) -> None:
                entered.set()
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    ended.append("lost" if leadership.lost else "stopped")
                    raise

            async with client.election("tasks", grace=0).lead(step, every=0) as lead:
                await entered.wait()
                assert lead.term is not None
                entered.clear()
                assert await client.break_lock("tasks", "a test", "election") is not None
                await entered.wait()
                assert ended == ["lost"]
            assert ended == ["lost", "stopped"]
            assert lead.term is None
            assert not (await client.inspect("tasks", "election")).holders

    asyncio.run(main())


def test_a_task_that_fails_or_meets_an_outage_goes_on(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vez.locks.turns.task_leading.AGAIN", 0.001)
    terms: list[int | None] = []

    async def main() -> None:
        async with vez.aio.connect(f"memory:leading-{next(_spaces)}") as client:
            done, acquire = asyncio.Event(), client.engine.acquire
            outages = [3]

            async def outage(*arguments: Any) -> Any:
                if outages[0]:
                    outages[0] -= 1
                    raise EngineUnavailable("it is away")
                return await acquire(*arguments)

            async def step(leadership: vez.aio.Leadership) -> None:
                terms.append(leadership.term)
                if len(terms) == 3:
                    done.set()
                raise ValueError("once more")

            monkeypatch.setattr(client.engine, "acquire", outage)
            async with client.election("tasks").lead(step, every=0):
                await done.wait()

    asyncio.run(main())
    assert len(set(terms)) == len(terms) >= 3
    assert caplog.text.count("it is away") == 1


def test_only_the_wait_of_the_named_thread_is_withdrawn(client: vez.Client) -> None:
    """Two threads wait; the other one is granted later, and whoever does not wait is not touched."""
    from vez.locks.engines.owners import here

    outcomes: dict[str, object] = {}
    owners: dict[str, int] = {}

    def wait(name: str) -> None:
        owners[name] = here.owner.number
        try:
            with client.lock("one-at-a-time"):
                outcomes[name] = "granted"
        except vez.LockTimeout as error:
            outcomes[name] = str(error)

    with client.lock("one-at-a-time") as grant:
        threads = [threading.Thread(target=wait, args=(name,)) for name in ("one", "other")]
        for number, thread in enumerate(threads, 1):
            thread.start()
            eventually(lambda number=number: len(client.inspect("one-at-a-time").queue) == number, "a waiter")  # type: ignore[misc]
        withdraw(owners["one"])
        withdraw(here.owner.number)
        threads[0].join(PATIENCE)
        grant.check()
    threads[1].join(PATIENCE)
    assert outcomes == {
        "one": "lock 'one-at-a-time' was not granted: the request was withdrawn",
        "other": "granted",
    }


def test_the_same_trouble_is_told_again_after_a_success(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "vez.turns")
    base: leading.BaseLeading[vez.Leadership] = leading.BaseLeading("x", 1.0, lambda: False)
    for _ in range(2):
        assert base._goes_on(EngineUnavailable("away"))
        assert base._goes_on(EngineUnavailable("away"))
        base._elected(object())  # type: ignore[arg-type]
    assert caplog.text.count("away") == 2


@pytest.mark.parametrize("fails", [False, True], ids=["in a pause", "after a failure"])
@pytest.mark.parametrize("tasks", [False, True], ids=["threads", "tasks"])
def test_stopping_again_and_again_keeps_the_shortest_stay(tasks: bool, fails: bool) -> None:
    """The first `stop` ends the reign, or a step that fails does. The others come while the rest of the stay is
    waited for."""
    url, begun, ended = f"memory:stays-{next(_spaces)}", list[float](), list[float]()
    terms: dict[str, Any] = {"at_least": 0.4, "on_released": lambda *_: ended.append(time.monotonic())}

    def step(leadership: Any) -> None:
        begun.append(time.monotonic())
        if fails:
            raise ValueError("a test")

    async def step_of_a_task(leadership: Any) -> None:
        step(leadership)

    def in_threads() -> None:
        with vez.connect(url) as client, client.election("e", **terms).lead(step, every=60) as lead:
            eventually(lambda: bool(begun), "the first step")
            for _ in range(3):
                assert not lead.stop(timeout=0.01)

    async def in_tasks() -> None:
        async with vez.aio.connect(url) as client, client.election("e", **terms).lead(step_of_a_task, every=60) as lead:
            await eventually_in_task(lambda: begun)
            for _ in range(3):
                assert not await lead.stop(timeout=0.01)

    asyncio.run(in_tasks()) if tasks else in_threads()
    assert ended[0] - begun[0] >= 0.39
