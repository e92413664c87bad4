"""etcd-transfer: the election of etcd, where each leader once hands over to another candidate, at any moment.

A transfer ends in one of three ways: with the term of the new leader; without effect, because no candidate has that
label; or because the leader's own key is gone. The client may also give up the transfer (`--set impatient=true`): then
it is unknown whether the transfer will take effect, and the leader resigns. The model judges the rules of elections
and:

    mistold    a client says that it handed over and did not, or that it did not and has, or will
"""

from __future__ import annotations

from typing import Any, ClassVar, cast

from vez.core.io import Io
from vez.core.message import Message
from vez.core.process import Durable, Parameter
from vez.errors import ProtocolBug
from vez.locks.models.recipes.others import EtcdElection
from vez.locks.models.recipes.positions import Maker, Raised
from vez.locks.models.recipes.rules import holders
from vez.locks.models.recipes.server import Ask, client_of
from vez.locks.models.recipes.store import Store
from vez.locks.models.recipes.turns import NAME
from vez.locks.recipes.base import Removed, Withdrawn
from vez.locks.recipes.etcd.election import NoCandidate, transfer
from vez.locks.recipes.etcd.lock import Seat
from vez.locks.recipes.etcd.shown import Shown, changed

NEVER = -1
"""Stands in the place of a term: the client said that it has not handed over, so the transfer must never take
effect."""


class Handed(Message):
    """Not part of etcd: the client tells the outcome of its transfer."""

    term: int
    """Term of the new leader; 0 if there was no such candidate."""


class EtcdTransfer(EtcdElection):
    """The election, where a leader hands over to another candidate."""

    name = "recipe:etcd-transfer"
    transfer_recipe: ClassVar[Maker] = transfer

    impatient: Parameter[bool] = False
    """True if a client may give up a transfer that is under way."""
    tried: Durable[bool] = False
    """True once this client has begun its transfer."""
    handed: tuple[tuple[int, int], ...] = ()
    """At the server: each client that has handed over, and the term of the new leader, or `NEVER`."""

    def on_timer_transfer(self, io: Io) -> None:
        self.tried = True
        to = io.choose([peer for peer in io.peers if peer != io.hub])
        if self.impatient:
            io.set_timer("patience", 1)
        self._begin("transfer", type(self).transfer_recipe, self.session, NAME, self.seat, str(to), io=io)

    def on_timer_patience(self, io: Io) -> None:
        if self.doing == "transfer":
            self._withdraw(io)

    def on_handed(self, message: Handed, sender: int, io: Io) -> None:
        done = dict(self.handed).get(sender, 0)
        if message.term != done:
            raise ProtocolBug(
                f"mistold: process {sender} says that it handed over to {message.term}, and that is {done}"
            )
        if not done:
            owners = {client_of(one.entry.lease) for one in self.store.queue()}
            if sender not in owners and any(client_of(lease) == sender for lease, _ in self.store.leases):
                raise ProtocolBug(f"mistold: process {sender} says that it leads on, and its key is gone")
            self.handed = (*self.handed, (sender, NEVER))

    def on_ask(self, message: Ask, sender: int, io: Io) -> None:
        before = self.store
        super().on_ask(message, sender, io)
        term = _chosen(before, self.store, sender)
        if term and sender in dict(self.handed):
            raise ProtocolBug(f"mistold: process {sender} hands over to {term} after it has said what came of it")
        self.handed = (*self.handed, (sender, term)) if term else self.handed

    def _request(self, io: Io) -> tuple[object, ...]:
        (mine,) = super()._request(io)
        return (changed(cast("Shown", mine), label=str(io.me)),)

    def _granted(self, seat: Seat, io: Io) -> None:
        super()._granted(seat, io)
        if not self.tried:
            io.set_timer("transfer", 1)

    def _over(self, result: Any, io: Io) -> None:
        if self.doing != "transfer":
            super()._over(result, io)
            return
        io.cancel_timer("patience")
        io.send(io.hub, Handed(result))
        io.elected(None)
        self.seat = None
        self._finish(io)

    def _failed(self, raised: Raised, io: Io) -> None:
        if self.doing != "transfer":
            super()._failed(raised, io)
            return
        io.cancel_timer("patience")
        if isinstance(raised.error, NoCandidate):
            io.send(io.hub, Handed(0))
            self.doing = "hold"
        elif isinstance(raised.error, Removed | Withdrawn):
            io.elected(None)
            self._leave(io)
        else:
            raise raised.error


def _chosen(before: Store, after: Store, sender: int) -> int:
    """The term of the leader that the sender has chosen; 0 if it has chosen none."""
    old = {one.entry.create for one in holders("election", before.queue())}
    new = [one.entry for one in holders("election", after.queue()) if one.entry.create not in old]
    return next((entry.create for entry in new if client_of(entry.lease) != sender), 0)
