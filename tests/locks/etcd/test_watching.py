"""Watches of one key begin now, and earlier changes are read: no change is missed, on a real server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing

import pytest

from vez.locks.engines.etcd.address import parse
from vez.locks.engines.etcd.task_transport import EtcdAsyncTransport
from vez.locks.engines.etcd.thread_transport import EtcdTransport
from vez.locks.recipes import Answer, Call, Wait
from vez.locks.recipes.etcd.lock import LOOK_AGAIN, NOT_NEXT, acquire
from vez.locks.recipes.etcd.operations import Delete, Entry, Event, Found, Get, Put, Txn, TxnDone, Watch, Written
from vez.locks.recipes.etcd.session import Session

PATIENCE = 20.0


def write(transport: EtcdTransport, *operations: Put | Delete) -> int:
    """The revision of a change."""
    reply = transport.call(Txn((), operations), PATIENCE)
    assert isinstance(reply, Answer)
    done: TxnDone = reply.value
    return done.revision


def told(transport: EtcdTransport, watch: Watch, *then: Put | Delete) -> tuple[Event, ...] | None:
    """The first events of a watch. The changes `then` are made after the watch has reported no event for a moment."""
    stream = transport.watch(watch, PATIENCE)
    try:
        if then:
            assert stream.next(0.2) is None
            for one in then:
                write(transport, one)
        return stream.next(PATIENCE)
    finally:
        stream.close()


@pytest.fixture
def transport(url: str) -> Iterator[EtcdTransport]:
    with closing(EtcdTransport(parse(url))) as made:
        yield made


def test_a_key_that_went_before_the_watch_was_set(transport: EtcdTransport) -> None:
    seen = write(transport, Put("gone", "x"))
    write(transport, Delete("gone"))
    assert told(transport, Watch("gone", seen + 1)) is not None


def test_a_key_that_was_written_again_before_the_watch_was_set(transport: EtcdTransport) -> None:
    seen = write(transport, Put("again", "x"))
    write(transport, Delete("again"))
    written = write(transport, Put("again", "y"))
    (event,) = told(transport, Watch("again", seen + 1)) or ()
    assert event.entry is not None
    assert (event.revision, event.entry.value) == (written, "y")


def test_changes_of_other_keys_are_no_event(transport: EtcdTransport) -> None:
    seen = write(transport, Put("mine", "x"))
    write(transport, Put("other", "x"))
    (event,) = told(transport, Watch("mine", seen + 1), Put("other", "y"), Delete("mine")) or ()
    assert (event.key, event.entry) == ("mine", None)


def test_what_is_older_than_was_asked_for_is_not_told(transport: EtcdTransport) -> None:
    """As a member that lags behind would report it. Leases of other tests that end at this time make revisions too."""
    start = write(transport, Put("old", "x")) + 10
    with closing(transport.watch(Watch("old", start), PATIENCE)) as stream:
        assert stream.next(0.2) is None
        revisions = [write(transport, Put("old", "y")) for _ in range(12)]
        first = (stream.next(PATIENCE) or ())[0]
        assert first.revision == min(revision for revision in revisions if revision >= start)


def test_a_range_is_watched_from_its_revision(transport: EtcdTransport) -> None:
    seen = write(transport, Put("range/a", "x"))
    write(transport, Put("range/b", "y"))
    write(transport, Delete("range/b"))
    events = told(transport, Watch("range/", seen + 1, "range0")) or ()
    assert [(event.key, event.entry is None) for event in events] == [("range/b", False), ("range/b", True)]


def test_what_changed_before_may_be_told_late(transport: EtcdTransport) -> None:
    seen = write(transport, Put("late", "x"))
    write(transport, Delete("late"))
    stream = transport.watch(Watch("late", seen + 1, late=1.0), PATIENCE)
    with closing(stream):
        assert stream.next(0.3) is None
        (event,) = stream.next(PATIENCE) or ()
        assert (event.key, event.entry) == ("late", None)


def test_what_changes_later_is_told_at_once(transport: EtcdTransport) -> None:
    """The key is not read after that."""
    seen = write(transport, Put("soon", "x"))
    write(transport, Put("other", "x"))
    stream = transport.watch(Watch("soon", seen + 1, late=PATIENCE), PATIENCE)
    with closing(stream):
        assert stream.next(0.3) is None
        gone = write(transport, Delete("soon"))
        (event,) = stream.next(PATIENCE / 2) or ()
        assert (event.revision, event.entry) == (gone, None)
        assert stream.next(0.01) is None
        assert not stream._watching.must_look(float("inf"))


@pytest.mark.parametrize("late", [0.0, 0.2])
def test_for_tasks_too(url: str, transport: EtcdTransport, late: float) -> None:
    seen = write(transport, Put("task", "x"))
    write(transport, Delete("task"))

    async def first() -> tuple[Event, ...] | None:
        own = EtcdAsyncTransport(parse(url))
        stream = await own.watch(Watch("task", seen + 1, late=late), PATIENCE)
        try:
            return await stream.next(PATIENCE)
        finally:
            await stream.close()
            await own.close()

    assert asyncio.run(first()) is not None


@pytest.mark.parametrize(("others", "late"), [(1, 0.0), (2, NOT_NEXT), (3, NOT_NEXT)])
def test_only_who_stands_behind_a_waiter_may_hear_late(others: int, late: float) -> None:
    """Behind the holder, the key may go at any moment, and the watch often starts too late for that."""
    recipe = acquire(Session(9, 1), "x", "")
    call = next(recipe)
    assert isinstance(call, Call)
    (found,) = (one for one in call.request.then if isinstance(one, Get))
    queue = tuple(Entry(f"x/{number}", "", number, number) for number in range(others + 1, 0, -1))
    wait = recipe.send(Answer(TxnDone(True, (Written(), Found(queue[: found.limit])), others + 1)))
    assert wait == Wait(Watch(f"x/{others}", others + 2, late=late), LOOK_AGAIN)
