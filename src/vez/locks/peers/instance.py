"""Instance: the algorithm for one name, and the local queue of the requests of this program.

Threads and tasks of one program queue here, first come, first served. The participant asks the group for one of them at
a time and leaves after each stay, so that a busy program does not keep other members out.
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
from vez.errors import VezError
from vez.locks.engines.base import Contestant
from vez.locks.engines.machine import host_name
from vez.locks.engines.wording import timed_out
from vez.locks.peers.seat import EXPIRED, Seat
from vez.locks.peers.settings import Settings
from vez.worlds.node.application import Application
from vez.worlds.node.durable import Forgetful
from vez.worlds.node.frames import Saying
from vez.worlds.node.link import Letter
from vez.worlds.node.pump import Outside, Pump


class World(Protocol):
    """The methods of the participant that an instance uses."""

    settings: Settings
    gathered: bool
    suspected: set[int]

    def send(self, to: int, letter: Letter) -> None:
        """Send a message. Raises `ReliableNotKept`."""

    def failed(self, error: VezError) -> None:
        """Called when the algorithm cannot continue."""

    def say(self, to: int, what: Saying) -> None:
        """Send a notice to a member, if there is a connection."""

    def changed(self, name: str) -> None:
        """Called when the leader of a name has changed."""

    def crowd(self) -> int:
        """Number of instances of this member."""


class Instance(Outside):
    """One name on one member. All methods run on the loop of the participant."""

    def __init__(self, name: str, world: World, durable: Forgetful) -> None:
        settings = world.settings
        self.name = name
        self.queue: deque[Seat] = deque()
        """Waiting requests of this program."""
        self.current: Seat | None = None
        """The request that holds the name, or None."""
        self.last_token = 0
        """The newest token or term of a request of this program; 0 before the first."""
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
        """Start the algorithm: `on_start`, or `on_recover` if durable fields of an earlier run were found."""
        self._run("on_start" if self._durable.found is None else "on_recover")
        for peer in sorted(self._world.suspected):
            self.suspect(peer, dead=True)

    def deliver(self, sender: int, number: int, incarnation: str, message: Message) -> None:
        """Deliver a message to the algorithm."""
        self._pump.deliver(sender, number, incarnation, message)

    def suspect(self, peer: int, *, dead: bool) -> None:
        """Tell the algorithm that the failure detector now suspects a member, or trusts it again."""
        handler = "on_suspect" if dead else "on_trust"
        if hasattr(self._kind, handler):
            self._run(handler, peer)

    def ask(self, seat: Seat) -> None:
        """Add a request of this program to the queue."""
        if seat.state != "new":  # withdrawn before it was queued
            return
        if not seat.patient and (self.queue or self.is_taken):
            seat.fail(timed_out(seat.request, 0, self.holder(), self._url))
            return
        seat.state = "queued"
        self.queue.append(seat)
        self.advance()

    @property
    def is_taken(self) -> bool:
        """True if a request or another member is known to hold the name."""
        return self.current is not None

    def drop(self, seat: Seat) -> None:
        """Withdraw a request, or end a stay. Calling it twice is harmless."""
        before, seat.state = seat.state, "over"
        if before == "queued":
            self.queue.remove(seat)
            self.advance()
        elif seat is self.current:
            self._leave()

    def advance(self) -> None:
        """Grant the next request, or ask the group for it. Called after every change."""
        raise NotImplementedError  # pragma: no cover - both subclasses override it

    def fail(self, error: VezError) -> None:
        """End every wait with an error, and every stay as lost."""
        self._stop()
        while self.queue:
            self.queue.popleft().fail(error)
        if self.current is not None:
            self.current.lose(error.message)
            self._clear()

    def stop(self) -> None:
        """Stop the algorithm."""
        self._stop()
        self._durable.close()

    def holder(self) -> Contestant | None:
        """The request of this program that holds the name, or None."""
        return None if self.current is None else shown(self.current)

    # Called by the pump.

    def send(self, to: int, letter: Letter) -> None:
        if self._pace_ms and self.application.state == "outside":
            after_s = self._pace_ms * max(1.0, self._world.crowd() / 10) / 1000
            self._loop.call_later(after_s, self._send_later, to, letter)
        else:
            self._world.send(to, letter)

    def entered(self) -> None:
        self._loop.call_soon(self.advance)  # later, because the pump is in the middle of a step

    def tell(self, event: AnyEvent) -> None:
        pass

    def failed(self, error: VezError) -> None:
        self._world.failed(error)

    # Inside.

    def _grant(self, token: int | None, stay_ms: float | None) -> None:
        """Grant the first request of the queue."""
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
        """End the current stay."""
        raise NotImplementedError  # pragma: no cover - both subclasses override it

    def _clear(self) -> None:
        """Forget the current stay."""
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
        """Crash and recover with the durable fields, as the algorithm tolerates it."""
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
    """A text of another member, made safe for a terminal."""
    return "".join(one if one.isprintable() else "?" for one in text)


def shown(seat: Seat) -> Contestant:
    """A request of this program, as `inspect` shows it."""
    return Contestant(seat.token, os.getpid(), host_name(), seat.since, label=seat.request.label)
