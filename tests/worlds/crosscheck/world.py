"""World: a second implementation, in plain Python, of a global state and of everything that a handler may do to it.

It imports only `vez.core`, not the checker's recorder, states, tables or search. Everything is a tuple, values carry
their type, and nothing is cached between two calls. It is simple rather than fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any, NamedTuple, TypeVar

import msgspec

from vez.core.message import Message
from vez.core.process import Process
from vez.core.topology import Topology

T = TypeVar("T")
Frozen = tuple[Any, ...]
Timers = frozenset[tuple[str, int, int]]
"""The timers that run, each with the ticks until it may and until it must run out; always 0 where there is no time."""


def freeze(value: Any) -> Frozen:
    """A value with its type at every depth: 1, True and 1.0 are three different values."""
    if isinstance(value, msgspec.Struct):
        return (type(value), tuple(freeze(getattr(value, name)) for name in value.__struct_fields__))
    if isinstance(value, tuple):
        return (tuple, tuple(map(freeze, value)))
    if isinstance(value, frozenset):
        return (frozenset, frozenset(map(freeze, value)))
    return (type(value), repr(value) if isinstance(value, float) else value)


def thaw(frozen: Frozen) -> Any:
    """The value of a frozen one."""
    kind, content = frozen
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind(*map(thaw, content))
    if kind in (tuple, frozenset):
        return kind(map(thaw, content))
    return float(content) if kind is float else content


class Mail(NamedTuple):
    """A message under way, and the ticks after which it arrives at the latest; 0 where messages take no time."""

    content: Frozen
    left: int = 0


class Proc(NamedTuple):
    """One process and the application above it."""

    fields: tuple[Frozen, ...]
    alive: bool = True
    left: int = 0  # requests or elections still to come; -1: without end
    phase: str = "idle"  # or "waiting", "inside", "withdrawn"
    token: int | None = None
    view: tuple[int, int] | None = None
    led: frozenset[int] = frozenset()
    timers: Timers = frozenset()
    told: frozenset[int] = frozenset()
    paused: bool = False
    stay: int | None = None  # ticks after which the stay ends at the latest, where there is a bound
    spoke: bool = False  # it has sent a message or named a leader; see `Semantics.remembers`


class World(NamedTuple):
    """A global state."""

    procs: tuple[Proc, ...]
    channels: tuple[tuple[Mail, ...], ...]  # by sender and receiver; sorted where the order is not kept
    budget: tuple[tuple[str, int], ...]
    cuts: frozenset[frozenset[int]] = frozenset()  # the partitions in force: channels that lose what is sent or arrives

    def with_proc(self, place: int, proc: Proc) -> World:
        """The world with one process changed."""
        return self._replace(procs=put(self.procs, place, proc))

    def is_cut(self, channel: int) -> bool:
        """True if a partition cuts the channel."""
        return any(channel in cut for cut in self.cuts)

    def remaining(self, fault: str) -> int:
        """The number of times that a fault may still happen."""
        return dict(self.budget).get(fault, 0)

    def spent(self, fault: str) -> World:
        """The world after a fault was counted."""
        return self._replace(budget=tuple((name, count - (name == fault)) for name, count in self.budget))


class Move(NamedTuple):
    """One thing that can happen."""

    what: tuple[Any, ...]
    to: World
    fair: tuple[Any, ...] | None  # its class of fairness, None for what need not happen
    postponed: frozenset[tuple[Any, ...]] = frozenset()  # the classes of timers that it sets anew


class Rules(NamedTuple):
    """The rules of an exploration."""

    algorithm: type[Process]
    topology: Topology
    fifo: bool
    requests: dict[int, int]
    budget: dict[str, int]
    parameters: dict[str, Any]
    detector: bool = False
    amnesia: bool = False
    timed: bool = False
    """True if timers keep their durations; otherwise they run out at any moment."""
    delay_us: int = 0
    """The longest delay of a message, if time is modelled."""
    stay_us: int | None = None
    """The longest stay, if time is modelled and stays have a bound."""
    drift: float = 0.0
    """The largest error of a timer, as a part of its duration."""


class FinerTick(Exception):
    """A handler set a timer whose duration is no multiple of the tick."""

    def __init__(self, us: int) -> None:
        super().__init__(us)
        self.us = us


class Effects:
    """A second implementation of `Io`."""

    def __init__(self, rules: Rules, tick: int, me: int, timers: Timers, script: tuple[int, ...]) -> None:
        self.rules, self.tick, self.me, self.script = rules, tick, me, script
        self.sent: list[tuple[int, Message]] = []
        self.asked: list[int] = []
        self.entered: list[int | None] = []
        self.named: list[tuple[int | None, int]] = []
        self.timers = {name: (soonest, latest) for name, soonest, latest in timers}
        self.set_anew: set[str] = set()

    @property
    def peers(self) -> tuple[int, ...]:
        return tuple(sorted(set(self.rules.topology.ids) - {self.me}))

    @property
    def neighbours(self) -> tuple[int, ...]:
        return self.rules.topology.neighbours(self.me)

    @property
    def right(self) -> int:
        return self.rules.topology.right(self.me)

    @property
    def left(self) -> int:
        return self.rules.topology.left(self.me)

    @property
    def hub(self) -> int:
        return self.rules.topology.hub

    def after(self, process: int) -> int:
        return self.rules.topology.right(process)

    def send(self, to: int, message: Message) -> None:
        self.sent.append((to, message))

    def broadcast(self, message: Message) -> None:
        for peer in self.peers:
            self.send(peer, message)

    def set_timer(self, name: str, after_ms: float) -> None:
        us = round(after_ms * 1000) if self.rules.timed else 0
        off = Decimal(us) * Decimal(str(self.rules.drift))
        soonest, latest = (
            int((us - off).to_integral_value(ROUND_FLOOR)),
            int((us + off).to_integral_value(ROUND_CEILING)),
        )
        for bound in (soonest, latest):
            if bound and (not self.tick or bound % self.tick):
                raise FinerTick(bound)
        self.timers[name] = (soonest // (self.tick or 1), latest // (self.tick or 1))
        self.set_anew.add(name)

    def cancel_timer(self, name: str) -> None:
        self.timers.pop(name, None)

    def choose(self, options: Sequence[T]) -> T:
        self.asked.append(len(options))
        number = len(self.asked) - 1
        return options[self.script[number] if number < len(self.script) else 0]

    def enter(self, token: int | None = None) -> None:
        self.entered.append(token)

    def elected(self, leader: int | None, term: int = 0) -> None:
        self.named.append((leader, term))

    def note(self, text: str) -> None:
        pass


def put(values: tuple[Any, ...], place: int, value: Any) -> tuple[Any, ...]:
    """The values with one replaced."""
    return (*values[:place], value, *values[place + 1 :])
