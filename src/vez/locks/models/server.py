"""TableModel: a server that holds the turn table of one name, and clients that send it commands.

Idea:        The hub keeps a `Table` and turns what arrives into commands; effects become messages. A referee judges
             every step of the table. Clients ask, enter when they are granted, leave, and may withdraw or crash.
Assumptions: reliable FIFO channels between a client and the server, as a connection gives; the server stays; it is
             finally told of each crash, and then reads nothing more from that client.
Abstraction: Tokens are bounded by the number of requests. There is no time: when a stay began and the mean of stays
             are forgotten after each step, and a grace ends at any moment.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec
from msgspec.structs import replace

from vez.core import Assumption, Io, Message, Mutex, Property, Star
from vez.errors import Misuse
from vez.locks.models.referee import RuleBroken, judge
from vez.locks.table import (
    Alarm,
    Break,
    Command,
    Crash,
    Enlist,
    Granted,
    Leave,
    Lost,
    Seat,
    Table,
    Tick,
    Transfer,
    machine,
)
from vez.locks.table.values import Kind

ABSTRACTION = "tokens are bounded by the requests; stays have no length, and a grace ends at any moment"


class Question(msgspec.Struct, frozen=True):
    """The defaults of an exploration, which options of `vez check` change."""

    requests: int = 2
    crashes: int = 0
    withdrawals: int = 0


class Ask(Message):
    """Client to server: a request."""

    round: int


class Release(Message):
    """Client to server: release the holding, or withdraw the request."""

    round: int


class Pass(Message):
    """Leader to server: make another candidate leader."""

    round: int


class Grant(Message):
    """Server to client: the request is granted."""

    round: int
    token: int


class Taken(Message):
    """Server to client: the holding is lost."""

    round: int


class TableModel(Mutex):
    """A turn table with its clients. Each subclass is one configuration."""

    topology = Star
    assumes = (Assumption.RELIABLE, Assumption.FIFO, Assumption.HUB_STAYS, Assumption.NO_RECOVERY)
    guarantees: ClassVar[tuple[Property, ...]] = (Property.DEADLOCK_FREEDOM,)

    question: ClassVar[Question] = Question()
    abstraction: ClassVar[str] = ABSTRACTION
    kind: ClassVar[Kind] = "lock"
    limit: ClassVar[int] = 1
    readers: ClassVar[tuple[int, ...]] = ()
    weights: ClassVar[tuple[int, ...]] = ()
    """Weights of the processes 1, 2, …; 0 for the rest."""
    grace_ms: ClassVar[int] = 0
    most_breaks: ClassVar[int] = 0
    transfers: ClassVar[bool] = False
    """True if a leader may transfer its leadership instead of leaving."""

    table: Table = Table("lock", "x")  # of the server
    newest: int = 0  # of the server: the newest token that it has granted
    broken: int = 0  # of the server: number of forced releases
    dead: frozenset[int] = frozenset()  # of the server: clients whose connection is closed
    round: int = 0  # of a client: its newest request
    waiting: bool = False  # of a client

    @classmethod
    def smallest(cls) -> int:
        return 4

    @classmethod
    def contenders(cls, ids: tuple[int, ...]) -> tuple[int, ...]:
        return ids[1:]

    def on_start(self, io: Io) -> None:
        if io.me == io.hub:
            self.table = Table(self.kind, "x", self.limit)
            if self.most_breaks:
                io.set_timer("break", 1)

    # The clients.

    def on_want(self, io: Io) -> None:
        self.round += 1
        self.waiting = True
        io.send(io.hub, Ask(self.round))

    def on_withdraw(self, io: Io) -> None:
        self.waiting = False
        io.send(io.hub, Release(self.round))

    def on_grant(self, message: Grant, sender: int, io: Io) -> None:
        if self.waiting and message.round == self.round:
            self.waiting = False
            io.enter(message.token)

    def on_done(self, io: Io) -> None:
        passes = self.transfers and io.choose((False, True))
        if passes:
            io.send(io.hub, Pass(self.round))
        io.send(io.hub, Release(self.round))

    def on_taken(self, message: Taken, sender: int, io: Io) -> None:
        """Ignore the loss. The client may still be inside; the resource refuses its writes by their token."""

    # The server.

    def on_ask(self, message: Ask, sender: int, io: Io) -> None:
        if sender not in self.dead:
            weight = self.weights[sender - 1] if sender <= len(self.weights) else 0
            label = f"{sender}/{message.round}"
            self._do(Enlist(sender, sender in self.readers, self.limit, weight, self.grace_ms, label), io)

    def on_release(self, message: Release, sender: int, io: Io) -> None:
        if sender not in self.dead:
            self._do(Leave(self._seat(sender, message.round).number), io)

    def on_pass(self, message: Pass, sender: int, io: Io) -> None:
        if sender in self.dead:
            return
        leader = self._seat(sender, message.round)
        if self.table.queue and leader.lost is None:
            to = io.choose(tuple(seat.asked.label for seat in self.table.queue))
            self._do(Transfer(leader.number, to), io)

    def on_suspect(self, peer: int, io: Io) -> None:
        if io.me == io.hub:
            self.dead |= {peer}
            self._do(Crash(peer), io)

    def on_timer_break(self, io: Io) -> None:
        if self.table.holders:
            self.broken += 1
            self._do(Break("a test"), io)
        if self.broken < self.most_breaks:
            io.set_timer("break", 1)

    def on_timer_grace(self, io: Io) -> None:
        if self.table.alarm_ns is not None:
            self._do(Tick(), io, self.table.alarm_ns)

    def _seat(self, client: int, round: int) -> Seat:
        label = f"{client}/{round}"
        for seat in (*self.table.holders, *self.table.queue, *self.table.stale):
            if seat.asked.label == label:
                return seat
        raise RuleBroken(f"the table has lost request {round} of client {client}")

    def _do(self, command: Command, io: Io, now_ns: int = 0) -> None:
        before = self.table
        try:
            after, effects = machine.step(before, command, now_ns)
        except Misuse as error:
            raise RuleBroken(f"a legal command was refused: {error}") from error
        judge(before, command, after, effects, self.newest, now_ns)
        self.table = without_times(after)
        for effect in effects:
            if isinstance(effect, Granted | Lost):
                seat = after.find(effect.number)
                if seat is None:
                    raise RuleBroken(f"request {effect.number} was told, and is not in the table")
                client, _, round = seat.asked.label.partition("/")
                if isinstance(effect, Granted):
                    self.newest = effect.token
                    io.send(int(client), Grant(int(round), effect.token))
                else:
                    io.send(int(client), Taken(int(round)))
            elif isinstance(effect, Alarm):
                io.set_timer("grace", 1)

    def status(self) -> str:
        table = self.table
        held = ", ".join(f"{seat.asked.label}{'!' * bool(seat.lost)}" for seat in table.holders)
        queue = ", ".join(seat.asked.label for seat in table.queue)
        return f"held by [{held}], queue [{queue}]" if held or queue else ""


def without_times(table: Table) -> Table:
    """The table without the values that depend on the time that has passed."""
    timeless = [
        tuple(replace(seat, since_ns=0) for seat in seats) for seats in (table.holders, table.queue, table.stale)
    ]
    forced = tuple(replace(record, at_ns=0) for record in table.forced)
    holders, queue, stale = timeless
    return replace(table, holders=holders, queue=queue, stale=stale, forced=forced, mean_ns=None)
