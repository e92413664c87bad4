"""Local: one process as a finite machine.

A process is deterministic between its choices, so (local state, event) → (local state, effects) is a
function. Its values are computed by running the real handler once, and cached: the global search never
runs a handler twice in the same state with the same event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from vez.core.effects import (
    CancelTimer,
    Choose,
    Effect,
    Elect,
    Enter,
    Send,
    SetTimer,
    check_text,
    spurious_entry,
    unasked_entry,
)
from vez.core.identity import ForeignValue, identity
from vez.core.message import Message
from vez.core.process import DURABLE, PARAMETER, Process, handlers_of, marked
from vez.core.purity import Call, Fields, Purity
from vez.core.recorder import ActionRecorder, Point, Recorder, Site
from vez.errors import ProtocolBug, UnhandledMessage
from vez.worlds.check.model.clock import AT_ANY_MOMENT, Countdown
from vez.worlds.check.model.configuration import Configuration
from vez.worlds.check.model.starters import may_go_unasked
from vez.worlds.sim.blame import Failure, blame_handler, is_ctrl_c
from vez.worlds.sim.delays import us

IDLE, WAITING, INSIDE, WITHDRAWN = 0, 1, 2, 3
"""Phases. WITHDRAWN: the application no longer waits, but the request remains, and the process may still enter."""
MAX_BRANCHES = 10_000
"""Largest number of outcomes of one handler. A handler with more choices cannot be explored."""


class Local(NamedTuple):
    """State of one process and of the application that uses it."""

    fields: tuple[Any, ...]
    alive: bool
    left: int  # requests, or elections, that the application will still ask for
    phase: int  # IDLE, WAITING, INSIDE or WITHDRAWN
    token: int | None  # of the current stay
    view: tuple[int, int] | None  # the leader that it names, and the term; None if it names none
    led: tuple[int, ...]  # the terms in which it ever named itself; this is history, so a crash does not erase it
    timers: tuple[tuple[str, Countdown], ...]  # running timers by name, with the time left if time is modelled
    told: tuple[int, ...]  # the peers that the detector has reported as dead
    stay: int | None = None  # microseconds for which it may still stay inside, if stays have a bound
    known: tuple[int, ...] = ()  # the requests that happened before, if they are counted; see `causality`
    paused: bool = False  # True if it does nothing while time passes
    took_part: bool = False  # True if it has sent a message or named a leader; only if starters `may_go_unasked`


Script = tuple[int, ...]
"""The first choices of a handler, as indices."""

Event = tuple[Any, ...]
"""("want",), ("leave",), ("elect",), ("fire", name), ("suspect", peer), ("trust", peer), ("crash",),
("recover", memory), ("withdraw",), ("pause",), ("resume",), ("deliver", sender, message), ("advance", microseconds),
("start",), and ("inside", *event) for a crash inside the handler of that event. The model and its users have the number
of the message instead of the message."""

INSIDE_A_HANDLER = "inside"


class Transition(NamedTuple):
    """Outcome of an event: the new local state and the effects."""

    local: Local
    sends: tuple[tuple[int, Any], ...] = ()  # the receiver, and a Message, Stamped or Marked
    visible: tuple[tuple[Any, ...], ...] = ()
    """("want",), ("enter", token), ("leave",), ("elected", leader, term), ("crash",), ("withdraw",), and the arrivals
    of `doorway`."""
    chosen: tuple[int, ...] = ()
    set_timers: tuple[str, ...] = ()  # timers in the order of setting; a replay counts them
    bug: str = ""
    crashed_after: int = -1  # the number of actions before a crash inside the handler; -1 without such a crash
    raised: Failure | None = None  # the exception of the handler; the run ends there


class Occasion(NamedTuple):
    """A call of a handler: the local state just before, and the visible part of the event itself."""

    local: Local
    handler: Callable[..., None]
    arguments: tuple[Any, ...] = ()
    visible: tuple[tuple[Any, ...], ...] = ()


class Machine:
    """The processes of a configuration as functions: local state and event → outcomes."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.algorithm: Any = configuration.algorithm
        self.cut = False
        """True if an outcome was not explored because a field exceeded its bound."""
        self.purity = Purity(self._repeat, in_order=configuration.budget.crashes_inside > 0)
        self._names = self.algorithm.__struct_fields__
        self._durable = marked(self.algorithm, DURABLE)
        self._keeps = set(self._durable) | set(marked(self.algorithm, PARAMETER))
        self._handlers = handlers_of(configuration.algorithm)
        self._describes_itself = (self.algorithm.status, self.algorithm.view) != (Process.status, Process.view)
        self._described: set[tuple[Any, ...]] = set()
        self._remembers = may_go_unasked(configuration)
        self._blanks: dict[int, tuple[tuple[Any, ...], Process]] = {}  # by the identity of the fields
        self._sites = {p: Site(configuration.algorithm, configuration.topology, p) for p in configuration.ids}
        self._fresh = {p: msgspec.structs.astuple(configuration.setup.process(p)) for p in configuration.ids}

    def initial(self, process: int) -> tuple[Transition, ...]:
        """The outcomes of `on_start`, one for each combination of choices."""
        return self._run(process, self._start(process))

    def initial_inside(self, process: int) -> tuple[Transition, ...]:
        """The outcomes of a crash inside `on_start`."""
        return self._run_inside(process, self._start(process))

    def react(self, process: int, local: Local, event: Event) -> tuple[Transition, ...]:
        """The outcomes of an event; more than one if the handler chooses."""
        kind = event[0]
        if kind == INSIDE_A_HANDLER:
            occasion = self._occasion(process, local, event[1:])
            return () if occasion is None else self._run_inside(process, occasion)
        if kind == "crash":
            return (Transition(self._dead(process, local), visible=(("crash",),)),)
        if kind in ("pause", "resume"):
            return (Transition(local._replace(paused=kind == "pause")),)
        if kind == "advance":
            passed = tuple((name, left.after(event[1])) for name, left in local.timers)
            stay = None if local.stay is None else max(0, local.stay - event[1])
            return (Transition(local._replace(timers=passed, stay=stay)),)
        occasion = self._occasion(process, local, event)
        return (Transition(_told(local, event)),) if occasion is None else self._run(process, occasion)

    def _start(self, process: int) -> Occasion:
        left = self.configuration.requests[process]
        blank = Local(self._fresh[process], True, left, IDLE, None, None, (), (), ())
        return Occasion(blank, self.algorithm.on_start)

    def _occasion(self, process: int, local: Local, event: Event) -> Occasion | None:
        """The call that an event makes; None if the algorithm has no handler for it."""
        kind, algorithm = event[0], self.algorithm
        if kind == "deliver":
            return Occasion(local, self._message_handler(type(event[2])), (event[2], event[1]))
        if kind == "want":
            return Occasion(_asked(local)._replace(phase=WAITING), algorithm.on_want, visible=(("want",),))
        if kind == "elect":
            return Occasion(_asked(local), algorithm.on_elect)
        if kind == "leave":
            outside = local._replace(phase=IDLE, token=None, stay=None)
            return Occasion(outside, algorithm.on_done, visible=(("leave",),))
        if kind == "withdraw":
            gone = local._replace(phase=IDLE if algorithm.can_retract() else WITHDRAWN)
            return Occasion(gone, algorithm.on_withdraw, visible=(("withdraw",),))
        if kind == "fire":
            rest = tuple(timer for timer in local.timers if timer[0] != event[1])
            return Occasion(local._replace(timers=rest), self._handlers.timer(event[1]))
        if kind == "recover":
            risen = local._replace(fields=local.fields if event[1] else self._fresh[process], alive=True)
            return Occasion(risen, algorithm.on_recover, visible=(("recover",),))
        handler = getattr(algorithm, f"on_{kind}", None)
        return None if handler is None else Occasion(_told(local, event), handler, (event[1],))

    def _message_handler(self, kind: type[Message]) -> Callable[..., None]:
        try:
            return self._handlers.message(kind)
        except UnhandledMessage as error:
            return _raising(error)

    def _dead(self, process: int, local: Local) -> Local:
        """Local state of a crashed process: its durable fields are kept only if it may recover."""
        fields = self._fresh[process]
        if self.configuration.budget.recoveries:
            fields = self._mix(fields, local.fields)
        return Local(fields, False, local.left, IDLE, None, None, local.led, (), (), took_part=local.took_part)

    def _mix(self, fresh: tuple[Any, ...], old: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(
            kept if name in self._keeps else blank for name, blank, kept in zip(self._names, fresh, old, strict=True)
        )

    def _run(self, process: int, occasion: Occasion) -> tuple[Transition, ...]:
        outcomes = [
            self._outcome(process, occasion.local, fields, io.effects, occasion.visible)
            for io, fields in self._calls(process, occasion)
        ]
        return _distinct(process, occasion.handler, outcomes)

    def _run_inside(self, process: int, occasion: Occasion) -> tuple[Transition, ...]:
        """The outcomes of a crash after each action of a handler except the last."""
        outcomes = []
        for io, fields in self._calls(process, occasion, inside=True):
            chosen = tuple(effect.chosen for effect in io.effects if type(effect) is Choose)
            for after, point in enumerate(io.points() if isinstance(io, ActionRecorder) else ()):
                done = self._outcome(process, occasion.local, fields, io.effects[: point.effects], occasion.visible)
                dead = self._dead(process, done.local._replace(fields=self._fields_at(occasion.local, point)))
                seen = (*done.visible, ("crash",))
                outcomes.append(done._replace(local=dead, visible=seen, chosen=chosen, crashed_after=after))
        return _distinct(process, occasion.handler, outcomes)

    def _fields_at(self, before: Local, point: Point) -> tuple[Any, ...]:
        durable = dict(zip(self._durable, point.durable, strict=True))
        return tuple(durable.get(name, old) for name, old in zip(self._names, before.fields, strict=True))

    def _calls(self, process: int, occasion: Occasion, *, inside: bool = False) -> Iterator[tuple[Recorder, Fields]]:
        """Call a handler once for each combination of choices. Yields its effects and the fields after it; leaves out
        outcomes beyond a bound."""
        local, handler, arguments, _ = occasion
        blank = self._blank(local.fields)
        scripts: list[Script] = [()]
        found = 0
        while scripts:
            script = scripts.pop()
            call = Call(process, blank, handler, arguments, script)
            io, body = self._call(call, inside=inside)
            after = msgspec.structs.astuple(body)
            if not inside:
                self.purity.note(call, io.effects, after)
                if self._describes_itself and not (io.effects and isinstance(io.effects[-1], Failure)):
                    self._describe(process, io, body, after)
            choices = [effect for effect in io.effects if type(effect) is Choose]
            for place in range(len(choices) - 1, len(script) - 1, -1):
                prefix = tuple(choice.chosen for choice in choices[:place])
                scripts += [(*prefix, index) for index in range(len(choices[place].options) - 1, 0, -1)]
            if self.configuration.bounds and not self.configuration.within(body):
                self.cut = True
                continue
            found += 1
            if found > MAX_BRANCHES:
                raise ProtocolBug(f"{handler.__name__} of process {process} has more than {MAX_BRANCHES} outcomes")
            yield io, after

    def _blank(self, fields: tuple[Any, ...]) -> Process:
        """A process with these fields, which no handler has run on. All events of a local state share it."""
        known = self._blanks.get(id(fields))
        if known is None or known[0] is not fields:
            body = self.algorithm(**dict(zip(self._names, fields, strict=True)))
            known = self._blanks[id(fields)] = fields, body
        return known[1]

    def _repeat(self, call: Call) -> tuple[list[Effect], tuple[Any, ...]]:
        io, body = self._call(call)
        return io.effects, msgspec.structs.astuple(body)

    def _call(self, call: Call, *, inside: bool = False) -> tuple[Recorder, Process]:
        """Run a handler. Its first choices are those of the script; all others take the first option."""
        body: Process = call.body.__copy__()
        site = self._sites[call.process]
        pick = _scripted(call.script) if call.script else _first
        io = ActionRecorder(site, pick, body) if inside else Recorder(site, pick)
        try:
            call.handler(body, *call.arguments, io)
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            io.effects.append(_failure(error, call.process))  # type: ignore[arg-type]
        return io, body

    def _describe(self, process: int, io: Recorder, body: Process, fields: tuple[Any, ...]) -> None:
        """Call `status` and `view` of a process, as a recorded simulation does after every handler.

        Either may raise. They depend only on the fields, so they are called once for each state.
        """
        key = (fields, tuple(map(type, fields)))
        try:
            if key in self._described:
                return
        except TypeError:
            return  # a mutable value, which is refused later
        try:
            check_text(self.algorithm.__name__, f"status() of process {process} gave", body.status())
            body.view()
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            io.effects = [*io.effects, _failure(error, process)]  # type: ignore[list-item]
        else:
            self._described.add(key)

    def _outcome(
        self,
        process: int,
        local: Local,
        fields: Fields,
        effects: Sequence[Effect | Failure],
        visible: tuple[tuple[Any, ...], ...],
    ) -> Transition:
        phase, token, stay, view, led, bug = local.phase, local.token, local.stay, local.view, local.led, ""
        timers = dict(local.timers)
        sends: list[tuple[int, Any]] = []
        chosen: list[int] = []
        set_timers: list[str] = []
        for effect in effects:
            match effect:
                case Send(to, message):
                    sends.append((to, message))
                case SetTimer(name, after_ms):
                    timed = self.configuration.synchronous
                    timers[name] = self.configuration.clock.timer(us(after_ms)) if timed else AT_ANY_MOMENT
                    set_timers.append(name)
                case CancelTimer(name):
                    timers.pop(name, None)
                case Choose(_, index):
                    chosen.append(index)
                case Enter(entered) if phase in (WAITING, WITHDRAWN):
                    phase, token, stay = INSIDE, entered, self.configuration.clock.stay_us
                    visible += (("enter", entered),)
                case Enter():
                    bug = spurious_entry(process, inside=phase == INSIDE)
                    if not self.configuration.excuses_entries:
                        name, role = self.algorithm.__name__, self.algorithm.role
                        unasked = unasked_entry(name, role, process, inside=phase == INSIDE)
                        return Transition(local, visible=visible, chosen=tuple(chosen), raised=Failure(unasked))
                case Elect(leader, term):
                    named = None if leader is None else (leader, term)
                    if named != view:
                        visible += (("elected", leader, term),)
                    view = named
                    if leader == process and term not in led:
                        led = tuple(sorted((*led, term)))
                case Failure():
                    return Transition(local, visible=visible, chosen=tuple(chosen), raised=effect)
        running = tuple(sorted(timers.items())) if timers else ()
        took_part = local.took_part or (self._remembers and _takes_part(effects))
        after = Local(  # `_replace` takes three times as long, and this runs for every new outcome
            fields, True, local.left, phase, token, view, led, running, local.told, stay, local.known, local.paused,
            took_part,
        )  # fmt: skip
        return Transition(after, tuple(sends), visible, tuple(chosen), tuple(set_timers), bug)


def _first(_: int) -> int:
    return 0


def _scripted(script: Script) -> Callable[[int], int]:
    left = iter(script)
    return lambda _: next(left, 0)


def _raising(error: UnhandledMessage) -> Callable[..., None]:
    def handler(*arguments: Any) -> None:
        raise error

    return handler


def _failure(error: BaseException, process: int) -> Failure:
    """The failure of a handler. Raises the error again if it does not come from a handler."""
    if isinstance(error, ProtocolBug):
        return Failure(error)
    failed = None if is_ctrl_c(error) else blame_handler(error, lambda _: f"process {process}", (Recorder,))
    if failed is None:
        raise error
    return Failure(failed)


def _takes_part(effects: Sequence[Effect | Failure]) -> bool:
    """True if a message is sent or a leader is named."""
    return any(isinstance(one, Send) or (isinstance(one, Elect) and one.leader is not None) for one in effects)


def _asked(local: Local) -> Local:
    return local._replace(left=local.left - 1 if local.left > 0 else local.left)


def _told(local: Local, event: Event) -> Local:
    """The local state after a report of the failure detector."""
    told = set(local.told) | {event[1]} if event[0] == "suspect" else set(local.told) - {event[1]}
    return local._replace(told=tuple(sorted(told)))


def _distinct(process: int, handler: Callable[..., None], outcomes: list[Transition]) -> tuple[Transition, ...]:
    """The outcomes that differ in more than the choices that led to them."""
    try:
        if len(outcomes) == 1:
            hash(outcomes[0])
            return (outcomes[0],)
        same = {
            (identity(outcome._replace(chosen=(), raised=None)), outcome.raised): outcome
            for outcome in reversed(outcomes)
        }
        return tuple(same.values())[::-1]
    except ForeignValue as error:
        raise error.refusal(f"{handler.__qualname__} of process {process} left or sent") from None
    except TypeError as error:
        raise ProtocolBug(
            f"{handler.__qualname__} of process {process} left or sent a value that can change in place: {error}",
            hint="use tuples and frozensets",
        ) from error
