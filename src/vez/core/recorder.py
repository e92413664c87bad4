"""Recorder: an `Io` that performs nothing and records, in order, the calls that a handler makes.

The checker compares the records. A debug run makes two of them before it acts. A node uses one so that durable fields
are on disk before messages leave: it runs the handler on a recorder, writes the fields that `durable_changes` returns,
then performs the effects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from vez.core.effects import (
    CancelTimer,
    Choose,
    Effect,
    Elect,
    Enter,
    Note,
    Send,
    SetTimer,
    check_delay,
    check_leader,
    check_options,
    check_send,
    check_text,
    check_token,
)
from vez.core.message import Message
from vez.core.process import DURABLE, Process, handlers_of, marked
from vez.core.topology import Topology

T = TypeVar("T")

_send = partial(tuple.__new__, Send)  # like Send(to, message), but without a call of Python code


class Site:
    """The constant part of what one process can see: its identifier, and its place in the topology."""

    __slots__ = ("algorithm", "handlers", "hub", "me", "neighbours", "peers", "reachable", "right", "topology")

    def __init__(self, algorithm: type[Process], topology: Topology, me: int) -> None:
        self.algorithm = algorithm.__name__
        self.handlers = handlers_of(algorithm)
        self.topology = topology
        self.me = me
        self.peers = topology.peers(me)
        self.neighbours = topology.neighbours(me)
        self.reachable = frozenset((*self.neighbours, me))
        self.right = topology.right(me)
        self.hub = topology.hub


class Recorder:
    """Records the effects of one call of a handler. `pick` maps a number of options to the index of the chosen one."""

    __slots__ = ("_pick", "_site", "effects")

    def __init__(self, site: Site, pick: Callable[[int], int]) -> None:
        self._site = site
        self._pick = pick
        self.effects: list[Effect] = []

    @property
    def me(self) -> int:
        return self._site.me

    @property
    def peers(self) -> tuple[int, ...]:
        return self._site.peers

    @property
    def neighbours(self) -> tuple[int, ...]:
        return self._site.neighbours

    @property
    def right(self) -> int:
        return self._site.right

    @property
    def left(self) -> int:
        return self._site.topology.left(self._site.me)

    @property
    def hub(self) -> int:
        return self._site.hub

    def after(self, process: int) -> int:
        return self._site.topology.after(self._site.me, process)

    def send(self, to: int, message: Message) -> None:
        site = self._site
        if not (type(to) is int and to in site.reachable and isinstance(message, Message)):  # else it would pass
            check_send(site.topology, site.me, to, message)
        self.effects.append(_send((to, message)))

    def broadcast(self, message: Message) -> None:
        for peer in self._site.peers:
            self.send(peer, message)

    def set_timer(self, name: str, after_ms: float) -> None:
        self._site.handlers.timer(name)
        check_delay(self._site.algorithm, name, after_ms)
        self.effects.append(SetTimer(name, after_ms))

    def cancel_timer(self, name: str) -> None:
        self.effects.append(CancelTimer(name))

    def choose(self, options: Sequence[T]) -> T:
        check_options(self._site.algorithm, len(options))
        index = self._pick(len(options))
        self.effects.append(Choose(tuple(options), index))
        return options[index]

    def enter(self, token: int | None = None) -> None:
        check_token(self._site.algorithm, self._site.me, token)
        self.effects.append(Enter(token))

    def elected(self, leader: int | None, term: int = 0) -> None:
        check_leader(self._site.algorithm, self._site.topology, self._site.me, leader, term)
        self.effects.append(Elect(leader, term))

    def note(self, text: str) -> None:
        check_text(self._site.algorithm, f"process {self._site.me} called io.note", text)
        self.effects.append(Note(text))


class Point(NamedTuple):
    """A moment inside a handler: the number of effects before it, and the durable fields at that moment."""

    effects: int
    durable: tuple[Any, ...]


class ActionRecorder(Recorder):
    """A recorder that also lists the moments inside the handler at which a crash makes a difference: after each action.

    Actions are the effects that survive a crash, in the order of the program: a send (a broadcast is one for each
    peer), an entry, an election, and a write of durable fields. Durable fields that are assigned with no other action
    between them count as one write.
    """

    __slots__ = ("_durable", "_process", "_start", "_written")

    def __init__(self, site: Site, pick: Callable[[int], int], process: Process) -> None:
        super().__init__(site, pick)
        self._process = process
        self._durable = marked(type(process), DURABLE)
        self._start = self._values()
        self._written: list[tuple[Any, ...]] = []  # the durable fields at each send, entry and election

    def send(self, to: int, message: Message) -> None:
        super().send(to, message)
        self._written.append(self._values())

    def enter(self, token: int | None = None) -> None:
        super().enter(token)
        self._written.append(self._values())

    def elected(self, leader: int | None, term: int = 0) -> None:
        super().elected(leader, term)
        self._written.append(self._values())

    def points(self) -> list[Point]:
        """The moments before the first action and after each one but the last. Call this after the handler returned."""
        found, written = [Point(0, self._start)], iter(self._written)
        for place, effect in enumerate(self.effects):
            if isinstance(effect, Send | Enter | Elect):
                durable = next(written)
                if _differ(durable, found[-1].durable):
                    found.append(Point(place, durable))
                found.append(Point(place + 1, durable))
        return found if _differ(self._values(), found[-1].durable) else found[:-1]

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self._process, name) for name in self._durable)


def _differ(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return one != other or list(map(type, one)) != list(map(type, other))


def durable_changes(before: Process, after: Process) -> dict[str, Any]:
    """The durable fields that a handler changed, with their new values."""
    return {
        name: getattr(after, name)
        for name in marked(type(after), DURABLE)
        if getattr(after, name) != getattr(before, name)
    }
