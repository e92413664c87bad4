"""etcd-observe: the election of etcd, and a last process that does not stand but observes who leads.

With `--set breaks=true` it first takes the leadership from the leader by force, once and at any moment. A leader that
renews its session (`keeps`) hears of that, and of the end of its lease; it leaves and stands again. The server names
the leader too, so with one candidate `agreement` says that the observer finally shows the leader, and that a leader
whose key is gone was told. A candidate that waits names nobody, so with two candidates `agreement` is broken. The model
also judges:

    backwards  an observer shows a term that is not above all that it has shown
"""

from __future__ import annotations

from typing import Any, ClassVar

from vez.core.assumptions import Property
from vez.core.io import Io
from vez.core.process import Parameter
from vez.errors import ProtocolBug
from vez.locks.models.recipes.breaking import LOOKS, record, refuse_untold, words_of
from vez.locks.models.recipes.client import KEEPER, POSITIONS
from vez.locks.models.recipes.others import EtcdElection
from vez.locks.models.recipes.positions import Maker, Raised, Returned
from vez.locks.models.recipes.rules import holders
from vez.locks.models.recipes.server import client_of
from vez.locks.models.recipes.store import Store
from vez.locks.models.recipes.turns import NAME
from vez.locks.recipes.etcd.breaking import HEAR, Pace, break_by_force
from vez.locks.recipes.etcd.election import Mark, observe
from vez.locks.recipes.etcd.lock import Seat
from vez.locks.recipes.etcd.shown import Member


def _observe(name: str, last: Mark, first: bool) -> Any:
    return observe(name, last, first=first)


class EtcdObserve(EtcdElection):
    """The election, and a last process that observes: it finally shows the leader."""

    name = "recipe:etcd-observe"
    history = True
    guarantees = (*EtcdElection.guarantees, Property.AGREEMENT)
    observe_recipe: ClassVar[Maker] = _observe
    break_recipe: ClassVar[Maker] = break_by_force

    breaks: Parameter[bool] = False
    """True if the last process takes the leadership by force, once."""
    mark: Mark = None
    """The leader that was shown last."""
    shown: int = 0
    """The largest term that was shown."""

    words: tuple[int, ...] = ()
    """At the server: tokens of the turns whose holders were sent a word."""
    heard: int = 0
    """Token of the turn that was broken, as the renewal has learned."""

    def candidates(self, ids: tuple[int, ...]) -> tuple[int, ...]:
        """All clients except the last, or the only client if there is just one."""
        return ids[1:-1] or ids[1:]

    def on_start(self, io: Io) -> None:
        super().on_start(io)
        if self.breaks and _is_last(io):
            io.set_timer("break", 1)
        elif self._observes(io):
            self._look(io, first=True)

    def on_elect(self, io: Io) -> None:
        if not _is_last(io):
            super().on_elect(io)

    def on_timer_break(self, io: Io) -> None:
        pace = Pace(HEAR / LOOKS)
        self._begin("break", type(self).break_recipe, NAME, self.kind, NAME, io.me, record, "why", pace, io=io)

    def _may_remove(self, one: Member, before: Store, after: Store, sender: int) -> bool:
        if not self.breaks or one not in holders("election", before.queue()):
            return super()._may_remove(one, before, after, sender)
        refuse_untold(self.words, one, sender)
        return True

    def _become(self, after: Store, io: Io) -> None:
        """Name the leader, at the server."""
        before, self.words = self.store, words_of(self.words, after)
        super()._become(after, io)
        if (mark := _mark(after)) != _mark(before):
            io.elected(_leader(mark), 0 if mark is None else mark[1])

    # the observer

    def _observes(self, io: Io) -> bool:
        return _is_last(io)

    def _look(self, io: Io, *, first: bool = False) -> None:
        self._go_on(KEEPER, POSITIONS.begin(type(self).observe_recipe, NAME, self.mark, first), io)

    def _beside_over(self, outcome: Returned | Raised, io: Io) -> None:
        if not self._observes(io):
            super()._beside_over(outcome, io)
            if self.doing == "hold":
                self._stand_again(io)
            return
        if isinstance(outcome, Raised):
            raise outcome.error
        _, self.mark = outcome.value
        term = 0 if self.mark is None else self.mark[1]
        if term and term <= self.shown:
            raise ProtocolBug(f"backwards: process {io.me} shows the term {term} after the term {self.shown}")
        self.shown = max(self.shown, term)
        io.elected(_leader(self.mark), term)
        self._look(io)

    def _ends(self, lane: int, io: Io) -> tuple[str, ...]:
        """The ways in which a wait that watches may end. A renewal does not look when its wait has elapsed. If it
        elapsed at once each time, the client would never learn anything, and no server is that slow for ever."""
        ends = super()._ends(lane, io)
        return ends if lane != KEEPER or self._observes(io) else ("", "unwatched")

    # the turn

    def _granted(self, seat: Seat, io: Io) -> None:
        if self.ended or seat.token == self.heard:
            self._stand_again(io)
        else:
            super()._granted(seat, io)

    def _lose_turn(self, token: int, io: Io) -> None:
        """Handle a forced release, of which the leader may learn before it knows that it leads."""
        self.heard = token
        if self.doing == "hold" and self.seat is not None and self.seat.token == token:
            self._stand_again(io)

    def _stand_again(self, io: Io) -> None:
        """Leave and stand again, after a loss was told."""
        io.elected(None)
        self.wanted, self.heard = True, 0
        if self.ended:
            self.doing, self.seat = "", None
            self._ask(io)
        else:
            self._leave(io)

    def _over(self, result: Any, io: Io) -> None:
        if self.doing == "break":
            self.doing = ""
            self._look(io, first=True)
        else:
            super()._over(result, io)


def _is_last(io: Io) -> bool:
    return len(io.peers) > 1 and io.me == max(io.me, *io.peers)


def _mark(store: Store) -> Mark:
    leader = next(iter(holders("election", store.queue())), None)
    return None if leader is None else (leader.entry.key, leader.entry.create)


def _leader(mark: Mark) -> int | None:
    """The client that owns the key."""
    return None if mark is None else client_of(int(mark[0].rpartition("/")[2], 16))
