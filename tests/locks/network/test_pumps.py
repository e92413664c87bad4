"""The two pumps on recipes and a transport of the test: proofs, lost replies, withdrawals, clean-ups cut short."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from vez.errors import EngineUnavailable
from vez.locks.engines.base import Request
from vez.locks.engines.network.recipe_run import CLEAN_UP_SECONDS, Over, now
from vez.locks.engines.network.session import MARGIN, NOT_RENEWED, Session
from vez.locks.engines.network.task_pump import TaskGuard, TaskPump
from vez.locks.engines.network.task_side import TaskSessionBase
from vez.locks.engines.network.thread_pump import ThreadGuard, ThreadPump
from vez.locks.engines.network.thread_side import ThreadClaim
from vez.locks.engines.network.transport import Unreachable, WatchEnded
from vez.locks.recipes import (
    Answer,
    Call,
    Changed,
    Elapsed,
    Lost,
    Proved,
    Recipe,
    Reply,
    SessionEnded,
    Unknown,
    Unwatched,
    Wait,
    Withdrawn,
)


class Clock:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


Does = Callable[[Any], Reply]


class Stream:
    """Events that are there already, then none."""

    def __init__(self, clock: Clock, watch: str, events: list[tuple[str, ...]]) -> None:
        self.clock, self.watch, self.events, self.closed = clock, watch, events, False

    def next(self, seconds: float | None) -> tuple[str, ...] | None:
        if self.events:
            return self.events.pop(0)
        if seconds is None:
            raise WatchEnded("nothing will come")
        self.clock.now += seconds
        return None

    def serves(self, watch: str) -> bool:
        return watch == self.watch

    def interrupt(self) -> None:
        raise AssertionError("nobody wakes it here")

    def close(self) -> None:
        self.closed = True


class Transport:
    """Answers as the test configures it, and records the requests."""

    def __init__(self, clock: Clock, does: Does, events: tuple[tuple[str, ...], ...] = ()) -> None:
        self.clock, self.does, self.events = clock, does, list(events)
        self.contacted, self.asked, self.streams = False, list[Any](), list[Stream]()

    def call(self, request: Any, seconds: float) -> Reply:
        self.asked.append(request)
        reply = self.does(request)
        self.contacted = True
        return reply

    def watch(self, watch: str, seconds: float) -> Stream:
        self.streams.append(Stream(self.clock, watch, self.events))
        return self.streams[-1]

    def forget(self) -> None: ...

    def drop(self) -> None: ...

    def close(self) -> None: ...


class AsyncStream:
    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.serves, self.interrupt = stream.serves, stream.interrupt

    async def next(self, seconds: float | None) -> tuple[str, ...] | None:
        await asyncio.sleep(0)
        return self._stream.next(seconds)

    async def close(self) -> None:
        self._stream.close()


class AsyncTransport:
    """The transport for tasks: it awaits, then behaves like the other."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def contacted(self) -> bool:
        return self._transport.contacted

    async def call(self, request: Any, seconds: float) -> Reply:
        await asyncio.sleep(0)
        return self._transport.call(request, seconds)

    async def watch(self, watch: str, seconds: float) -> AsyncStream:
        return AsyncStream(self._transport.watch(watch, seconds))

    def forget(self) -> None: ...

    def drop(self) -> None: ...

    async def close(self) -> None: ...


class Run:
    """Runs a recipe on one of the pumps."""

    def __init__(self, tasks: bool) -> None:
        self.tasks, self.clock, self.clean = tasks, Clock(), False
        self.guard: Any = None

    def __call__(
        self, recipe: Recipe[Any], transport: Transport, proved: Any = None, lost: Any = None, **guard: Any
    ) -> Any:
        if not self.tasks:
            self.guard = made = ThreadGuard(**guard)
            try:
                return ThreadPump(transport, self.clock).run(recipe, made, proved, lost)
            finally:
                self.clean = made.clean

        async def run() -> Any:
            self.guard = made = TaskGuard(**guard)
            try:
                return await TaskPump(AsyncTransport(transport), self.clock).run(recipe, made, proved, lost)
            finally:
                self.clean = made.clean

        return asyncio.run(run())


@pytest.fixture(params=["threads", "tasks"])
def run(request: pytest.FixtureRequest) -> Run:
    return Run(request.param == "tasks")


def answers(value: Any) -> Does:
    return lambda request: Answer(value)


def test_a_proof_counts_from_the_sending(run: Run) -> None:
    """A reply that takes four seconds of a lease of ten leaves six, less the margin."""

    def slow(request: Any) -> Reply:
        run.clock.now += 4
        return Answer(10)

    def recipe() -> Recipe[None]:
        reply = yield Call("renew")
        yield Proved(reply.value)

    session = Session(10, run.clock)
    run(recipe(), Transport(run.clock, slow), session.prove)
    assert session.proved_until == 100 + 10 - MARGIN * 10
    assert session.why_ended() is None
    run.clock.now = session.proved_until
    assert session.why_ended() == NOT_RENEWED
    session.prove(1000)
    assert session.why_ended() == NOT_RENEWED, "who was told of a loss must not hold again"


def test_a_holder_is_told_what_was_taken(run: Run) -> None:
    def recipe() -> Recipe[str]:
        yield Lost("x/", "a test", 7)
        reply = yield Call("more")
        return str(reply.value)

    told: list[tuple[str, str, int | None]] = []
    assert run(recipe(), Transport(run.clock, answers("end")), None, lambda *what: told.append(what)) == "end"
    assert told == [("x/", "a test", 7)]


def patient() -> Recipe[str]:
    """Asks until it has an answer, and cleans up."""
    try:
        while True:
            reply = yield Call("ask")
            if isinstance(reply, Answer):
                return str(reply.value)
            yield Wait(seconds=0.01)
    except Withdrawn:
        while not isinstance((yield Call("undo")), Answer):
            yield Wait(seconds=0.01)
        raise


def test_a_lost_reply_is_asked_again(run: Run) -> None:
    replies: list[Reply] = [Unknown("lost"), Unknown("lost"), Answer("yes")]
    transport = Transport(run.clock, lambda request: replies.pop(0))
    assert run(patient(), transport, patience=60) == "yes"
    assert transport.asked == ["ask"] * 3


def test_patience_begins_anew_after_every_reply(run: Run) -> None:
    """A server that fails for a moment now and then is not a silent server, however long a request waits."""
    replies: list[Reply] = [Unknown("lost"), Answer("later"), Unknown("lost again"), Answer("yes")]

    def does(request: Any) -> Reply:
        run.clock.now += 40
        return replies.pop(0)

    def waits() -> Recipe[str]:
        while not isinstance(reply := (yield Call("ask")), Answer) or reply.value != "yes":
            yield Wait(seconds=0.01)
        return str(reply.value)

    assert run(waits(), Transport(run.clock, does), patience=60) == "yes"


def test_without_patience_a_lost_reply_is_an_error(run: Run) -> None:
    def does(request: Any) -> Reply:
        run.clock.now += 1
        return Answer(None) if request == "undo" else Unknown("lost")

    transport = Transport(run.clock, does)
    with pytest.raises(EngineUnavailable, match="does not answer: lost") as caught:
        run(patient(), transport)
    assert not caught.value.definite
    assert transport.asked == ["ask", "undo"]
    assert run.clean


def test_a_server_that_was_never_reached_is_an_error_at_once(run: Run) -> None:
    def does(request: Any) -> Reply:
        raise Unreachable("nobody is there")

    transport = Transport(run.clock, does)
    with pytest.raises(Unreachable, match="nobody"):
        run(patient(), transport, patience=60)
    assert transport.asked == ["ask"], "nothing was sent, so there is nothing to undo"
    assert run.clean


def test_a_server_that_is_gone_for_a_while_is_asked_again(run: Run) -> None:
    transport = Transport(run.clock, answers("yes"))
    replies: list[Any] = [Unreachable("restarting"), Answer("yes")]

    def does(request: Any) -> Reply:
        reply = replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply  # type: ignore[no-any-return]

    transport.does, transport.contacted = does, True
    assert run(patient(), transport, patience=60) == "yes"


def test_what_was_sent_is_undone_when_the_server_stays_unreachable(run: Run) -> None:
    def enlisted() -> Recipe[str]:
        try:
            while True:
                yield Call("enlist")
        except Withdrawn:
            yield Call("undo")
            raise

    def does(request: Any) -> Reply:
        run.clock.now += 40
        if request == "enlist" and len(transport.asked) > 1:
            raise Unreachable("it is down")
        return Answer(None)

    transport = Transport(run.clock, does)
    with pytest.raises(Unreachable, match="down"):
        run(enlisted(), transport, patience=60)
    assert transport.asked[-2:] == ["enlist", "undo"]
    assert run.clean


def three_steps() -> Recipe[str]:
    """A call, a watch and a sleep, and a clean-up that says how far it came."""
    done = 0
    try:
        yield Call("first")
        done = 1
        yield Wait("x", 5)
        done = 2
        yield Wait(seconds=0.001)
        done = 3
        yield Call("last")
        return "done"
    except Withdrawn:
        yield Call(f"undo {done}")
        yield Call("undone")
        raise


@pytest.mark.parametrize("step", range(4))
def test_an_exception_at_any_step_is_cleaned_up_after(run: Run, step: int) -> None:
    """At each yield of a recipe, as Ctrl-C would: the recipe undoes what it did, and the exception goes on."""
    transport = Transport(run.clock, answers(None))
    reached = [-1]

    def strike(what: str) -> None:
        reached[0] += 1
        if reached[0] == step:
            raise KeyError(what)

    def does(request: Any) -> Reply:
        if not request.startswith("und"):
            strike(request)
        return Answer(None)

    transport.does = does
    with pytest.raises(KeyError):
        run(three_steps(), transport, on_wait=lambda: strike("a wait"))
    assert transport.asked[-2:] == [f"undo {step}", "undone"]
    assert run.clean
    assert all(stream.closed for stream in transport.streams)


def test_the_deadline_withdraws_and_cleans_up(run: Run) -> None:
    transport = Transport(run.clock, answers(None))
    with pytest.raises(Over):
        run(three_steps(), transport, deadline=103.0)
    assert transport.asked == ["first", "undo 2", "undone"]
    assert run.clock.now == 103.0, "it waited no longer than its deadline"


def test_a_second_exception_ends_the_clean_up_unfinished(run: Run) -> None:
    def does(request: Any) -> Reply:
        if request == "undo 0":
            raise KeyboardInterrupt
        raise LookupError(request)

    with pytest.raises(KeyboardInterrupt):
        run(three_steps(), Transport(run.clock, does))
    assert not run.clean, "the engine goes on with it in the background"


def test_a_clean_up_that_takes_too_long_goes_to_the_background(run: Run) -> None:
    def does(request: Any) -> Reply:
        run.clock.now += CLEAN_UP_SECONDS
        if request == "first":
            raise LookupError("the first reason")
        return Unknown()

    with pytest.raises(LookupError, match="first reason"):
        run(three_steps(), Transport(run.clock, does), patience=60)
    assert not run.clean


def test_an_exception_of_the_recipe_itself(run: Run) -> None:
    def recipe() -> Recipe[None]:
        yield Call("ask")
        raise SessionEnded("gone")

    with pytest.raises(SessionEnded, match="gone"):
        run(recipe(), Transport(run.clock, answers(None)))
    assert run.clean


def test_waits(run: Run) -> None:
    """Events, then none in time, on one stream; a stream that ends is told, and the next wait has a new one."""

    def recipe() -> Recipe[list[Any]]:
        first = yield Wait("x", 1.0)
        second = yield Wait("x", 1.0)
        third = yield Wait("x")
        return [first, second, third, (yield Wait("x", 1.0))]

    transport = Transport(run.clock, answers(None), (("event",),))
    found = run(recipe(), transport)
    assert found[:2] == [Changed(("event",)), Elapsed()]
    assert isinstance(found[2], Unwatched)
    assert found[3] == Elapsed()
    assert len(transport.streams) == 2
    assert all(stream.closed for stream in transport.streams)


def test_a_thread_is_woken_and_stopped_by_another() -> None:
    def recipe() -> Recipe[str]:
        yield Wait(seconds=30)
        yield Call("woken")
        yield Wait(seconds=30)
        return "never"

    clock = Clock()
    reached = threading.Event()
    transport = Transport(clock, answers(None))
    guard = ThreadGuard(on_wait=reached.set)
    results: list[BaseException] = []

    def work() -> None:
        try:
            ThreadPump(transport, clock).run(recipe(), guard)
        except Over as error:
            results.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    assert reached.wait(10)
    guard.wake()
    guard.stop("a test")
    thread.join(10)
    assert not thread.is_alive()
    assert str(results[0]) == "a test"


def test_a_wake_up_while_the_watch_is_opened_is_not_lost(run: Run) -> None:
    class Waking(Transport):
        def watch(self, watch: str, seconds: float) -> Stream:
            run.guard.wake()
            return super().watch(watch, seconds)

    def waits() -> Recipe[object]:
        return (yield Wait("key", 600))

    begun = run.clock.now
    assert run(waits(), Waking(run.clock, answers(None))) == Unwatched("woken")
    assert run.clock.now == begun


def test_a_task_is_told_of_the_end_of_a_proof_although_nothing_else_runs() -> None:
    """The task that renews may be waiting for a reply at that moment."""

    class User:
        def __init__(self) -> None:
            self.told: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def session_ended(self, why: str) -> None:
            self.told.set_result(why)

        def taken(self, why: str, token: int | None) -> None:
            raise AssertionError("nobody takes it")

    async def told() -> str:
        session, user = TaskSessionBase(1.0, now), User()
        session.use("x/", user)
        session.prove(now() + MARGIN + 0.05)
        return await asyncio.wait_for(user.told, 20)

    assert asyncio.run(told()) == NOT_RENEWED


def test_a_waiter_looks_again_when_its_session_ends() -> None:
    """Its place in the queue went with the session, and no event tells it so."""
    woken: list[str] = []
    waiter, session = ThreadClaim(Request("x"), lambda: woken.append("again")), Session(10, Clock())
    session.prove(1000)
    session.use("x/", waiter)
    session.end("its lease was revoked")
    assert woken == ["again"]
    assert waiter.lost is None, "what is not held cannot be lost"
