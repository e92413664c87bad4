"""Local: one process as a finite machine.

A process is deterministic between its choices, so (local state, event) → (local state, effects) is a
function. It is computed by running the real handler once, and remembered: the global search then never
runs a handler twice in the same state with the same event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from vez.check.model.configuration import Configuration
from vez.core.message import Message, handler_name
from vez.core.process import DURABLE, PARAMETER, Process, marked
from vez.errors import ProtocolBug, UnhandledMessage, VezError
from vez.sim.blame import blame_handler

T = TypeVar("T")
IDLE, WAITING, INSIDE = 0, 1, 2
MAX_BRANCHES = 10_000
"""Outcomes of one handler; a handler that chooses more often would not end in our lifetime."""


class Local(NamedTuple):
    """All that one process and the application above it remember."""

    fields: tuple[Any, ...]
    alive: bool
    left: int  # requests, or elections, that the application has still to ask for
    phase: int  # IDLE, WAITING or INSIDE
    token: int | None  # of the current stay
    view: tuple[int, int] | None  # whom it takes for the leader, and the term
    led: tuple[int, ...]  # the terms in which it ever took itself for the leader; history, so it outlives a crash
    timers: tuple[tuple[str, int], ...]  # those that run, by name, with the microseconds left where time is kept
    told: tuple[int, ...]  # the peers that the detector has told it are dead
    known: tuple[int, ...] = ()  # the requests that happened before, where they are followed; see `causality`


Event = tuple[Any, ...]
"""("want",), ("leave",), ("elect",), ("fire", name), ("suspect", peer), ("trust", peer), ("crash",),
("recover", memory), ("deliver", sender, message), ("advance", microseconds), ("start",)."""


class Transition(NamedTuple):
    """What an event did to a process, and what the process did to the world."""

    local: Local
    sends: tuple[tuple[int, Any], ...] = ()  # to whom, and a Message, or a Stamped one
    visible: tuple[
        tuple[Any, ...], ...
    ] = ()  # ("want",), ("enter", token), ("leave",), ("elected", leader, term), ("crash",)
    chosen: tuple[int, ...] = ()
    set_timers: tuple[str, ...] = ()  # in the order of setting; a replay counts them
    bug: str = ""


class Recorder:
    """An Io that does nothing and remembers what it was asked to do."""

    def __init__(self, configuration: Configuration, me: int, script: tuple[int, ...]) -> None:
        topology = configuration.topology
        self._configuration = configuration
        self._script = script
        self.me = me
        self.peers = topology.peers(me)
        self.neighbours = topology.neighbours(me)
        self.right = topology.right(me)
        self.hub = topology.hub
        self.sends: list[tuple[int, Message]] = []
        self.options: list[int] = []
        self.chosen: list[int] = []
        self.entered: list[int | None] = []
        self.named: list[tuple[int, int]] = []
        self.timers: dict[str, int] = {}
        self.set_timers: list[str] = []

    @property
    def left(self) -> int:
        return self._configuration.topology.left(self.me)

    def after(self, process: int) -> int:
        return self._configuration.topology.right(process)

    def send(self, to: int, message: Message) -> None:
        topology = self._configuration.topology
        if not isinstance(message, Message) or to not in topology.ids:
            raise ProtocolBug(f"process {self.me} sent {message!r} to {to!r}", hint="send a Message to a process")
        if to != self.me and not topology.has_channel(self.me, to):
            raise ProtocolBug(f"process {self.me} sent a {type(message).__name__} to {to}, to whom it has no channel")
        self.sends.append((to, message))

    def broadcast(self, message: Message) -> None:
        for peer in self.peers:
            self.send(peer, message)

    def set_timer(self, name: str, after_ms: float) -> None:
        if not hasattr(self._configuration.algorithm, f"on_timer_{name}"):
            raise ProtocolBug(f"process {self.me} set a timer {name!r} and has no on_timer_{name}")
        self.timers[name] = max(1, round(after_ms * 1000)) if self._configuration.synchronous else 0
        self.set_timers.append(name)

    def cancel_timer(self, name: str) -> None:
        self.timers.pop(name, None)

    def choose(self, options: Sequence[T]) -> T:
        if not options:
            raise ProtocolBug(f"process {self.me} chose among no options")
        index = self._script[len(self.chosen)] if len(self.chosen) < len(self._script) else 0
        self.options.append(len(options))
        self.chosen.append(index)
        return options[index]

    def enter(self, token: int | None = None) -> None:
        self.entered.append(token)

    def elected(self, leader: int, term: int = 0) -> None:
        self.named.append((leader, term))

    def note(self, text: str) -> None:
        """Remarks are for pictures; the replay of a counterexample makes them."""


class Machine:
    """The processes of a configuration, each as its own function from states and events to outcomes."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.algorithm: Any = configuration.algorithm
        self.cut = False
        """Whether something was not followed because a field went beyond its bound."""
        self._names = self.algorithm.__struct_fields__
        self._keeps = set(marked(self.algorithm, DURABLE)) | set(marked(self.algorithm, PARAMETER))
        self._fresh = {p: self._snapshot(configuration.setup.process(p)) for p in configuration.ids}

    def initial(self, process: int) -> tuple[Transition, ...]:
        """The process after `on_start`, for every choice in it."""
        left = self.configuration.requests[process]
        blank = Local(self._fresh[process], True, left, IDLE, None, None, (), (), ())
        return self._run(process, blank, self.algorithm.on_start)

    def react(self, process: int, local: Local, event: Event) -> tuple[Transition, ...]:
        """Every outcome of an event; more than one where the handler chooses."""
        kind = event[0]
        if kind == "deliver":
            return self._run(process, local, self._handler(type(event[2])), event[2], event[1])
        if kind == "want":
            wanting = _asked(local)._replace(phase=WAITING)
            return self._run(process, wanting, self.algorithm.on_want, visible=(("want",),))
        if kind == "elect":
            return self._run(process, _asked(local), self.algorithm.on_elect)
        if kind == "leave":
            outside = local._replace(phase=IDLE, token=None)
            return self._run(process, outside, self.algorithm.on_done, visible=(("leave",),))
        if kind == "fire":
            rest = tuple(timer for timer in local.timers if timer[0] != event[1])
            return self._run(process, local._replace(timers=rest), getattr(self.algorithm, f"on_timer_{event[1]}"))
        if kind in ("suspect", "trust"):
            return self._word(process, local, kind, event[1])
        if kind == "crash":
            return (Transition(self._dead(process, local), visible=(("crash",),)),)
        if kind == "recover":
            return self._recover(process, local, event[1])
        passed = tuple((name, left - event[1]) for name, left in local.timers)
        return (Transition(local._replace(timers=passed)),)

    def _handler(self, kind: type[Message]) -> Callable[..., None]:
        found: Callable[..., None] | None = getattr(self.algorithm, handler_name(kind), None)
        if found is None:
            raise UnhandledMessage(
                f"{self.algorithm.__name__} received a {kind.__name__} and has no {handler_name(kind)}",
                hint=f"define {handler_name(kind)}(self, message, sender, io)",
            )
        return found

    def _word(self, process: int, local: Local, kind: str, peer: int) -> tuple[Transition, ...]:
        told = set(local.told) | {peer} if kind == "suspect" else set(local.told) - {peer}
        local = local._replace(told=tuple(sorted(told)))
        handler = getattr(self.algorithm, f"on_{kind}", None)
        return (Transition(local),) if handler is None else self._run(process, local, handler, peer)

    def _dead(self, process: int, local: Local) -> Local:
        """What is left of a process that crashed: durable fields, if it may come back at all."""
        fields = self._fresh[process]
        if self.configuration.budget.recoveries:
            fields = self._mix(fields, local.fields)
        return Local(fields, False, local.left, IDLE, None, None, local.led, (), ())

    def _recover(self, process: int, local: Local, memory: bool) -> tuple[Transition, ...]:
        fields = local.fields if memory else self._fresh[process]
        risen = local._replace(fields=fields, alive=True)
        return self._run(process, risen, self.algorithm.on_recover, visible=(("recover",),))

    def _mix(self, fresh: tuple[Any, ...], old: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(
            kept if name in self._keeps else blank for name, blank, kept in zip(self._names, fresh, old, strict=True)
        )

    def _run(
        self,
        process: int,
        local: Local,
        handler: Callable[..., None],
        *arguments: Any,
        visible: tuple[tuple[Any, ...], ...] = (),
    ) -> tuple[Transition, ...]:
        outcomes: list[Transition] = []
        scripts: list[tuple[int, ...]] = [()]
        while scripts:
            script = scripts.pop()
            io = Recorder(self.configuration, process, script)
            io.timers.update(local.timers)
            body = self.algorithm(**dict(zip(self._names, local.fields, strict=True)))
            self._call(handler, body, arguments, io)
            if self.configuration.within(body):
                outcomes.append(self._outcome(process, local, body, io, visible))
            else:
                self.cut = True
            if len(outcomes) > MAX_BRANCHES:
                raise ProtocolBug(f"{handler.__name__} of process {process} has more than {MAX_BRANCHES} outcomes")
            for place in range(len(io.chosen) - 1, len(script) - 1, -1):
                prefix = tuple(io.chosen[:place])
                scripts += [(*prefix, index) for index in range(io.options[place] - 1, 0, -1)]
        try:
            return tuple({outcome._replace(chosen=()): outcome for outcome in reversed(outcomes)}.values())[::-1]
        except TypeError as error:
            raise ProtocolBug(
                f"{handler.__qualname__} of process {process} left or sent a value that can change in place: {error}",
                hint="use tuples and frozensets",
            ) from error

    def _call(self, handler: Callable[..., None], body: Process, arguments: tuple[Any, ...], io: Recorder) -> None:
        try:
            handler(body, *arguments, io)
        except VezError:
            raise
        except (Exception, SystemExit) as error:
            failed = blame_handler(error, lambda _: f"process {io.me}", (Recorder,))
            if failed is None:
                raise
            raise failed from error

    def _outcome(
        self, process: int, local: Local, body: Process, io: Recorder, visible: tuple[tuple[Any, ...], ...]
    ) -> Transition:
        phase, token, view, led, bug = local.phase, local.token, local.view, local.led, ""
        for entered in io.entered:
            if phase != WAITING:
                bug = f"process {process} called io.enter() but {'is inside already' if phase else 'did not want in'}"
                continue
            phase, token = INSIDE, entered
            visible += (("enter", entered),)
        for named in io.named:
            if named != view:
                visible += (("elected", *named),)
            view = named
            if named[0] == process and named[1] not in led:
                led = tuple(sorted((*led, named[1])))
        after = Local(
            self._snapshot(body),
            True,
            local.left,
            phase,
            token,
            view,
            led,
            tuple(sorted(io.timers.items())),
            local.told,
        )
        return Transition(after, tuple(io.sends), visible, tuple(io.chosen), tuple(io.set_timers), bug)

    def _snapshot(self, body: Process) -> tuple[Any, ...]:
        return tuple(getattr(body, name) for name in self._names)


def _asked(local: Local) -> Local:
    return local._replace(left=local.left - 1 if local.left > 0 else local.left)
