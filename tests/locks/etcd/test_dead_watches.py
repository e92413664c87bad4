"""Watches that are dead without a sign, members that hang, and replies that are cut off: on a real server."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import pytest

import vez
from tests.locks.etcd.faulty import connect
from vez import aio
from vez.locks.engines.etcd.address import parse
from vez.locks.engines.etcd.task_transport import EtcdAsyncTransport
from vez.locks.engines.etcd.thread_transport import EtcdStream, EtcdTransport
from vez.locks.engines.network.transport import WatchEnded
from vez.locks.engines.network.wires import Silence
from vez.locks.recipes import Answer, Reply
from vez.locks.recipes.etcd.operations import Delete, Put, Request, Txn, Watch
from vez.testing.servers import EtcdServer

PATIENCE = 20.0


class DeafTransport(EtcdTransport):
    """Its calls work. Once it is deaf, no event of a watch arrives."""

    def __init__(self, url: str) -> None:
        super().__init__(parse(url))
        self.deaf = threading.Event()

    def watch(self, watch: Watch, seconds: float) -> EtcdStream:
        stream = super().watch(watch, seconds)
        real = stream._connection.receive

        def receive(left: float) -> bool:
            if not self.deaf.is_set():
                return real(min(left, 0.05))
            time.sleep(0.05)  # as a read that runs into its timeout
            raise Silence("deaf")

        stream._connection.receive = receive  # type: ignore[method-assign,assignment]
        return stream


def test_a_holder_whose_watch_is_dead_hears_that_its_turn_was_broken(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its renewals continue, so nothing else would report the forced release."""
    monkeypatch.setattr("vez.locks.engines.etcd.watching.SILENT", 0.5)
    monkeypatch.setattr("vez.locks.engines.etcd.watching.CALL_SECONDS", 0.5)
    transport = DeafTransport(url)
    with connect(url, transport) as one, vez.connect(url) as two:
        grant = one.lock("x").acquire()
        transport.deaf.set()
        assert two.break_lock("x", "a test") is not None
        assert grant.wait_lost(PATIENCE)
        with pytest.raises(vez.OwnershipLost, match="force"):
            grant.release()


def test_a_watch_that_was_silent_is_opened_anew_and_misses_nothing(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vez.locks.engines.etcd.watching.SILENT", 0.2)
    with closing(EtcdTransport(parse(url))) as transport:
        reply = transport.call(Txn((), (Put("silent/a", "x"),)), PATIENCE)
        assert isinstance(reply, Answer)
        asked = Watch("silent/", reply.value.revision + 1, "silent0")
        with closing(transport.watch(asked, PATIENCE)) as old:
            assert old.next(0.3) is None
            assert not old.serves(asked)
            transport.call(Txn((), (Delete("silent/a"),)), PATIENCE)
        with closing(transport.watch(asked, PATIENCE)) as new:
            (event,) = new.next(PATIENCE) or ()
            assert (event.key, event.entry) == ("silent/a", None)


def test_watches_on_a_member_that_hangs_are_given_up(url: str) -> None:
    with closing(EtcdTransport(parse(url))) as transport, ThreadPoolExecutor(1) as pool:
        stream = transport.watch(Watch("hung", 0), PATIENCE)
        waiting = pool.submit(stream.next, PATIENCE)
        transport._router.failed(stream.endpoint, 0.01)  # too short to tell
        time.sleep(0.2)  # nothing happens
        assert not waiting.done()
        transport._router.failed(stream.endpoint)
        with pytest.raises(WatchEnded):
            waiting.result(PATIENCE / 2)
        stream.close()
        assert not transport.streams


def test_watches_of_tasks_too(url: str) -> None:
    async def run() -> None:
        transport = EtcdAsyncTransport(parse(url))
        stream = await transport.watch(Watch("hung", 0), PATIENCE)
        waiting = asyncio.create_task(stream.next(PATIENCE))
        await asyncio.sleep(0)  # it waits
        transport._router.failed(stream.endpoint)
        with pytest.raises(WatchEnded):
            await asyncio.wait_for(waiting, PATIENCE / 2)
        await stream.close()
        await transport.close()

    asyncio.run(run())


def test_a_read_for_a_watch_takes_no_longer_than_the_wait(url: str) -> None:
    class Recording(EtcdTransport):
        def call(self, request: Request, seconds: float) -> Reply:
            given.append(seconds)
            return super().call(request, seconds)

    given: list[float] = []
    with closing(Recording(parse(url))) as transport:
        reply = transport.call(Txn((), (Put("read", "x"),)), PATIENCE)
        assert isinstance(reply, Answer)
        transport.call(Txn((), (Put("other", "x"),)), PATIENCE)
        with closing(transport.watch(Watch("read", reply.value.revision + 1), PATIENCE)) as stream:
            given.clear()
            assert stream.next(0.5) is None
        assert len(given) == 1
        assert 0.3 < given[0] <= 0.5


@contextmanager
def closing_the_first(target: int) -> Iterator[int]:
    """A port that closes its first connection when a request has come, and passes on all others."""
    listener = socket.create_server(("127.0.0.1", 0))

    def move(one: socket.socket, other: socket.socket) -> None:
        try:
            while data := one.recv(1 << 16):
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def serve() -> None:
        first = True
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            if first:
                near.recv(1 << 16)
                near.close()
                first = False
                continue
            far = socket.create_connection(("127.0.0.1", target))
            for pair in ((near, far), (far, near)):
                threading.Thread(target=move, args=pair, daemon=True).start()
            ends.extend((near, far))

    ends: list[socket.socket] = []
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(PATIENCE)
        for end in ends:
            end.close()


def holders(etcd: EtcdServer, name: str) -> list[int | None]:
    with vez.connect(etcd.url) as viewer:
        return [holder.token for holder in viewer.inspect(name).holders]


def test_a_first_connection_that_is_closed_is_no_stranger(etcd: EtcdServer) -> None:
    with (
        closing_the_first(etcd.port) as port,
        vez.connect(f"etcd://127.0.0.1:{port}") as client,
        client.lock("cut", timeout=PATIENCE) as grant,
    ):
        assert holders(etcd, "cut") == [grant.token]


def test_a_first_connection_of_tasks_that_is_closed_is_no_stranger(etcd: EtcdServer) -> None:
    async def run(port: int) -> None:
        async with aio.connect(f"etcd://127.0.0.1:{port}") as client, client.lock("cut", timeout=PATIENCE) as grant:
            assert holders(etcd, "cut") == [grant.token]

    with closing_the_first(etcd.port) as port:
        asyncio.run(run(port))


WATCHED = """
import os, sys, threading, time
import vez
from vez.locks.engines.etcd import thread_transport as transport

parent, ends = os.getpid(), []
real = transport.EtcdStream.next

def told(self, seconds):
    try:
        return real(self, seconds)
    except Exception as error:
        if os.getpid() == parent:
            ends.append(repr(error))
        raise

transport.EtcdStream.next = told
client = vez.connect(sys.argv[1])
held = client.lock("held").acquire()
seen = client.election("boss").observe()
next(seen)
threading.Thread(target=lambda: list(seen), daemon=True).start()
time.sleep(1)
child = os.fork()
if child == 0:
    with client.lock("other"):
        pass
    for endpoint in client.engine._transport._router.endpoints():
        client.engine._transport._router.failed(endpoint)
    client.close()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
time.sleep(0.5)
print(ends, held.lost, flush=True)
os._exit(0)
"""


def test_a_forked_child_does_not_end_the_watches_of_its_parent(url: str) -> None:
    done = subprocess.run([sys.executable, "-c", WATCHED, url], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.strip() == "[] False", done.stderr
