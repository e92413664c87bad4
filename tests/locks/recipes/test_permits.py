"""A waiter of a semaphore that took the request before it for a waiter is woken when that request is granted."""

from __future__ import annotations

from typing import Any

from vez.locks.models.recipes.store import Store
from vez.locks.recipes.base import Call, Wait
from vez.locks.recipes.etcd.operations import Delete, LeaseGrant, Put, Txn, Watch
from vez.locks.recipes.etcd.semaphore import acquire_permit
from vez.locks.recipes.etcd.session import Session, session_key
from vez.locks.recipes.etcd.shown import Shown, encode

TWO = Shown(1, "semaphore", limit=2)


class Client:
    """A client that asks for a permit, one step at a time."""

    def __init__(self, store: Store, lease: int) -> None:
        store = store.execute(LeaseGrant(lease, 9))[0]
        self.ready = store.execute(Txn((), (Put(session_key(lease), "", lease),)))[0]
        self.recipe = acquire_permit(Session(lease, self.ready.revision("")), "x", TWO)
        self.step: Any = next(self.recipe)
        self.granted = False

    def ask(self, store: Store) -> Store:
        """Let the server execute the present call."""
        assert isinstance(self.step, Call)
        store, reply = store.execute(self.step.request)
        try:
            self.step = self.recipe.send(reply)
        except StopIteration as end:
            self.granted = end.value is not None
        return store


def test_a_client_that_is_granted_at_its_first_look_wakes_who_took_it_for_a_waiter() -> None:
    """Two hold. The first client has written its key, and the second looks: both have to wait. A holder leaves before
    the first client looks, which is then granted. The second must look again: the other holder may leave at any
    moment, and the key that it watches stays for as long as the first client holds."""
    store = Store(exact=True, history=True)
    for key in ("x/1", "x/2"):
        store = store.execute(Txn((), (Put(key, encode(TWO)),)))[0]
    first = Client(store, 0x20)
    store = first.ask(first.ready)
    second = Client(store, 0x30)
    store = second.ask(second.ask(second.ready))
    assert isinstance(second.step, Wait)
    watch = second.step.watch
    assert isinstance(watch, Watch)
    store = store.execute(Txn((), (Delete("x/1"),)))[0]
    while not first.granted:
        store = first.ask(store)
    store = store.execute(Txn((), (Delete("x/2"),)))[0]
    assert store.events(watch), "the second client waits, and a permit is free"
