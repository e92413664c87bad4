"""etcd-lock-timed: the lock of `etcd_lock` in a model with time: a holder is told of its loss before the next grant.

One second of a recipe is a millisecond here. Messages take up to `delay_ms`. A lease ends `lease_seconds` after the
server made or renewed it. A client regards its lease as proved until `margin` seconds before that, counted from when it
sent the call. A holder is modelled as a leader: it leads from the grant until it leaves or is told of the loss. Without
terms, `uniqueness` says that two never lead at once, which is exclusion among the holders that heed the loss.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

from vez.core.assumptions import Assumption, Property
from vez.core.io import Io
from vez.core.process import Election, Parameter
from vez.locks.models.recipes.client import KEEPER, POSITIONS, TURN, UNDER_WAY, Lane
from vez.locks.models.recipes.positions import Maker
from vez.locks.models.recipes.server import Ask, Told, client_of
from vez.locks.models.recipes.turns import Turns
from vez.locks.recipes.base import Elapsed
from vez.locks.recipes.etcd.lock import Seat, acquire, leave
from vez.locks.recipes.etcd.operations import KeepAlive, LeaseGrant, Revoke

MOST_SESSIONS = 2


class EtcdLockTimed(Turns, Election):
    """The exclusive lock with bounds on time: a holder is told of the loss before anybody else gets in."""

    name = "recipe:etcd-lock-timed"
    assumes = (Assumption.HUB_STAYS, Assumption.KNOWN_BOUNDS)
    guarantees = (Property.UNIQUENESS, Property.NO_EXCEPTIONS)
    fault_parameters = ()
    abstraction = (
        "process 1 is the server; a leader is a holder that was not told of a loss; a second of a recipe is 1 ms; "
        "revisions are counted for each name and each session"
    )
    acquire_recipe: ClassVar[Maker] = acquire
    leave_recipe: ClassVar[Maker] = leave

    least: ClassVar[tuple[tuple[str, int], ...]] = (
        *Turns.least,
        ("lease_seconds", 1),
        ("margin", 0),
        ("delay_ms", 0),
        ("stay", 0),
    )
    numbers = 8  # more than are under way at once, unless the server is paused

    lease_seconds: Parameter[int] = 6
    margin: Parameter[int] = 1
    """Seconds before the end of the lease at which a holder regards it as lost."""
    delay_ms: Parameter[int] = 1
    stay: Parameter[int] = 2
    """Seconds after which a leader leaves; 0: never."""
    proof: int = 0
    """Number of the timer, of two, that marks the end of the proof. The other runs for a call without a reply yet."""
    proved: bool = False
    running: bool = False
    """True if the timer of the unanswered call still runs."""

    def objection(self, ids: tuple[int, ...]) -> str:
        if words := super().objection(ids):
            return words
        longer = self.margin > self.lease_seconds
        return f"margin is at most lease_seconds={self.lease_seconds}, found {self.margin}" if longer else ""

    def longest_delay_ms(self) -> float:
        return self.delay_ms

    def on_elect(self, io: Io) -> None:
        if io.me != io.hub:
            self._want(io)

    def on_timer_stay(self, io: Io) -> None:
        io.elected(None)
        self._leave(io)

    def on_suspect(self, peer: int, io: Io) -> None:
        """Does nothing: leases end by time in this model."""

    def _open(self, io: Io) -> None:
        """Open a session. A client whose sessions keep ending before a grant gives up, so that the states are
        finite."""
        if self.sessions < MOST_SESSIONS:
            super()._open(io)
        else:
            self.wanted = False
            self._rest(io)

    def _granted(self, seat: Seat, io: Io) -> None:
        if not self.proved:
            self._lose(io)
            return
        io.elected(io.me)
        if self.stay:
            io.set_timer("stay", self.stay)

    # the clock of the client

    def _timed(self) -> bool:
        return True

    def _seconds(self) -> int:
        return self.lease_seconds

    def _called(self, lane: int, request: Any, io: Io) -> None:
        io.set_timer(f"unanswered_{_LANES[lane]}", 2 * self.delay_ms + 1)
        if isinstance(request, LeaseGrant | KeepAlive):
            self.running = True
            io.set_timer(f"proof_{1 - self.proof}", self.lease_seconds - self.margin)

    def _prove(self, io: Io) -> None:
        """Make the deadline of the call that was just answered the end of the proof, unless it is over already."""
        if self.running:
            io.cancel_timer(f"proof_{self.proof}")
            self.proof, self.proved, self.running = 1 - self.proof, True, False

    def on_timer_proof_0(self, io: Io) -> None:
        self._deadline(0, io)

    def on_timer_proof_1(self, io: Io) -> None:
        self._deadline(1, io)

    def _deadline(self, which: int, io: Io) -> None:
        if which != self.proof:
            self.running = False
            return
        self.proved = False
        if self.doing == "hold":
            io.cancel_timer("stay")
            io.elected(None)
            self._lose(io)

    def _lose(self, io: Io) -> None:
        """Give up the session."""
        self._stop(KEEPER, io)
        self._begin("close", type(self).close_recipe, self.session, io=io)

    def _wait(self, lane: int, position: str, watch: Any, seconds: float | None, io: Io) -> object:
        if watch is not None:
            self._send(lane, position, watch, io)
        self._set_lane(lane, Lane(position, self.lanes[lane].given_up))
        if seconds is not None and seconds <= self.lease_seconds:  # a look after a longer time is not modelled
            io.set_timer(f"pause_{_LANES[lane]}", max(1, math.ceil(seconds)))
        return UNDER_WAY

    def on_told(self, message: Told, sender: int, io: Io) -> None:
        lane = self.lanes[message.lane]
        if lane.position and message.number == lane.given_up:
            io.cancel_timer(f"pause_{_LANES[message.lane]}")
        super().on_told(message, sender, io)

    def on_timer_pause_turn(self, io: Io) -> None:
        self._elapsed(TURN, io)

    def on_timer_pause_keeper(self, io: Io) -> None:
        self._elapsed(KEEPER, io)

    def _elapsed(self, lane: int, io: Io) -> None:
        self._go_on(lane, POSITIONS.send(self._abandoned(lane), Elapsed()), io)

    def _stop(self, lane: int, io: Io) -> None:
        io.cancel_timer(f"pause_{_LANES[lane]}")
        super()._stop(lane, io)

    # the clock of the server

    def on_ask(self, message: Ask, sender: int, io: Io) -> None:
        super().on_ask(message, sender, io)
        match message.request:
            case LeaseGrant(lease) | KeepAlive(lease) if self.store.lives(lease):
                io.set_timer(f"lease_{client_of(lease)}", self.lease_seconds)
            case Revoke(lease):
                io.cancel_timer(f"lease_{client_of(lease)}")

    def on_timer_lease_2(self, io: Io) -> None:
        self._expire(2, io)

    def on_timer_lease_3(self, io: Io) -> None:
        self._expire(3, io)

    def on_timer_lease_4(self, io: Io) -> None:
        self._expire(4, io)

    def _expire(self, client: int, io: Io) -> None:
        for lease, _ in self.store.leases:
            if client_of(lease) == client:
                self._become(self.store.without(lease), io)


_LANES = ("turn", "keeper")
