"""A client of the model: a process that runs two recipes, one for its turn and one that renews its session.

Calls and waits go to the server as messages. The checker chooses their faults:

- A reply is lost, or comes too late. `doubts` times a client is told `Unknown`: either at once, and the request never
  arrives, or while the request is under way, which is then executed later and its reply discarded.
- A wait that watches may end at any time without an event (`Elapsed`, `Unwatched`). It is enough that this happens at
  once, because the look that follows can be delayed arbitrarily.
- A wait that only lets time pass is over at once, because this model has no time.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from vez.core.io import Io
from vez.core.process import Durable, Parameter
from vez.errors import ProtocolBug
from vez.locks.models.recipes.positions import WITHDRAWAL, Maker, Outcome, Paused, Positions, Raised, Returned
from vez.locks.models.recipes.server import SESSIONS_OF_A_CLIENT, Ask, Left, Reborn, Server, Told
from vez.locks.recipes.base import Answer, Call, Elapsed, Lost, Proved, Unknown, Unwatched, Wait
from vez.locks.recipes.etcd.operations import LeaseFor
from vez.locks.recipes.etcd.session import Session, close_session, keep, open_session

TURN, KEEPER = 0, 1
SECONDS = 10
REPLIES_OF_A_LIFE = 1000
"""Upper bound of the requests that a client gives up between two crashes."""
POSITIONS = Positions()


class Lane(msgspec.Struct, frozen=True):
    """A running recipe, or an empty lane."""

    position: str = ""
    given_up: int = 0
    """Number of requests that were given up; replies to them are discarded."""


class Client(Server):
    """The part of a process that only clients use. The subclass defines what a turn is."""

    fault_parameters: ClassVar[tuple[str, ...]] = ("doubts", "expiries")
    open_recipe: ClassVar[Maker] = open_session
    keep_recipe: ClassVar[Maker] = keep
    close_recipe: ClassVar[Maker] = close_session

    least: ClassVar[tuple[tuple[str, int], ...]] = (("doubts", 0), ("expiries", 0))
    """Smallest legal values of parameters."""

    doubts: Parameter[int] = 0
    """Number of calls of each client that get no reply."""
    keeps: Parameter[bool] = False
    """True if the session is renewed while it lasts."""
    pooled: Parameter[bool] = True
    """True if the session is kept after a turn; otherwise it is closed."""
    sessions: Durable[int] = 0
    """Number of sessions that this client has opened; the leases are numbered by it."""
    lanes: tuple[Lane, Lane] = (Lane(), Lane())
    doing: str = ""
    """The purpose of the recipe that runs for the turn."""
    session: Session | None = None
    ended: bool = False
    """True if the renewal has found that the session is over."""
    wanted: bool = False
    """True if the application waits for a turn."""
    doubted: int = 0
    turn: Durable[int] = 0
    """Number of this turn, or of the latest one."""
    lives: Durable[int] = 0
    """Number of times that the client came back after a crash; replies to requests from before are discarded."""
    first: int = 0
    """During `on_told`: the create revision of the own key, if the server says that it was first; else 0."""
    refuted: bool = False
    """During `on_told`: True if the server says that the lease is gone."""

    def objection(self, ids: tuple[int, ...]) -> str:
        small = ((name, least) for name, least in self.least if getattr(self, name) < least)
        return "; ".join(f"{name} is {least} or more, found {getattr(self, name)}" for name, least in small)

    def on_recover(self, io: Io) -> None:
        self.lives += 1
        blank = Lane("", self.lives * REPLIES_OF_A_LIFE)
        self.lanes = (blank, blank)
        io.send(io.hub, Reborn(self._lease(io)))

    def on_told(self, message: Told, sender: int, io: Io) -> None:
        lane = self.lanes[message.lane]
        if lane.position and message.number == lane.given_up:
            self.first, self.refuted = message.first, message.reply == Answer(LeaseFor(0))
            io.cancel_timer(_unanswered(message.lane))
            self._go_on(message.lane, POSITIONS.send(lane.position, message.reply), io)
            self.first, self.refuted = 0, False

    def on_timer_unanswered_turn(self, io: Io) -> None:
        self._give_up(TURN, io)

    def on_timer_unanswered_keeper(self, io: Io) -> None:
        self._give_up(KEEPER, io)

    def _give_up(self, lane: int, io: Io) -> None:
        self.doubted += 1
        position = self._abandoned(lane)
        self._go_on(lane, POSITIONS.send(position, Unknown()), io)

    def _abandoned(self, lane: int) -> str:
        """Discard replies to requests that are under way. Returns the position of the recipe."""
        position, given_up = self.lanes[lane].position, self.lanes[lane].given_up
        self._set_lane(lane, Lane("", (given_up + 1) % self.numbers))
        return position

    def _withdraw(self, io: Io) -> None:
        io.cancel_timer(_unanswered(TURN))
        self._go_on(TURN, POSITIONS.send(self._abandoned(TURN), WITHDRAWAL), io)

    def _stop(self, lane: int, io: Io) -> None:
        io.cancel_timer(_unanswered(lane))
        if self.lanes[lane].position:
            self._abandoned(lane)

    def _begin(self, doing: str, recipe: Maker, *arguments: object, io: Io) -> None:
        """Start a recipe of the turn."""
        self.doing = doing
        self._go_on(TURN, POSITIONS.begin(recipe, *arguments), io)

    def _go_on(self, lane: int, outcome: Outcome, io: Io) -> None:
        """Do what a recipe asks for, until it waits for the server or is over."""
        while isinstance(outcome, Paused):
            reply = self._do(lane, outcome, io)
            if reply is UNDER_WAY:
                return
            outcome = POSITIONS.send(outcome.position, reply)
        self._set_lane(lane, Lane("", self.lanes[lane].given_up))
        if lane == KEEPER:
            self._beside_over(outcome, io)
        elif isinstance(outcome, Returned):
            self._over(outcome.value, io)
        else:
            self._failed(outcome, io)

    def _do(self, lane: int, paused: Paused, io: Io) -> object:
        """The reply to a step, if there is one at once."""
        match paused.step:
            case Proved():
                if self.refuted:
                    raise ProtocolBug(
                        f"unproved: process {io.me} is told that its lease is gone, and takes it for proved"
                    )
                self._prove(io)
                return None
            case Lost(_, _, token):
                self._lose_turn(token or 0, io)
                return None
            case Wait(watch, seconds) if self._timed():
                return self._wait(lane, paused.position, watch, seconds, io)
            case Wait(None):
                return Elapsed()
            case Wait(watch):
                ends = io.choose(self._ends(lane, io))
                if ends:
                    return Elapsed() if ends == "elapsed" else Unwatched()
                any_time = msgspec.structs.replace(watch, late=0.0)  # without time, every event may be that late
                self._send(lane, paused.position, any_time, io)
            case Call(request):
                self._called(lane, request, io)
                if self.doubted < self.doubts:
                    if io.choose(("", "lost")):
                        self.doubted += 1
                        return Unknown()
                    io.set_timer(_unanswered(lane), 1)
                self._send(lane, paused.position, request, io)
        return UNDER_WAY

    def _ends(self, lane: int, io: Io) -> tuple[str, ...]:
        """The ways in which a wait that watches may end: with an event or never (the empty text), or at once."""
        return ("", "elapsed", "unwatched")

    def _observes(self, io: Io) -> bool:
        """True if the second recipe is that of an observer; see `observing`."""
        return False

    def _beside_over(self, outcome: Returned | Raised, io: Io) -> None:
        """Handle the end of the second recipe."""
        self.ended = True

    def _lose_turn(self, token: int, io: Io) -> None:
        """Handle a forced release of the turn with this token, of which the renewal has learned."""

    def _timed(self) -> bool:
        """True if the model has time; see `timed`."""
        return False

    def _seconds(self) -> int:
        """Seconds that a lease lasts."""
        return SECONDS

    def _called(self, lane: int, request: Any, io: Io) -> None:
        """Called before each call of a recipe."""

    def _prove(self, io: Io) -> None:
        """Handle `Proved`: the last answered call proved the ownership."""

    def _wait(self, lane: int, position: str, watch: Any, seconds: float | None, io: Io) -> object:
        """In models with time: wait for the time and for events."""
        raise NotImplementedError

    def _send(self, lane: int, position: str, request: Any, io: Io) -> None:
        if lane == KEEPER and self.session is None and not self._observes(io):
            raise ProtocolBug(f"outlived: process {io.me} renews a session that it has closed")
        given_up = self.lanes[lane].given_up
        self._set_lane(lane, Lane(position, given_up))
        io.send(io.hub, Ask(request, lane, given_up, self.turn))

    def _set_lane(self, lane: int, value: Lane) -> None:
        turn, keeper = self.lanes
        self.lanes = (value, keeper) if lane == TURN else (turn, value)

    def _check_first(self, token: int, io: Io) -> None:
        """Refuse an entry unless our key was the first when the server executed the request just answered."""
        if token != self.first:
            raise ProtocolBug(f"guess: process {io.me} enters with token {token}, and its key is not the first")

    def _open(self, io: Io) -> None:
        lease = self._lease(io)
        self.sessions += 1
        self._begin("open", type(self).open_recipe, lease, self._seconds(), "", io=io)

    def _lease(self, io: Io) -> int:
        """The number of the next lease."""
        return io.me * SESSIONS_OF_A_CLIENT + self.sessions

    def _opened(self, session: Session, io: Io) -> None:
        self.session, self.ended = session, False
        if self.keeps:
            self._go_on(KEEPER, POSITIONS.begin(type(self).keep_recipe, session, self._seconds()), io)

    def _forget(self, io: Io) -> None:
        """Handle the end of the session."""
        self.session = None
        self._stop(KEEPER, io)

    def _rest(self, io: Io) -> None:
        """Handle the end of the turn."""
        self.doing = ""
        io.send(io.hub, self._farewell())

    def _farewell(self) -> Left:
        """The message that tells the server of the end of a turn."""
        return Left(self.turn)

    def _over(self, result: Any, io: Io) -> None:
        """Handle the result of the turn's recipe."""
        raise NotImplementedError

    def _failed(self, raised: Raised, io: Io) -> None:
        """Handle an exception of the turn's recipe."""
        raise NotImplementedError


class _UnderWay:
    """Stands for a reply that comes later."""


UNDER_WAY = _UnderWay()


def _unanswered(lane: int) -> str:
    return "unanswered_turn" if lane == TURN else "unanswered_keeper"
