"""The recipe as it is often written, with the problems that users of other clients report. `test_complaints.py` shows
each problem on this recipe first, and then on ours."""

from __future__ import annotations

import asyncio
import threading
from secrets import randbits

from vez.locks.engines.etcd.address import parse
from vez.locks.engines.etcd.task_transport import EtcdAsyncTransport
from vez.locks.engines.etcd.thread_transport import EtcdTransport
from vez.locks.recipes import Answer
from vez.locks.recipes.etcd.operations import Compare, Delete, Get, KeepAlive, LeaseGrant, Put, Revoke, Txn, prefix_end

SECONDS = 5.0


class NaiveLock:
    """A lock whose renewer never checks, and which believes an old answer."""

    def __init__(self, url: str, name: str, ttl: int = 60, lease: bool = True) -> None:
        self.transport = EtcdTransport(parse(url))
        self.lease = randbits(62) | 1
        self.key = f"{name}/{self.lease:x}"
        self.held = False
        self._prefix, self._ttl, self._with_lease = f"{name}/", ttl, lease
        self._stop = threading.Event()
        self.renewer = threading.Thread(target=self._renew, daemon=True)

    def enlist(self) -> int:
        """Take a place in the queue. Returns its revision."""
        self.transport.call(LeaseGrant(self.lease, self._ttl), SECONDS)
        put = Put(self.key, "", self.lease if self._with_lease else 0)
        reply = self.transport.call(Txn((Compare(self.key, "create", 0),), (put,)), SECONDS)
        assert isinstance(reply, Answer)
        self.place = int(reply.value.revision)
        return self.place

    def first(self) -> bool:
        """True if nobody is before us. It does not check its own key."""
        before = Get(self._prefix, prefix_end(self._prefix), "", 0, self.place)
        reply = self.transport.call(Txn((), (before,)), SECONDS)
        assert isinstance(reply, Answer)
        return not reply.value.replies[0].entries

    def acquire(self, renew: bool = True) -> None:
        """Take it; the caller knows that it is free."""
        self.enlist()
        self.held = self.first()
        if renew:
            self.renewer.start()

    def _renew(self) -> None:
        while not self._stop.wait(0.05):
            self.transport.call(KeepAlive(self.lease), SECONDS)

    def release(self) -> None:
        """Remove the key. The renewer is not stopped."""
        self.held = False
        self.transport.call(Txn((), (Delete(self.key),)), SECONDS)

    def close(self) -> None:
        """Clean up at the end of a test."""
        self._stop.set()
        if self.renewer.is_alive():
            self.renewer.join()
        self.transport.call(Txn((), (Delete(self.key),)), SECONDS)
        self.transport.call(Revoke(self.lease), SECONDS)
        self.transport.close()


class NaiveElection:
    """A leadership for tasks that is given up when its task is cancelled, whatever that task still does."""

    def __init__(self, url: str, name: str) -> None:
        self.transport = EtcdAsyncTransport(parse(url))
        self.lease = randbits(62) | 1
        self.key = f"{name}/{self.lease:x}"
        self.leads = asyncio.Event()

    async def lead(self, work: asyncio.Task[None]) -> None:
        """Lead while the task works; resign when asked to stop, and then stop the task."""
        await self.transport.call(LeaseGrant(self.lease, 60), SECONDS)
        await self.transport.call(Txn((), (Put(self.key, "naive", self.lease),)), SECONDS)
        self.leads.set()
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            await self.transport.call(Revoke(self.lease), SECONDS)
            work.cancel()
            await asyncio.wait([work])
            raise
        finally:
            await self.transport.close()
