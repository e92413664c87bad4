"""Local: one process as a finite machine.

A process is deterministic between its choices, so (local state, event) → (local state, effects) is a
function. It is computed by running the real handler once, and remembered: the global search then never
runs a handler twice in the same state with the same event.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from vez.check.model.configuration import Configuration
from vez.check.model.identity import identity
from vez.check.model.purity import Call, Purity
from vez.core.effects import CancelTimer, Choose, Effect, Elect, Enter, Send, SetTimer, spurious_entry
from vez.core.process import DURABLE, PARAMETER, Process, handlers_of, marked
from vez.core.recorder import Recorder, Site
from vez.errors import ProtocolBug, VezError
from vez.sim.blame import blame_handler

IDLE, WAITING, INSIDE, WITHDRAWN = 0, 1, 2, 3
"""Phases. WITHDRAWN: the application no longer waits, but the request stays, and the process may be let in."""
MAX_BRANCHES = 10_000
"""Largest number of outcomes of one handler; one that chooses more often cannot be explored."""


class Local(NamedTuple):
    """State of one process and of the application that uses it."""

    fields: tuple[Any, ...]
    alive: bool
    left: int  # requests, or elections, that the application has still to ask for
    phase: int  # IDLE, WAITING, INSIDE or WITHDRAWN
    token: int | None  # of the current stay
    view: tuple[int, int] | None  # whom it takes for the leader, and the term; None: nobody
    led: tuple[int, ...]  # the terms in which it ever took itself for the leader; history, so it outlives a crash
    timers: tuple[tuple[str, int], ...]  # those that run, by name, with the microseconds left where time is kept
    told: tuple[int, ...]  # the peers that the detector has told it are dead
    known: tuple[int, ...] = ()  # the requests that happened before, where they are followed; see `causality`


Script = tuple[int, ...]
"""The first choices of a handler, as indices."""

Event = tuple[Any, ...]
"""("want",), ("leave",), ("elect",), ("fire", name), ("suspect", peer), ("trust", peer), ("crash",),
("recover", memory), ("withdraw",), ("deliver", sender, message), ("advance", microseconds), ("start",). The model and
what is built on it have the number of the message in its place."""


class Transition(NamedTuple):
    """Outcome of an event: the new local state and the effects."""

    local: Local
    sends: tuple[tuple[int, Any], ...] = ()  # to whom, and a Message, or a Stamped one
    visible: tuple[
        tuple[Any, ...], ...
    ] = ()  # ("want",), ("enter", token), ("leave",), ("elected", leader, term), ("crash",), ("withdraw",)
    chosen: tuple[int, ...] = ()
    set_timers: tuple[str, ...] = ()  # in the order of setting; a replay counts them
    bug: str = ""


class Machine:
    """The processes of a configuration as functions: local state and event → outcomes."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.algorithm: Any = configuration.algorithm
        self.cut = False
        """True if something was not followed because a field went beyond its bound."""
        self.purity = Purity(self._repeat)
        self._names = self.algorithm.__struct_fields__
        self._keeps = set(marked(self.algorithm, DURABLE)) | set(marked(self.algorithm, PARAMETER))
        self._handlers = handlers_of(configuration.algorithm)
        self._sites = {p: Site(configuration.algorithm, configuration.topology, p) for p in configuration.ids}
        self._fresh = {p: self._snapshot(configuration.setup.process(p)) for p in configuration.ids}

    def initial(self, process: int) -> tuple[Transition, ...]:
        """The outcomes of `on_start`, one for each way to choose."""
        left = self.configuration.requests[process]
        blank = Local(self._fresh[process], True, left, IDLE, None, None, (), (), ())
        return self._run(process, blank, self.algorithm.on_start)

    def react(self, process: int, local: Local, event: Event) -> tuple[Transition, ...]:
        """The outcomes of an event; more than one if the handler chooses."""
        kind = event[0]
        if kind == "deliver":
            return self._run(process, local, self._handlers.message(type(event[2])), event[2], event[1])
        if kind == "want":
            wanting = _asked(local)._replace(phase=WAITING)
            return self._run(process, wanting, self.algorithm.on_want, visible=(("want",),))
        if kind == "elect":
            return self._run(process, _asked(local), self.algorithm.on_elect)
        if kind == "leave":
            outside = local._replace(phase=IDLE, token=None)
            return self._run(process, outside, self.algorithm.on_done, visible=(("leave",),))
        if kind == "withdraw":
            gone = local._replace(phase=IDLE if self.algorithm.can_retract() else WITHDRAWN)
            return self._run(process, gone, self.algorithm.on_withdraw, visible=(("withdraw",),))
        if kind == "fire":
            rest = tuple(timer for timer in local.timers if timer[0] != event[1])
            return self._run(process, local._replace(timers=rest), self._handlers.timer(event[1]))
        if kind in ("suspect", "trust"):
            return self._word(process, local, kind, event[1])
        if kind == "crash":
            return (Transition(self._dead(process, local), visible=(("crash",),)),)
        if kind == "recover":
            return self._recover(process, local, event[1])
        passed = tuple((name, left - event[1]) for name, left in local.timers)
        return (Transition(local._replace(timers=passed)),)

    def _word(self, process: int, local: Local, kind: str, peer: int) -> tuple[Transition, ...]:
        told = set(local.told) | {peer} if kind == "suspect" else set(local.told) - {peer}
        local = local._replace(told=tuple(sorted(told)))
        handler = getattr(self.algorithm, f"on_{kind}", None)
        return (Transition(local),) if handler is None else self._run(process, local, handler, peer)

    def _dead(self, process: int, local: Local) -> Local:
        """Local state of a crashed process: its durable fields are kept only if it may recover."""
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
            effects, body = self._record(process, local, handler, arguments, script)
            choices = [effect for effect in effects if type(effect) is Choose]
            if self.configuration.within(body):
                outcomes.append(self._outcome(process, local, body, effects, visible))
            else:
                self.cut = True
            if len(outcomes) > MAX_BRANCHES:
                raise ProtocolBug(f"{handler.__name__} of process {process} has more than {MAX_BRANCHES} outcomes")
            for place in range(len(choices) - 1, len(script) - 1, -1):
                prefix = tuple(choice.chosen for choice in choices[:place])
                scripts += [(*prefix, index) for index in range(len(choices[place].options) - 1, 0, -1)]
        try:
            if len(outcomes) == 1:
                hash(outcomes[0])
                return (outcomes[0],)
            same = {identity(outcome._replace(chosen=())): outcome for outcome in reversed(outcomes)}
            return tuple(same.values())[::-1]
        except TypeError as error:
            raise ProtocolBug(
                f"{handler.__qualname__} of process {process} left or sent a value that can change in place: {error}",
                hint="use tuples and frozensets",
            ) from error

    def _record(
        self, process: int, local: Local, handler: Callable[..., None], arguments: tuple[Any, ...], script: Script
    ) -> tuple[list[Effect], Process]:
        """Run a handler; its first choices are those of the script, the others take the first option."""
        call = Call(process, local.fields, handler, arguments, script)
        effects, body = self._call(call)
        self.purity.note(call, effects, self._snapshot(body))
        return effects, body

    def _repeat(self, call: Call) -> tuple[list[Effect], tuple[Any, ...]]:
        effects, body = self._call(call)
        return effects, self._snapshot(body)

    def _call(self, call: Call) -> tuple[list[Effect], Process]:
        left = iter(call.script)
        io = Recorder(self._sites[call.process], lambda _: next(left, 0))
        body: Process = self.algorithm(**dict(zip(self._names, call.fields, strict=True)))
        try:
            call.handler(body, *call.arguments, io)
        except VezError:
            raise
        except (Exception, SystemExit) as error:
            failed = blame_handler(error, lambda _: f"process {call.process}", (Recorder,))
            if failed is None:
                raise
            raise failed from error
        return io.effects, body

    def _outcome(
        self, process: int, local: Local, body: Process, effects: list[Effect], visible: tuple[tuple[Any, ...], ...]
    ) -> Transition:
        phase, token, view, led, bug = local.phase, local.token, local.view, local.led, ""
        timers = dict(local.timers)
        sends: list[tuple[int, Any]] = []
        chosen: list[int] = []
        set_timers: list[str] = []
        for effect in effects:
            match effect:
                case Send(to, message):
                    sends.append((to, message))
                case SetTimer(name, after_ms):
                    timers[name] = max(1, round(after_ms * 1000)) if self.configuration.synchronous else 0
                    set_timers.append(name)
                case CancelTimer(name):
                    timers.pop(name, None)
                case Choose(_, index):
                    chosen.append(index)
                case Enter(entered) if phase in (WAITING, WITHDRAWN):
                    phase, token = INSIDE, entered
                    visible += (("enter", entered),)
                case Enter():
                    bug = spurious_entry(process, inside=phase == INSIDE)
                case Elect(leader, term):
                    named = None if leader is None else (leader, term)
                    if named != view:
                        visible += (("elected", leader, term),)
                    view = named
                    if leader == process and term not in led:
                        led = tuple(sorted((*led, term)))
        after = local._replace(
            fields=self._snapshot(body),
            alive=True,
            phase=phase,
            token=token,
            view=view,
            led=led,
            timers=tuple(sorted(timers.items())),
        )
        return Transition(after, tuple(sends), visible, tuple(chosen), tuple(set_timers), bug)

    def _snapshot(self, body: Process) -> tuple[Any, ...]:
        return msgspec.structs.astuple(body)


def _asked(local: Local) -> Local:
    return local._replace(left=local.left - 1 if local.left > 0 else local.left)
