"""Elections: the instance of an election for one name."""

from __future__ import annotations

import time

from vez.core import trace as events
from vez.core.trace import AnyEvent
from vez.locks.peers.eligible import can_resign, has_terms, holds_one_election
from vez.locks.peers.instance import Instance, World, harmless
from vez.locks.peers.seat import Seat
from vez.worlds.node.durable import Forgetful
from vez.worlds.node.frames import Office, Standing

ASK_AGAIN_S = 1.0
"""Seconds after which an election that ended without a leader is repeated."""


class ElectionInstance(Instance):
    """An election. The participant leads in the algorithm, and one of its waiting candidates at a time holds the
    office.

    If the algorithm lets a process crash and recover at any time, a leader resigns by a crash and a recovery. With
    other algorithms, a member stays the leader of the algorithm after its program has released the office.
    """

    def __init__(self, name: str, world: World, durable: Forgetful) -> None:
        super().__init__(name, world, durable)
        self._asked = False  # True if an election was requested since the last leader
        self.offices: dict[int, tuple[str, float]] = {}
        """Members whose programs say that they hold the office: the label, and the time since when."""
        self._others: set[int] = set()  # members with waiting candidates, since the leader was elected
        self._rising = has_terms(self._kind)
        self._resigns = can_resign(self._kind)

    def tell(self, event: AnyEvent) -> None:
        if isinstance(event, events.Elected):
            self._loop.call_soon(self._elected)

    def stands(self, peer: int) -> None:
        """Called when another member reports a waiting candidate. Resign, if no request here holds or wants the
        office."""
        self._others.add(peer)
        if self.current is None and not self.queue and self.application.leader == self._me and self._resigns:
            self._resign()

    def ask(self, seat: Seat) -> None:
        super().ask(seat)
        self._say_standing()

    def advance(self) -> None:
        application = self.application
        if self.current is not None or not self.queue or not self._world.gathered:
            return
        if application.leader == self._me:
            term = application.term if self._rising else None
            if term is None or term > self.last_token:  # one candidate for each term
                self._grant(term, None)
        elif application.leader is None and not self._asked:
            self._asked = True
            self._run("on_elect")

    @property
    def is_taken(self) -> bool:
        """True if a request of this program holds the office, or another member leads."""
        return self.current is not None or self.application.leader not in (None, self._me)

    def linked(self, peer: int) -> None:
        """Called when the channel to a member is open."""
        if peer == self.application.leader:
            self._say_standing()
        if self.current is not None:
            self._world.say(peer, Office(self.name, self.current.request.label, True))

    def told(self, peer: int, office: Office) -> None:
        """Called when another member reports that its program holds the office, or no longer does."""
        if office.held:
            self.offices[peer] = harmless(office.label), time.time()
        else:
            self.offices.pop(peer, None)
        self._world.changed(self.name)

    def _grant(self, token: int | None, stay_ms: float | None) -> None:
        super()._grant(token, stay_ms)
        if self.current is not None:
            self._say_office(self.current.request.label, held=True)

    def _clear(self) -> None:
        super()._clear()
        self._say_office("", held=False)

    def _say_office(self, label: str, *, held: bool) -> None:
        for peer in self._world.settings.peers:
            self._world.say(peer, Office(self.name, label, held))
        self._world.changed(self.name)

    def _elected(self) -> None:
        """Called when the algorithm has named another leader, or none."""
        leader, term, seat = self.application.leader, self.application.term, self.current
        self._others.clear()
        if seat is not None and leader != self._me:
            seat.lose("nobody leads any more" if leader is None else f"member {leader} was named leader")
            self._clear()
        elif seat is not None and self._rising and term != seat.token:
            seat.lose(f"a new term has begun, {term}")
            self._clear()
        if leader is not None:
            self._asked = self._asked and holds_one_election(self._kind)
        elif not holds_one_election(self._kind):
            self._loop.call_later(ASK_AGAIN_S, self._ask_again)
        self.advance()
        self._say_standing()
        self._world.changed(self.name)  # the office of another member may count now

    def _ask_again(self) -> None:
        if self.application.leader is None and not self._is_over:
            self._asked = False
            self.advance()

    def _say_standing(self) -> None:
        leader = self.application.leader
        if self.queue and leader is not None and leader != self._me:
            self._world.say(leader, Standing(self.name))

    def _leave(self) -> None:
        self._clear()
        if self._resigns and (self._rising or self._others):
            self._resign()
        self.advance()

    def _resign(self) -> None:
        """Crash and recover. If other members have candidates, do not stand at once."""
        self._asked = bool(self._others)
        self._others.clear()
        self._restart()
        self._world.changed(self.name)
