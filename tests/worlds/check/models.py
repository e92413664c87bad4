"""The two public TLA+ examples, as processes: the same variables, the same atomic steps, so the same states.

They are tlaplus/Examples, specifications/lamport_mutex and specifications/chang_roberts. Comments describe differences
in form; docs/reference/checker.md explains why the catalogue's own algorithms have other counts.
"""

from __future__ import annotations

from vez import core
from vez.core import Assumption, Io, Message, Mutex, Ring


class Request(Message):
    clock: int


class Acknowledge(Message):
    pass


class Release(Message):
    pass


class LamportMutex(Mutex):
    """In the TLA+ example entering is a separate step; here it is a timer that may run out at any moment."""

    name = "lamport-tla"
    assumes = (Assumption.FIFO,)

    clock: int = 1
    requests: tuple[tuple[int, int], ...] = ()  # (process, its clock), sorted: the row req[p] without the zeros
    acknowledged: frozenset[int] = frozenset()
    inside: bool = False  # in the set crit

    def on_want(self, io: Io) -> None:
        self._record(io.me, self.clock)
        self.acknowledged = frozenset({io.me})
        io.broadcast(Request(self.clock))

    def on_request(self, message: Request, sender: int, io: Io) -> None:
        self._record(sender, message.clock)
        self.clock = max(message.clock, self.clock) + 1
        io.send(sender, Acknowledge())
        self._may_enter(io)

    def on_acknowledge(self, message: Acknowledge, sender: int, io: Io) -> None:
        self.acknowledged |= {sender}
        self._may_enter(io)

    def on_release(self, message: Release, sender: int, io: Io) -> None:
        self.requests = tuple(entry for entry in self.requests if entry[0] != sender)
        self._may_enter(io)

    def on_timer_enter(self, io: Io) -> None:
        self.inside = True
        io.enter()

    def on_done(self, io: Io) -> None:
        self.requests = tuple(entry for entry in self.requests if entry[0] != io.me)
        self.acknowledged = frozenset()
        self.inside = False
        io.broadcast(Release())

    def _record(self, process: int, clock: int) -> None:
        rest = [entry for entry in self.requests if entry[0] != process]
        self.requests = tuple(sorted([*rest, (process, clock)]))

    def _may_enter(self, io: Io) -> None:
        """The timer runs exactly if Enter is enabled and the process is not yet inside, so it adds no states."""
        mine = dict(self.requests).get(io.me)
        if mine is None or len(self.acknowledged) <= len(io.peers) or self.inside:
            return
        if all((mine, io.me) <= (clock, process) for process, clock in self.requests):
            io.set_timer("enter", 1)


class Identifier(Message):
    value: int


class ChangRobertsTla(core.Election):
    """Each process is an initiator or not; the smallest identifier wins; a process handles no message before its n0."""

    name = "chang-roberts-tla"
    topology = Ring

    initiator: bool = False
    started: bool = False
    state: str = "lost"
    too_early: int = 0  # a message came before n0: bounded to 0, so that such a step does not exist

    def on_start(self, io: Io) -> None:
        self.initiator = io.choose((False, True))
        self.state = "candidate" if self.initiator else "lost"

    def on_elect(self, io: Io) -> None:
        self.started = True
        if self.initiator:
            io.send(io.right, Identifier(io.me))

    def on_identifier(self, message: Identifier, sender: int, io: Io) -> None:
        if not self.started:
            self.too_early = 1
        elif self.state == "lost" or message.value < io.me:
            self.state = "lost"
            io.send(io.right, message)
        elif message.value == io.me:
            self.state = "won"
            io.elected(io.me)
