"""The quiet way: nodes and harness of a run that nobody watches and in which nothing goes wrong.

The same happens as in a watched run, with less ado. A message goes straight into the agenda, and so do the wish for
a stay and its end: they are deliveries, for handlers of the harness.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from heapq import heappush
from typing import cast

from vez.core.message import Message
from vez.core.process import Election, Process
from vez.errors import ProtocolBug
from vez.sim.agenda import Moments
from vez.sim.dispatch import Dispatcher
from vez.sim.harness import Harness, Stay
from vez.sim.limits import Limits
from vez.sim.node import Node, Services

OUTSIDE, WANTED, INSIDE = 0, 1, 2


class Want:
    """The application wants in."""


class Leave:
    """The application has stayed for as long as it wanted."""


WANT, LEAVE = Want(), Leave()


class Guest:
    """The application above one process."""

    __slots__ = ("again", "inside_us", "leave", "state", "stays", "want")

    def __init__(self, node: Node | None, stays: deque[Stay]) -> None:
        self.state = OUTSIDE
        self.inside_us = 0  # how long it stays this time
        self.again = 0  # how often it wants the same again, at once
        self.stays = stays  # what it plans after that
        self.want = node, WANT, 0  # made once: full contention consists of these
        self.leave = node, LEAVE, 0


NO_GUEST = Guest(None, deque())


class Nobody:
    """Stands where a list of nodes has a gap: nobody looks at a message before it is delivered."""

    @property
    def process(self) -> Process:
        raise ProtocolBug("a message was sent to a process that does not exist", hint="record the run to see by whom")


class QuietNode(Node):
    """A node whose messages nobody watches; kinds of it differ in how they send."""

    __slots__ = ("guest",)

    def __init__(self, services: Services, me: int, right: int, process: Process) -> None:
        super().__init__(services, me, right, process)
        self.guest = NO_GUEST

    def enter(self, token: int | None = None) -> None:
        guest = self.guest
        if guest.state != WANTED:
            self.services.application.spurious(self.me, inside=guest.state == INSIDE)
        guest.state = INSIDE
        self.agenda.post(guest.inside_us, self, LEAVE, 0)


class RandomNode(QuietNode):
    """Delays are drawn, and channels need not be first in, first out."""

    __slots__ = ()

    def send(self, to: int, message: Message) -> None:
        agenda, me = self.agenda, self.me
        if to != me:
            try:
                agenda.sent[type(message)] += 1
            except KeyError:
                agenda.sent[type(message)] = 1
        heappush(agenda.heap, (agenda.now + self.services.draw(), agenda.number(), agenda.by_id[to], message, me))

    def broadcast(self, message: Message) -> None:
        agenda, peers, kind = self.agenda, self.peers, type(message)
        agenda.sent[kind] = agenda.sent.get(kind, 0) + len(peers)
        heap, now, number, draw = agenda.heap, agenda.now, agenda.number, self.services.draw
        for peer in peers:
            heappush(heap, (now + draw(), number(), agenda.by_id[peer], message, self.me))


class ConstantNode(QuietNode):
    """Every message takes the same time: all that is sent now arrives together, in the order of sending."""

    __slots__ = ()
    agenda: Moments

    def send(self, to: int, message: Message) -> None:
        agenda, me = self.agenda, self.me
        if to != me:
            try:
                agenda.sent[type(message)] += 1
            except KeyError:
                agenda.sent[type(message)] = 1
        agenda.outbox.append((agenda.by_id[to], message, me))

    def broadcast(self, message: Message) -> None:
        agenda, kind = self.agenda, type(message)
        agenda.sent[kind] = agenda.sent.get(kind, 0) + self.services.directory.others
        agenda.outbox.append((self, Broadcast(message), self.me))

    def enter(self, token: int | None = None) -> None:
        guest = self.guest
        if guest.state != WANTED:
            self.services.application.spurious(self.me, inside=guest.state == INSIDE)
        guest.state = INSIDE
        agenda = self.agenda
        if guest.inside_us == agenda.delay_us:
            agenda.outbox.append(guest.leave)
        else:
            agenda.post(guest.inside_us, self, LEAVE, 0)


class Broadcast:
    """A message to everybody else: one entry of the agenda for all of them, since all get it at one moment."""

    __slots__ = ("message",)

    def __init__(self, message: Message) -> None:
        self.message = message


class Broadcasts:
    """Hands a broadcast to everybody but its sender, in ascending order."""

    def __init__(self, nodes: Iterable[Node], dispatcher: Dispatcher, limits: Limits) -> None:
        self._everybody = sorted(nodes, key=lambda node: node.me)
        self._dispatcher = dispatcher
        self._limits = limits

    def deliver(self, process: Process, what: Broadcast, sender: int, node: Node) -> None:
        """Deliver one; `node` is the sender's."""
        message = what.message
        handler = self._dispatcher.find(type(message))
        for other in self._everybody:
            if other is not node:
                handler(other.process, message, sender, other)
        self._limits.charge(len(self._everybody) - 2)  # the loop sees one step


class QuietHarness(Harness):
    """The same stays, each of them two deliveries."""

    def plan(self) -> None:
        self._on_want: Callable[..., None] | None = getattr(self._setup.algorithm, "on_want", None)
        self._on_done: Callable[..., None] | None = getattr(self._setup.algorithm, "on_done", None)
        self._guests = 0  # who still plans, wants or is inside
        self._dispatcher.add(Want, self._want_in)
        self._dispatcher.add(Leave, self._let_out)
        super().plan()

    def _elect(self, nodes: list[Node]) -> None:
        on_elect = cast(type[Election], self._setup.algorithm).on_elect
        for node in nodes:
            on_elect(cast(Election, node.process), node)

    def _next(self, node: Node) -> None:
        stays = self._plans[node.me]
        guest = node.guest = Guest(node, stays)  # type: ignore[attr-defined]
        self._guests += 1
        self._plan_next(guest)
        if isinstance(self._agenda, Moments) and stays and stays[0].is_at_once and stays.count(stays[0]) == len(stays):
            guest.again = len(stays)
            stays.clear()

    def _plan_next(self, guest: Guest) -> None:
        stay = guest.stays.popleft()
        guest.inside_us = max(1, stay.inside_us)
        wait_us = stay.think_us if stay.at < 0 else max(0, stay.at - self._agenda.now)
        self._agenda.post(wait_us, *guest.want)

    def _want_in(self, process: Process, what: Want, sender: int, node: QuietNode) -> None:
        node.guest.state = WANTED
        self._on_want(process, node)  # type: ignore[misc]

    def _let_out(self, process: Process, what: Leave, sender: int, node: ConstantNode) -> None:
        guest = node.guest
        guest.state = OUTSIDE
        self._on_done(process, node)  # type: ignore[misc]
        if guest.again:
            guest.again -= 1
            node.agenda.today.append(guest.want)
        elif guest.stays:
            self._plan_next(guest)
        else:
            self._guests -= 1
            self._check_idle()

    def _check_idle(self) -> None:
        if not self._guests:
            self.idle = True
            self._limits.end_by(self._agenda.now + self._linger)
