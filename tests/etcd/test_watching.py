"""Watches of one key begin now, and what happened before is read: nothing falls between, on a real server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing

import pytest

from vez.engines.etcd.address import parse
from vez.engines.etcd.async_transport import EtcdAsyncTransport
from vez.engines.etcd.transport import EtcdTransport
from vez.recipes import Answer
from vez.recipes.etcd.operations import Delete, Event, Put, Txn, TxnDone, Watch

PATIENCE = 20.0


def write(transport: EtcdTransport, *operations: Put | Delete) -> int:
    """The revision of a change."""
    reply = transport.call(Txn((), operations), PATIENCE)
    assert isinstance(reply, Answer)
    done: TxnDone = reply.value
    return done.revision


def told(transport: EtcdTransport, watch: Watch, *then: Put | Delete) -> tuple[Event, ...] | None:
    """The first events of a watch; with changes that are made when it has said for a moment that nothing happened."""
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
    """As a member that is behind would tell it."""
    seen = write(transport, Put("old", "x"))
    (event,) = told(transport, Watch("old", seen + 2), Put("old", "y"), Put("old", "z")) or ()
    assert event.entry is not None
    assert event.entry.value == "z"


def test_a_range_is_watched_from_its_revision(transport: EtcdTransport) -> None:
    seen = write(transport, Put("range/a", "x"))
    write(transport, Put("range/b", "y"))
    write(transport, Delete("range/b"))
    events = told(transport, Watch("range/", seen + 1, "range0")) or ()
    assert [(event.key, event.entry is None) for event in events] == [("range/b", False), ("range/b", True)]


def test_for_tasks_too(url: str, transport: EtcdTransport) -> None:
    seen = write(transport, Put("task", "x"))
    write(transport, Delete("task"))

    async def first() -> tuple[Event, ...] | None:
        own = EtcdAsyncTransport(parse(url))
        stream = await own.watch(Watch("task", seen + 1), PATIENCE)
        try:
            return await stream.next(PATIENCE)
        finally:
            await stream.close()
            await own.close()

    assert asyncio.run(first()) is not None
