"""A second validator, written from docs/reference/traces.md and docs/reference/core.md alone.

It is simple rather than fast, gives no reasons, and follows the promises of the world only roughly: where it says no, the
trace is no run of the algorithm; where it says yes, it may have overlooked something. It imports the events and the
topologies of `vez.core`, and nothing of `vez.judge` and `vez.worlds`.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from vez.core import trace as e
from vez.core.process import DURABLE, PARAMETER, Process, marked
from vez.core.topology import TOPOLOGIES, Graph, Topology

WORLD = (e.Crashed, e.Paused, e.Resumed, e.Cut, e.Healed, e.Lost, e.Wrote)
EFFECTS = (e.Sent, e.Entered, e.Elected, e.TimerSet, e.TimerCancelled, e.Chose, e.Noted)
SHOWN = (e.Stored, e.Status, e.Viewed)
MOST = 64


class Wrong(Exception):
    """The trace is no run of the algorithm."""


class Stop(Exception):
    """The handler asks for a choice that the trace does not have."""


def plain(value: Any) -> str:
    return json.dumps(json.loads(msgspec.json.encode(value, order="sorted")), sort_keys=True)


def fields(body: Any) -> dict[str, Any]:
    return {name: getattr(body, name) for name in body.__struct_fields__}


def written(message: Any) -> dict[str, Any]:
    """The fields of a message as a trace has them: those with their default value are left out."""
    defaults = {one.name: one.default for one in msgspec.structs.fields(message)}
    return {name: value for name, value in fields(message).items() if plain_or_none(defaults[name]) != plain(value)}


def plain_or_none(value: Any) -> str | None:
    return None if value is msgspec.NODEFAULT else plain(value)


class Io:
    """What a handler may call; keeps a list of what it did."""

    def __init__(self, topology: Topology, me: int, choices: list[int]) -> None:
        self.topology, self.me, self.choices, self.log = topology, me, choices, list[tuple[Any, ...]]()
        self.peers = tuple(sorted({*topology.ids} - {me}))

    @property
    def neighbours(self) -> tuple[int, ...]:
        return self.topology.neighbours(self.me)

    @property
    def right(self) -> int:
        return self.topology.right(self.me)

    @property
    def left(self) -> int:
        return self.topology.left(self.me)

    @property
    def hub(self) -> int:
        return self.topology.hub

    def after(self, process: int) -> int:
        return self.topology.right(process)

    def send(self, to: int, message: Any) -> None:
        self.log.append(("send", to, message))

    def broadcast(self, message: Any) -> None:
        for peer in self.peers:
            self.send(peer, message)

    def set_timer(self, name: str, after_ms: float) -> None:
        self.log.append(("set", name, round(after_ms * 1000)))

    def cancel_timer(self, name: str) -> None:
        self.log.append(("cancel", name))

    def choose(self, options: Sequence[Any]) -> Any:
        if not self.choices:
            raise Stop
        index = self.choices.pop(0)
        self.log.append(("chose", len(options), index))
        if not 0 <= index < len(options):
            raise Stop
        return options[index]

    def enter(self, token: int | None = None) -> None:
        self.log.append(("enter", token))

    def elected(self, leader: int | None, term: int = 0) -> None:
        self.log.append(("elected", leader, term))

    def note(self, text: str) -> None:
        self.log.append(("note", text))


class State:
    """One explanation of what a process has done."""

    def __init__(self, body: Process) -> None:
        self.body, self.timers = body, dict[str, int]()


class Proc:
    """One process and its application."""

    def __init__(self) -> None:
        self.up, self.paused, self.phase, self.sent = False, False, "idle", 0
        self.started: Any = None
        self.token: int | None = None
        self.states: list[State] = []


class Naive:
    """Follows a trace. `accepts` says whether it is a run."""

    def __init__(self, trace: e.Trace, algorithm: Any) -> None:
        self.events, self.header, self.algorithm = trace.events, trace.header, algorithm
        ids = trace.header.ids
        name = trace.header.topology
        edges = tuple((one, other) for one, other in trace.header.edges if one < other)
        self.topology = Graph(ids, edges) if name in ("graph", "grid") else TOPOLOGIES[name](ids)
        self.procs = {process: Proc() for process in ids}
        self.messages: dict[tuple[int, int], Any] = {}
        self.to: dict[tuple[int, int], int] = {}
        self.count: dict[tuple[int, int], int] = {}
        self.lost: set[tuple[int, int]] = set()
        self.newest: dict[tuple[int, int], int] = {}
        self.cut: set[tuple[int, int]] = set()
        self.highest = 0
        self.durable = marked(algorithm, DURABLE)
        self.parameters = marked(algorithm, PARAMETER)

    def accepts(self) -> bool:
        """True if the trace is a run of the algorithm, as far as this can tell."""
        try:
            for index, event in enumerate(self.events):
                if isinstance(event, WORLD):
                    self.world(event)
                elif isinstance(event, (*EFFECTS, *SHOWN)):
                    self.need(self.cause(index) is not None)
                else:
                    self.step(index, event)
            self.end()
        except Wrong:
            return False
        return True

    def need(self, condition: object) -> None:
        if not condition:
            raise Wrong

    def cause(self, index: int) -> int | None:
        """The step to which an effect belongs: the last cause of its process, with no crash between."""
        me = self.events[index].process
        for place in range(index - 1, -1, -1):
            event = self.events[place]
            if event.process == me:
                if isinstance(event, e.Crashed):
                    return None
                if not isinstance(event, (*WORLD, *EFFECTS, *SHOWN)):
                    return place
        return None

    def outcomes(self, index: int) -> tuple[list[Any], Any]:
        """The effects of a step, and the event that ends it: a crash, the next cause, or None."""
        me, found = self.events[index].process, []
        for event in self.events[index + 1 :]:
            if event.process != me:
                continue
            if isinstance(event, (*EFFECTS, *SHOWN)):
                found.append(event)
            elif isinstance(event, e.Crashed) or not isinstance(event, WORLD):
                return found, event
        return found, None

    # The world.

    def world(self, event: Any) -> None:
        proc = self.procs[event.process]
        match event:
            case e.Crashed():
                self.need(proc.up)
                proc.up, proc.paused, proc.phase, proc.token = False, False, "idle", None
                for state in proc.states:
                    state.timers.clear()
            case e.Paused():
                self.need(proc.up and not proc.paused)
                proc.paused = True
            case e.Resumed():
                self.need(proc.up and proc.paused)
                proc.paused = False
                for state in proc.states:
                    state.timers = {name: max(due, event.at) for name, due in state.timers.items()}
            case e.Cut(to=to):
                self.need(to != event.process and (event.process, to) not in self.cut)
                self.cut.add((event.process, to))
            case e.Healed(to=to):
                self.need((event.process, to) in self.cut)
                self.cut.remove((event.process, to))
            case e.Lost():
                self.need(event.message in self.to)
                once = self.header.promises.once
                self.need(not once or (event.message not in self.lost and not self.count[event.message]))
                self.need(event.reason != "loss" or not self.header.promises.lossless)
                self.lost.add(event.message)
            case e.Wrote(token=token, accepted=accepted):
                self.need(proc.up and not proc.paused and proc.phase == "inside" and proc.token == token)
                self.need(accepted == (token >= self.highest))
                self.highest = max(self.highest, token)

    # Steps.

    def step(self, index: int, event: Any) -> None:
        proc = self.procs[event.process]
        self.need(not proc.paused)
        if isinstance(event, e.Started):
            self.need(proc.started is None)
            proc.started = self.born(event)
            proc.up, proc.states = True, [State(copy.copy(proc.started))]
        elif isinstance(event, e.Recovered):
            self.need(proc.started is not None and not proc.up)
            proc.up, proc.states = True, list(self.risen(event, proc))
        self.need(proc.up)
        self.overdue(event, proc)
        name, arguments = self.handler(event, proc)
        effects, after = self.outcomes(index)
        raised = self.header.end == "raised" and after is None and effects and effects[-1] is self.events[-1]
        torn = isinstance(after, e.Crashed) and not self.header.promises.whole_steps
        torn = torn or (after is None and self.header.end != "quiet" and not self.header.promises.whole_ends)
        handler = getattr(self.algorithm, name, None)
        if handler is None:
            self.need(raised or (torn and not effects))
            return
        found: list[State] = []
        for state in proc.states:
            found += self.followed(event, proc, state, handler, arguments, effects, torn, bool(raised))
        self.need(found and len(found) <= MOST)
        proc.states = found
        for effect in effects:
            if isinstance(effect, e.Entered):
                proc.phase, proc.token = "inside", effect.token
        if self.header.promises.instant:
            self.need(all(effect.at == event.at for effect in effects))

    def born(self, event: e.Started) -> Process:
        own = self.header.initial.get(str(event.process), {})
        usual, given = self.algorithm(), {}
        for one in msgspec.structs.fields(self.algorithm):
            for values in (event.parameters, own):
                if one.name in values and plain(values[one.name]) != plain(getattr(usual, one.name)):
                    try:
                        given[one.name] = msgspec.convert(values[one.name], one.type)
                    except msgspec.ValidationError:
                        raise Wrong from None
        body: Process = self.algorithm(**given)
        expected = {name: value for name, value in fields(body).items() if name not in self.parameters}
        self.need(set(event.parameters) == set(self.parameters))
        self.need(plain(event.fields) == plain(expected))
        starts = [one for one in self.events if isinstance(one, e.Started)]
        self.need(all(plain(one.parameters) == plain(event.parameters) for one in starts))
        return body

    def risen(self, event: e.Recovered, proc: Proc) -> Iterator[State]:
        for state in proc.states:
            body = copy.copy(proc.started)
            for name in self.durable if event.memory else ():
                setattr(body, name, getattr(state.body, name))
            kept = {name: getattr(body, name) for name in self.durable}
            if not event.fields or plain(event.fields) == plain(kept):
                yield State(body)

    def overdue(self, event: Any, proc: Proc) -> None:
        """In the simulator a timer runs out exactly when it is due, so nothing of its process comes between."""
        if self.header.promises.timers == "exact" and event.process not in self.header.drifting:
            proc.states = [one for one in proc.states if all(due >= event.at for due in one.timers.values())]
            self.need(proc.states)

    def handler(self, event: Any, proc: Proc) -> tuple[str, tuple[Any, ...]]:
        match event:
            case e.Started():
                return "on_start", ()
            case e.Recovered():
                return "on_start" if event.anew else "on_recover", ()
            case e.Wanted():
                self.need(proc.phase == "idle" and self.algorithm.role == "mutex")
                proc.phase = "waiting"
                return "on_want", ()
            case e.Withdrew():
                self.need(proc.phase == "waiting")
                proc.phase = "idle" if event.retracted else "withdrawn"
                return "on_withdraw", ()
            case e.Left():
                self.need(proc.phase == "inside")
                proc.phase, proc.token = "idle", None
                return "on_done", ()
            case e.Asked():
                self.need(self.algorithm.role == "election")
                return "on_elect", ()
            case e.Suspected(peer=peer) | e.Trusted(peer=peer):
                self.need(peer != event.process)
                return ("on_suspect" if isinstance(event, e.Suspected) else "on_trust"), (peer,)
            case e.Fired(name=name):
                early = self.header.promises.timers == "any" or event.process in self.header.drifting
                proc.states = [one for one in proc.states if name in one.timers
                               and (early or one.timers[name] <= event.at)]  # fmt: skip
                self.need(proc.states)
                for state in proc.states:
                    del state.timers[name]
                return f"on_timer_{name}", ()
            case e.Delivered():
                return self.delivery(event)
        raise AssertionError(event)

    def delivery(self, event: e.Delivered) -> tuple[str, tuple[Any, ...]]:
        self.need(self.to.get(event.message) == event.process)
        channel, promises = (event.sender, event.process), self.header.promises
        if promises.once:
            self.need(not self.count[event.message] and event.message not in self.lost)
        if promises.fifo:
            self.need(event.number >= self.newest.get(channel, 0))
        self.count[event.message] += 1
        self.newest[channel] = max(event.number, self.newest.get(channel, 0))
        message = self.messages[event.message]
        kind = type(message).__name__
        words = "".join(
            ("_" if place and one.isupper() and not kind[place - 1].isupper() else "") + one.lower()
            for place, one in enumerate(kind)
        )
        return f"on_{words}", (message, event.sender)

    def followed(
        self, event: Any, proc: Proc, before: State, handler: Any, arguments: Any, effects: list[Any], torn: bool,
        raised: bool,
    ) -> Iterator[State]:  # fmt: skip
        """The states after a handler if it does what the trace says, or a part of that if it was torn."""
        body = copy.copy(before.body)
        io = Io(self.topology, event.process, [one.index for one in effects if isinstance(one, e.Chose)])
        whole = True
        try:
            handler(body, *arguments, io)
        except Exception:  # of the algorithm, or of a missing choice
            whole = False
        phase, wanted = proc.phase, []
        timers, sent = dict(before.timers), proc.sent
        for what, *given in io.log:
            if what == "enter":
                wanted.append(("enter", *given) if phase in ("waiting", "withdrawn") else ("note", None))
                phase = "inside" if phase in ("waiting", "withdrawn") else phase
            elif what == "send":
                sent += 1
                wanted.append(("send", sent, given[0], type(given[1]).__name__, plain(written(given[1]))))
            else:
                wanted.append((what, *given))
        found = [one for one in map(described, effects) if one is not None]
        if raised:
            self.need(found and found.pop()[0] == "note")  # says which exception
        if not alike(found, wanted[: len(found)] if torn or raised else wanted) or not (whole or torn or raised):
            return
        count = sum(one[0] == "send" for one in found)
        for number, (_, to, message) in enumerate((one for one in io.log if one[0] == "send"), proc.sent + 1):
            if number <= proc.sent + count:
                self.messages[event.process, number], self.to[event.process, number] = message, to
                self.count.setdefault((event.process, number), 0)
        if torn or raised:
            proc.sent += count
            yield from self.halves(before, body, effects)
            return
        stored = {name: getattr(body, name) for name in self.durable
                  if plain(getattr(body, name)) != plain(getattr(before.body, name))}  # fmt: skip
        told = [one for one in effects if isinstance(one, e.Stored)]
        if len(told) != bool(stored) or any(plain(one.fields) != plain(stored) for one in told):
            return
        for what, *given in io.log:
            if what == "set":
                scale = self.header.promises.time_scale
                timers[given[0]] = event.at + max(1, int(given[1] * scale))
            elif what == "cancel":
                timers.pop(given[0], None)
        proc.sent = sent
        after = State(body)
        after.timers = timers
        yield after

    def halves(self, before: State, body: Process, effects: list[Any]) -> Iterator[State]:
        """After a crash inside a handler, or at the end of the run: the durable fields may have been stored or not."""
        told = [one for one in effects if isinstance(one, e.Stored)]
        for kept in (body,) if told else (before.body, body):
            half = State(copy.copy(kept))
            yield half

    # The end.

    def end(self) -> None:
        for proc in self.procs.values():
            self.need(proc.started is not None or not self.header.promises.whole_steps)
            if self.header.end in ("quiet", "finished") and proc.up:
                self.need(proc.phase != "inside")
            if self.header.end == "quiet" and proc.up:
                self.need(not proc.paused)
                self.need(any(not one.timers for one in proc.states))
        if self.header.end == "quiet":
            self.need(all(self.count[one] or one in self.lost for one in self.to))


def described(event: Any) -> tuple[Any, ...] | None:
    """An effect of a trace as `followed` describes those of a handler; None for what is only shown."""
    match event:
        case e.Sent():
            return "send", event.number, event.to, event.kind, plain(event.fields)
        case e.TimerSet():
            return "set", event.name, event.after_us
        case e.TimerCancelled():
            return "cancel", event.name
        case e.Chose():
            return "chose", event.options, event.index
        case e.Entered():
            return "enter", event.token
        case e.Elected():
            return "elected", event.leader, event.term
        case e.Noted():
            return "note", event.text
    return None


def alike(found: list[tuple[Any, ...]], wanted: list[tuple[Any, ...]]) -> bool:
    """True if the effects are the same. The words of a note about a spurious entry are not compared."""
    return len(found) == len(wanted) and all(
        one == other or (one[0] == "note" and other == ("note", None)) for one, other in zip(found, wanted, strict=True)
    )
