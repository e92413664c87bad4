"""Instance: the algorithm for one name, and the local queue of the requests of this program.

Threads and tasks of one program queue here, first come, first served. The participant asks the group for one of them at
a time and leaves after each stay, so that a busy program does not keep the others out.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from typing import Protocol

from vez.core.message import Message
from vez.core.process import DURABLE, Process, marked
from vez.core.trace import AnyEvent
from vez.engines.base import Contestant
from vez.engines.machine import host_name
from vez.engines.wording import timed_out
from vez.errors import VezError
from vez.node.application import Application
from vez.node.durable import Forgetful
from vez.node.frames import Saying
from vez.node.link import Letter
from vez.node.pump import Outside, Pump
from vez.peers.seat import EXPIRED, Seat
from vez.peers.settings import Settings


class World(Protocol):
    """What an instance asks of the participant."""

    settings: Settings
    gathered: bool
    suspected: set[int]

    def send(self, to: int, letter: Letter) -> None:
        """Send a message. Raises `ReliableNotKept`."""

    def failed(self, error: VezError) -> None:
        """The algorithm cannot go on."""

    def say(self, to: int, what: Saying) -> None:
        """Say something to a member, if there is a connection."""

    def changed(self, name: str) -> None:
        """The leader of a name has changed."""

    def crowd(self) -> int:
        """How many instances there are."""


class Instance(Outside):
    """One name on one member. Everything happens on the loop of the participant."""

    def __init__(self, name: str, world: World, durable: Forgetful) -> None:
        settings = world.settings
        self.name = name
        self.queue: deque[Seat] = deque()
        """Requests of this program that wait."""
        self.current: Seat | None = None
        """The request whose stay it is."""
        self.last_token = 0
        """The newest token or term that was given to a request of this program; 0 if there was none."""
        self._world = world
        self._me, self._url = settings.me, settings.url
        self._kind = settings.kind
        self._durable = durable
        self._pace_ms = settings.pace_ms
        self._loop = asyncio.get_running_loop()
        self._expiry: asyncio.TimerHandle | None = None
        self._is_over = False
        self.application = Application(self._me, self._kind)
        self._process = settings.setup.process(self._me)
        for field, value in (durable.found or {}).items():
            setattr(self._process, field, value)
        durable.begin(self._process)
        self._pump = self._make_pump(self._process)

    def begin(self) -> None:
        """Begin: `on_start`, or `on_recover` if durable fields of an earlier life were found."""
        self._run("on_start" if self._durable.found is None else "on_recover")
        for peer in sorted(self._world.suspected):
            self.suspect(peer, dead=True)

    def deliver(self, sender: int, number: int, incarnation: str, message: Message) -> None:
        """A message arrived."""
        self._pump.deliver(sender, number, incarnation, message)

    def suspect(self, peer: int, *, dead: bool) -> None:
        """The failure detector changed its mind about a member."""
        handler = "on_suspect" if dead else "on_trust"
        if hasattr(self._kind, handler):
            self._run(handler, peer)

    def ask(self, seat: Seat) -> None:
        """A request of this program."""
        if seat.state != "new":  # withdrawn before it began
            return
        if not seat.patient and (self.queue or self.is_taken):
            seat.fail(timed_out(seat.request, 0, self.holder(), self._url))
            return
        seat.state = "queued"
        self.queue.append(seat)
        self.advance()

    @property
    def is_taken(self) -> bool:
        """True if somebody is known to be inside."""
        return self.current is not None

    def drop(self, seat: Seat) -> None:
        """A request is withdrawn, or a stay is over. Calling it twice is harmless."""
        before, seat.state = seat.state, "over"
        if before == "queued":
            self.queue.remove(seat)
            self.advance()
        elif seat is self.current:
            self._leave()

    def advance(self) -> None:
        """Do what is next for the queue. Called whenever something has changed."""
        raise NotImplementedError  # pragma: no cover - both kinds say

    def fail(self, error: VezError) -> None:
        """End every wait with an error, and every stay with a loss."""
        self._stop()
        while self.queue:
            self.queue.popleft().fail(error)
        if self.current is not None:
            self.current.lose(error.message)
            self._clear()

    def stop(self) -> None:
        """No more steps."""
        self._stop()
        self._durable.close()

    def holder(self) -> Contestant | None:
        """The request of this program that holds the name."""
        return None if self.current is None else shown(self.current)

    # What the pump asks for.

    def send(self, to: int, letter: Letter) -> None:
        if self._pace_ms and self.application.state == "outside":
            after_s = self._pace_ms * max(1.0, self._world.crowd() / 10) / 1000
            self._loop.call_later(after_s, self._send_later, to, letter)
        else:
            self._world.send(to, letter)

    def entered(self) -> None:
        self._loop.call_soon(self.advance)  # not now: the pump is in the middle of a step

    def tell(self, event: AnyEvent) -> None:
        pass

    def failed(self, error: VezError) -> None:
        self._world.failed(error)

    # Inside.

    def _grant(self, token: int | None, stay_ms: float | None) -> None:
        """Give the turn to the first of the queue."""
        seat = self.queue.popleft()
        self.current = seat
        expires = None
        if stay_ms is not None:
            stay_s = stay_ms * self._world.settings.time_scale / 1000
            expires = time.monotonic() + stay_s
            self._expiry = self._loop.call_later(stay_s, self._expired, seat)
        self.last_token = self.last_token if token is None else token
        seat.grant(token, expires)

    def _expired(self, seat: Seat) -> None:
        if seat is self.current:
            seat.lose(EXPIRED)
            self._leave()

    def _leave(self) -> None:
        """The current stay is over."""
        raise NotImplementedError  # pragma: no cover - both kinds say

    def _clear(self) -> None:
        """There is no current stay."""
        self.current = None
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None

    def _run(self, handler: str, *arguments: object) -> None:
        self._pump.step(None, getattr(self._kind, handler), *arguments)

    def _stop(self) -> None:
        self._is_over = True
        self._pump.stop()
        if self._expiry is not None:
            self._expiry.cancel()

    def _make_pump(self, process: Process) -> Pump:
        settings = self._world.settings
        return Pump(
            process,
            settings.setup.topology,
            self._me,
            self,
            application=self.application,
            durable=self._durable,
            journal=None,
            time_scale=settings.time_scale,
            name=self.name,
        )

    def _restart(self) -> None:
        """Crash and come back with the durable fields, as the algorithm tolerates it."""
        self._pump.stop()
        process = self._world.settings.setup.process(self._me)
        for field in marked(self._kind, DURABLE):
            setattr(process, field, getattr(self._pump.process, field))
        self.application = Application(self._me, self._kind)
        self._pump = self._make_pump(process)
        self._run("on_recover")

    def _send_later(self, to: int, letter: Letter) -> None:
        try:
            self._world.send(to, letter)
        except VezError as error:
            self._world.failed(error)


def harmless(text: str) -> str:
    """A text of another member as it may be printed on a terminal."""
    return "".join(one if one.isprintable() else "?" for one in text)


def shown(seat: Seat) -> Contestant:
    """A request of this program, as `inspect` shows it."""
    return Contestant(seat.token, os.getpid(), host_name(), seat.since, label=seat.request.label)
