"""Quiet runs: nodes, messages and harness for runs without a trace and without faults. `network.py` is for the others.

The events are the same as in a recorded run, with less work for each. A message goes directly into the agenda. So do
the start and the end of a stay: they are deliveries, for handlers of the harness.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from heapq import heappush
from typing import cast

from vez.core.message import Message
from vez.core.process import Election, Process
from vez.errors import ProtocolBug
from vez.worlds.sim.agenda import Moments
from vez.worlds.sim.dispatch import Dispatcher
from vez.worlds.sim.harness import Harness, Stay
from vez.worlds.sim.limits import Limits
from vez.worlds.sim.node import Node, Services

OUTSIDE, WANTED, INSIDE = 0, 1, 2


class Want:
    """Delivered when the application wants in."""


class Leave:
    """Delivered when the stay of the application is over."""


WANT, LEAVE = Want(), Leave()


class Requests:
    """The requests of the application at one process."""

    __slots__ = ("inside_us", "leave", "repeats", "state", "stays", "want")

    def __init__(self, node: Node | None, stays: deque[Stay]) -> None:
        self.state = OUTSIDE
        self.inside_us = 0  # length of the current stay
        self.repeats = 0  # number of equal stays that follow at once
        self.stays = stays  # the other stays to come
        self.want = node, WANT, 0  # entries of the agenda, made once because every stay needs both
        self.leave = node, LEAVE, 0


NO_REQUESTS = Requests(None, deque())


class MissingNode:
    """A placeholder for unused identifiers in a list of nodes. A quiet run does not check receivers before delivery."""

    @property
    def process(self) -> Process:
        raise ProtocolBug("a message was sent to a process that does not exist", hint="record the run to see by whom")


class QuietNode(Node):
    """A node of a quiet run. Subclasses differ in how they send."""

    __slots__ = ("requests",)

    def __init__(self, services: Services, me: int, right: int, process: Process) -> None:
        super().__init__(services, me, right, process)
        self.requests = NO_REQUESTS

    def enter(self, token: int | None = None) -> None:
        requests = self.requests
        if requests.state != WANTED:
            self.services.application.spurious(self.me, inside=requests.state == INSIDE)
        requests.state = INSIDE
        self.agenda.post(requests.inside_us, self, LEAVE, 0)


class RandomNode(QuietNode):
    """A node for random delays, without FIFO channels."""

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
    """A node for a constant delay: messages sent at one moment arrive together, in the order of sending."""

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
        agenda.sent[kind] = agenda.sent.get(kind, 0) + self.services.topology_cache.others
        agenda.outbox.append((self, Broadcast(message), self.me))

    def enter(self, token: int | None = None) -> None:
        requests = self.requests
        if requests.state != WANTED:
            self.services.application.spurious(self.me, inside=requests.state == INSIDE)
        requests.state = INSIDE
        agenda = self.agenda
        if requests.inside_us == agenda.delay_us:
            agenda.outbox.append(requests.leave)
        else:
            agenda.post(requests.inside_us, self, LEAVE, 0)


class Broadcast:
    """A message to all peers. One entry of the agenda is enough, because all receive it at the same moment."""

    __slots__ = ("message",)

    def __init__(self, message: Message) -> None:
        self.message = message


class Broadcasts:
    """Delivers a broadcast to every process except its sender, in ascending order."""

    def __init__(self, nodes: Iterable[Node], dispatcher: Dispatcher, limits: Limits) -> None:
        self._everybody = sorted(nodes, key=lambda node: node.me)
        self._dispatcher = dispatcher
        self._limits = limits

    def deliver(self, process: Process, what: Broadcast, sender: int, node: Node) -> None:
        """Deliver a broadcast. `node` is the sender."""
        message = what.message
        handler = self._dispatcher.find(type(message))
        for other in self._everybody:
            if other is not node:
                handler(other.process, message, sender, other)
        self._limits.charge(len(self._everybody) - 2)  # the loop counts one


class QuietHarness(Harness):
    """A harness whose stays are two deliveries each."""

    def plan(self) -> None:
        self._on_want: Callable[..., None] | None = getattr(self._setup.algorithm, "on_want", None)
        self._on_done: Callable[..., None] | None = getattr(self._setup.algorithm, "on_done", None)
        self._busy = 0  # number of processes with stays that are not over
        self._dispatcher.add(Want, self._deliver_want)
        self._dispatcher.add(Leave, self._deliver_leave)
        super().plan()

    def _elect(self, nodes: list[Node]) -> None:
        on_elect = cast(type[Election], self._setup.algorithm).on_elect
        for node in nodes:
            on_elect(cast(Election, node.process), node)

    def _next(self, node: Node) -> None:
        stays = self._plans[node.me]
        requests = node.requests = Requests(node, stays)  # type: ignore[attr-defined]
        self._busy += 1
        self._plan_next(requests)
        if isinstance(self._agenda, Moments) and stays and stays[0].is_at_once and stays.count(stays[0]) == len(stays):
            requests.repeats = len(stays)
            stays.clear()

    def _plan_next(self, requests: Requests) -> None:
        stay = requests.stays.popleft()
        requests.inside_us = max(1, stay.inside_us)
        wait_us = stay.think_us if stay.at < 0 else max(0, stay.at - self._agenda.now)
        self._agenda.post(wait_us, *requests.want)

    def _deliver_want(self, process: Process, what: Want, sender: int, node: QuietNode) -> None:
        node.requests.state = WANTED
        self._on_want(process, node)  # type: ignore[misc]

    def _deliver_leave(self, process: Process, what: Leave, sender: int, node: ConstantNode) -> None:
        requests = node.requests
        requests.state = OUTSIDE
        self._on_done(process, node)  # type: ignore[misc]
        if requests.repeats:
            requests.repeats -= 1
            node.agenda.today.append(requests.want)
        elif requests.stays:
            self._plan_next(requests)
        else:
            self._busy -= 1
            self._check_idle()

    def _check_idle(self) -> None:
        if not self._busy:
            self.idle = True
            self._limits.end_by(self._agenda.now + self._linger)
