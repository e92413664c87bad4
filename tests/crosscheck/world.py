"""World: the meaning of a step, written a second time in plain Python, from the documentation of the checker.

Imports `vez.core` and nothing else of vez: not the checker's recorder, states, tables or search. Everything is a
tuple, values carry their type, and nothing is remembered between two calls. It is slow on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from vez.core.message import Message
from vez.core.process import DURABLE, PARAMETER, Process, marked
from vez.core.topology import Topology

T = TypeVar("T")
Frozen = tuple[Any, ...]


def freeze(value: Any) -> Frozen:
    """A value with its type, all the way down: 1, True and 1.0 are three."""
    if isinstance(value, msgspec.Struct):
        return (type(value), tuple(freeze(getattr(value, name)) for name in value.__struct_fields__))
    if isinstance(value, tuple):
        return (tuple, tuple(map(freeze, value)))
    if isinstance(value, frozenset):
        return (frozenset, frozenset(map(freeze, value)))
    return (type(value), repr(value) if isinstance(value, float) else value)


def thaw(frozen: Frozen) -> Any:
    """The value again."""
    kind, content = frozen
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind(*map(thaw, content))
    if kind in (tuple, frozenset):
        return kind(map(thaw, content))
    return float(content) if kind is float else content


class Proc(NamedTuple):
    """One process and the application above it."""

    fields: tuple[Frozen, ...]
    alive: bool
    left: int  # requests or elections still to come; -1: without end
    phase: str  # "idle", "waiting" or "inside"
    token: int | None
    view: tuple[int, int] | None
    led: frozenset[int]
    timers: frozenset[str]
    told: frozenset[int]


class World(NamedTuple):
    """A global state."""

    procs: tuple[Proc, ...]
    channels: tuple[tuple[Frozen, ...], ...]  # by sender and receiver; sorted where the order is not kept
    budget: tuple[tuple[str, int], ...]


class Move(NamedTuple):
    """One thing that can happen."""

    what: tuple[Any, ...]
    to: World
    fair: tuple[Any, ...] | None  # its class of fairness, None for what need not happen
    postponed: frozenset[tuple[Any, ...]] = frozenset()  # the classes of due timers that it sets anew


Outcome = tuple[World, frozenset[tuple[Any, ...]]]
"""What a handler made of the world, and the classes of due timers that it set anew."""


class Rules(NamedTuple):
    """What is explored."""

    algorithm: type[Process]
    topology: Topology
    fifo: bool
    requests: dict[int, int]
    budget: dict[str, int]
    parameters: dict[str, Any]
    detector: bool = False
    amnesia: bool = False


class Effects:
    """An Io of our own."""

    def __init__(self, rules: Rules, me: int, script: tuple[int, ...]) -> None:
        self.rules, self.me, self.script = rules, me, script
        self.sent: list[tuple[int, Message]] = []
        self.asked: list[int] = []
        self.entered: list[int | None] = []
        self.named: list[tuple[int, int]] = []
        self.timers: set[str] = set()
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
        self.timers.add(name)
        self.set_anew.add(name)

    def cancel_timer(self, name: str) -> None:
        self.timers.discard(name)

    def choose(self, options: Sequence[T]) -> T:
        self.asked.append(len(options))
        number = len(self.asked) - 1
        return options[self.script[number] if number < len(self.script) else 0]

    def enter(self, token: int | None = None) -> None:
        self.entered.append(token)

    def elected(self, leader: int, term: int = 0) -> None:
        self.named.append((leader, term))

    def note(self, text: str) -> None:
        pass


class Semantics:
    """All runs of some rules: the initial worlds and the moves from a world."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.ids = rules.topology.ids
        self.names = rules.algorithm.__struct_fields__
        self.kept = {*marked(rules.algorithm, DURABLE), *marked(rules.algorithm, PARAMETER)}
        self.blank = self._fields(rules.algorithm(**rules.parameters))

    def starts(self) -> set[World]:
        """Everybody has run `on_start`; every choice in it is a world of its own."""
        nobody: tuple[tuple[Frozen, ...], ...] = ((),) * len(self.ids) ** 2
        worlds = {World((), nobody, tuple(sorted(self.rules.budget.items())))}
        for place, process in enumerate(self.ids):
            born = Proc(
                self.blank, True, self.rules.requests[process], "idle", None, None, frozenset(), frozenset(),
                frozenset(),
            )  # fmt: skip
            worlds = {
                after
                for world in worlds
                for after, _ in self._call(world._replace(procs=(*world.procs, born)), place, "on_start")
            }
        return worlds

    def moves(self, world: World) -> Iterator[Move]:
        """Everything that can happen next."""
        for place in range(len(self.ids)):
            yield from self._own(world, place)
        for channel in range(len(self.ids) ** 2):
            yield from self._mail(world, channel)
        if self.rules.detector:
            for place in range(len(self.ids)):
                yield from self._detector(world, place)
        for place in range(len(self.ids)):
            yield from self._faults(world, place)

    def _own(self, world: World, place: int) -> Iterator[Move]:
        proc = world.procs[place]
        if not proc.alive:
            return
        if proc.phase == "inside":
            left = _changed(world, place, proc._replace(phase="idle", token=None))
            for after, again in self._call(left, place, "on_done"):
                yield Move(("leave", place), after, ("leave", place), again)
        elif proc.phase == "idle" and proc.left:
            less = proc._replace(left=proc.left - (proc.left > 0))
            if self.rules.algorithm.role == "mutex":
                for after, again in self._call(
                    _changed(world, place, less._replace(phase="waiting")), place, "on_want"
                ):
                    yield Move(("want", place), after, None, again)
            else:
                for after, again in self._call(_changed(world, place, less), place, "on_elect"):
                    yield Move(("elect", place), after, ("elect", place), again)
        for name in proc.timers:
            run_out = _changed(world, place, proc._replace(timers=proc.timers - {name}))
            for after, again in self._call(run_out, place, f"on_timer_{name}"):
                yield Move(("fire", place, name), after, ("fire", place, name), again)

    def _mail(self, world: World, channel: int) -> Iterator[Move]:
        sender, place = divmod(channel, len(self.ids))
        content = world.channels[channel]
        heads = content[:1] if self.rules.fifo else tuple(dict.fromkeys(content))
        for message in heads:
            at = content.index(message)
            rest = world._replace(channels=_put(world.channels, channel, content[:at] + content[at + 1 :]))
            fair = ("deliver", channel) if self.rules.fifo else ("deliver", channel, message)
            if not world.procs[place].alive:
                yield Move(("drop", channel, message), rest, fair)
                continue
            name = "on_" + _snake(message[0].__name__)
            for after, again in self._call(rest, place, name, thaw(message), self.ids[sender]):
                yield Move(("deliver", channel, message), after, fair, again)
            if sender != place and _left(world, "losses"):
                yield Move(("lose", channel, message), _spent(rest, "losses"), None)
            if sender != place and _left(world, "duplicates"):
                for after, again in self._call(
                    _spent(world, "duplicates"), place, name, thaw(message), self.ids[sender]
                ):
                    yield Move(("duplicate", channel, message), after, None, again)

    def _detector(self, world: World, place: int) -> Iterator[Move]:
        proc = world.procs[place]
        for other, peer in enumerate(self.ids):
            if other == place or not proc.alive:
                continue
            alive, told = world.procs[other].alive, peer in proc.told
            if told and alive:
                knows = _changed(world, place, proc._replace(told=proc.told - {peer}))
                for after, again in self._call(knows, place, "on_trust", peer, optional=True):
                    yield Move(("trust", place, peer), after, ("trust", place, peer), again)
            mistaken = alive and not told and _left(world, "mistakes")
            if not told and (not alive or mistaken):
                base = _spent(world, "mistakes") if alive else world
                knows = _changed(base, place, proc._replace(told=proc.told | {peer}))
                for after, again in self._call(knows, place, "on_suspect", peer, optional=True):
                    yield Move(("suspect", place, peer), after, None if alive else ("suspect", place, peer), again)

    def _faults(self, world: World, place: int) -> Iterator[Move]:
        proc = world.procs[place]
        if proc.alive and _left(world, "crashes"):
            fields = self.blank
            if self.rules.budget.get("recoveries"):
                pairs = zip(self.names, proc.fields, self.blank, strict=True)
                fields = tuple(old if name in self.kept else new for name, old, new in pairs)
            dead = Proc(fields, False, proc.left, "idle", None, None, proc.led, frozenset(), frozenset())
            yield Move(("crash", place), _changed(_spent(world, "crashes"), place, dead), None)
        if not proc.alive and _left(world, "recoveries"):
            for memory in (True, False) if self.rules.amnesia else (True,):
                back = proc._replace(alive=True, fields=proc.fields if memory else self.blank)
                for after, again in self._call(_changed(_spent(world, "recoveries"), place, back), place, "on_recover"):
                    yield Move(("recover", place, memory), after, None, again)

    def _call(self, world: World, place: int, name: str, *event: Any, optional: bool = False) -> set[Outcome]:
        """Run a handler for every sequence of choices."""
        handler = getattr(self.rules.algorithm, name, None)
        if handler is None:
            if optional:
                return {(world, frozenset())}
            raise AttributeError(name)
        found, scripts = set(), [()]  # type: set[Outcome], list[tuple[int, ...]]
        while scripts:
            script = scripts.pop()
            io = Effects(self.rules, self.ids[place], script)
            proc = world.procs[place]
            io.timers.update(proc.timers)
            body = self.rules.algorithm(**{n: thaw(v) for n, v in zip(self.names, proc.fields, strict=True)})
            handler(body, *event, io)
            again = frozenset(("fire", place, timer) for timer in io.set_anew & proc.timers)
            found.add((self._outcome(world, place, body, io), again))
            taken = [*script, *[0] * (len(io.asked) - len(script))]
            for at in range(len(script), len(io.asked)):
                scripts += [(*taken[:at], option) for option in range(1, io.asked[at])]
        return found

    def _outcome(self, world: World, place: int, body: Process, io: Effects) -> World:
        me, proc = self.ids[place], world.procs[place]
        phase, token, view, led = proc.phase, proc.token, proc.view, proc.led
        for granted in io.entered:
            if phase == "waiting":
                phase, token = "inside", granted
        for leader, term in io.named:
            view = (leader, term)
            led = led | {term} if leader == me else led
        after = proc._replace(
            fields=self._fields(body), phase=phase, token=token, view=view, led=led, timers=frozenset(io.timers)
        )
        channels = world.channels
        for to, message in io.sent:
            channel = place * len(self.ids) + self.ids.index(to)
            content = (*channels[channel], freeze(message))
            channels = _put(channels, channel, content if self.rules.fifo else tuple(sorted(content, key=repr)))
        return _changed(world, place, after)._replace(channels=channels)

    def _fields(self, body: Process) -> tuple[Frozen, ...]:
        return tuple(freeze(getattr(body, name)) for name in self.names)


def _snake(name: str) -> str:
    """VoteForMe becomes vote_for_me."""
    parts = [("_" if at and letter.isupper() and not name[at - 1].isupper() else "") + letter.lower()
             for at, letter in enumerate(name)]  # fmt: skip
    return "".join(parts)


def _put(values: tuple[Any, ...], place: int, value: Any) -> tuple[Any, ...]:
    return (*values[:place], value, *values[place + 1 :])


def _changed(world: World, place: int, proc: Proc) -> World:
    return world._replace(procs=_put(world.procs, place, proc))


def _left(world: World, fault: str) -> int:
    return dict(world.budget).get(fault, 0)


def _spent(world: World, fault: str) -> World:
    budget = tuple((name, count - (name == fault)) for name, count in world.budget)
    return world._replace(budget=budget)
