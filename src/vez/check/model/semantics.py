"""Model: the semantics of the second world, one step at a time, in plain Python.

A global state is the processes' local states, the contents of the channels, and the faults that may still
happen. `steps` is the definition of what can happen next. The packed explorer must agree with it state for
state, the tests say so; counterexamples are walked with it.

Fairness is weak: what is possible all the time happens in the end. A message under way is delivered, a timer that is
due and is not set anew fires, a stay ends, a starter starts, the detector speaks, and time passes when nothing else
can. Wants and faults may or may not happen.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any, NamedTuple

from vez.check.model.causality import CausalMachine, bare
from vez.check.model.configuration import BUDGETS, Configuration
from vez.check.model.identity import identity, shape
from vez.check.model.local import IDLE, INSIDE, WAITING, Event, Local, Machine, Transition
from vez.core.message import handler_name

CRASHES, RECOVERIES, LOSSES, DUPLICATES, MISTAKES, WITHDRAWALS = range(len(BUDGETS))
NOTHING = Transition(Local((), False, 0, IDLE, None, None, (), (), ()))


class State(NamedTuple):
    """A global state in small integers: local states, channel contents (message numbers), budgets, observer."""

    locals: tuple[int, ...]
    channels: tuple[tuple[int, ...], ...]
    budget: tuple[int, ...]
    observer: int = 0


class Step(NamedTuple):
    """One thing that happens. `process` and `other` are places, not identifiers."""

    kind: str
    process: int
    state: State
    other: int = -1
    message: int = -1
    detail: Any = None
    transition: Transition = NOTHING
    fair: tuple[Any, ...] | None = None  # its class of fairness, None for what need not happen


class Model:
    """All runs of a configuration."""

    def __init__(self, configuration: Configuration, observer: Observer | None = None, *, causal: bool = False) -> None:
        """`causal`: processes and messages carry the requests that happened before them."""
        self.configuration = configuration
        self.machine = CausalMachine(configuration) if causal else Machine(configuration)
        self.ids = configuration.ids
        self.n = len(self.ids)
        self.place = {process: place for place, process in enumerate(self.ids)}
        self.fifo = configuration.fifo
        self.observer = observer
        self.locals: list[Local] = []
        self._local_numbers: dict[Hashable, int] = {}
        self.messages: list[Any] = []  # of Message or Stamped
        self._message_numbers: dict[Hashable, int] = {}
        self._memo: dict[tuple[int, int, Event], tuple[Transition, ...]] = {}
        self.watch: Callable[[int, int, Event, tuple[Transition, ...]], None] | None = None
        """Called with every local transition when it is first computed."""

    def local_number(self, local: Local) -> int:
        """The number of a local state; equal states have the same number."""
        given = (local.fields, local.token, local.view)  # what the algorithm gave; the types of the rest are ours
        number = self._local_numbers.setdefault((local, shape(given)), len(self.locals))
        if number == len(self.locals):
            self.locals.append(local)
        return number

    def message_number(self, message: Any) -> int:
        """The number of a message; equal messages have the same number."""
        number = self._message_numbers.setdefault(identity(message), len(self.messages))
        if number == len(self.messages):
            self.messages.append(message)
        return number

    def react(self, place: int, local: int, event: Event) -> tuple[Transition, ...]:
        """The outcomes of an event at a process; cached."""
        key = (place, local, event)
        found = self._memo.get(key)
        if found is None:
            found = self._memo[key] = self.machine.react(self.ids[place], self.locals[local], self.real(event))
            if self.watch is not None:
                self.watch(place, local, event, found)
        return found

    def real(self, event: Event) -> Event:
        """The event as the machine takes it: the model names a message by its number."""
        return (*event[:2], self.messages[event[2]]) if event[0] == "deliver" else event

    def handler(self, event: Event) -> str:
        """The name of the handler that an event calls."""
        if event[0] == "deliver":
            return handler_name(type(bare(self.messages[event[2]])))
        if event[0] == "fire":
            return f"on_timer_{event[1]}"
        return {"leave": "on_done"}.get(event[0], f"on_{event[0]}")

    def handlers_run(self) -> set[str]:
        """The names of the handlers that were run so far."""
        return {self.handler(event) for _, _, event in self._memo}

    def append(self, content: tuple[int, ...], number: int) -> tuple[int, ...]:
        """A channel's content with one more message; where any may overtake, the order is not kept."""
        return (*content, number) if self.fifo else tuple(sorted((*content, number)))

    def initial(self) -> list[State]:
        """The initial states: after `on_start` of every process."""
        return list(dict.fromkeys(state for state, _ in self.starts()))

    def starts(self) -> list[tuple[State, tuple[Transition, ...]]]:
        """The initial states, each with the outcome of `on_start` of every process."""
        empty = State((), ((),) * (self.n * self.n), self.configuration.budget.counts())
        found: list[tuple[State, tuple[Transition, ...]]] = [(empty, ())]
        for place, process in enumerate(self.ids):
            found = [
                (self._apply(state._replace(locals=(*state.locals, 0)), place, outcome), (*before, outcome))
                for state, before in found
                for outcome in self.machine.initial(process)
            ]
        return found

    def spontaneous(self, place: int, number: int) -> list[tuple[Event, bool]]:
        """Events of a process other than deliveries, each with True if it must happen eventually."""
        local = self.locals[number]
        if not local.alive:
            return []
        events: list[tuple[Event, bool]] = []
        if local.phase == INSIDE:
            events.append((("leave",), True))
        elif local.left and local.phase == IDLE:
            mutex = self.configuration.algorithm.role == "mutex"
            events.append((("want",), False) if mutex else (("elect",), True))
        events += [(("fire", name), True) for name, left in local.timers if left == 0]
        return events

    def steps(self, state: State) -> Iterator[Step]:
        """Everything that can happen next, in a fixed order, within the capacity of the channels."""
        most = self.configuration.capacity
        for step in self._steps(state):
            if not most or all(len(content) <= most for content in step.state.channels):
                yield step
            else:
                self.machine.cut = True

    def _steps(self, state: State) -> Iterator[Step]:
        quiet = True
        for place in range(self.n):
            for event, must in self.spontaneous(place, state.locals[place]):
                quiet = quiet and not self.blocks_time(event)
                yield from self._local_step(state, place, event, must)
        for place in range(self.n):
            for other in range(self.n):
                content = state.channels[other * self.n + place]
                for position, number in enumerate(content):
                    if position and (self.fifo or number == content[position - 1]):
                        continue
                    quiet = False
                    yield from self._message_steps(state, other, place, position)
        if self.configuration.detector:
            for step in self._words(state):
                quiet = quiet and step.fair is None
                yield step
        yield from self._faults(state)
        if quiet:
            yield from self._advance(state)

    def blocks_time(self, event: Event) -> bool:
        """True if time stands still while a process could do this."""
        return event[0] == "fire" or (event[0] == "leave" and self.configuration.bounded_stay)

    def _local_step(self, state: State, place: int, event: Event, must: bool) -> Iterator[Step]:
        for outcome in self.react(place, state.locals[place], event):
            after = self._apply(state, place, outcome)
            fair = (event[0], place, *event[1:]) if must else None
            yield Step(event[0], place, after, detail=event[1:], transition=outcome, fair=fair)

    def _message_steps(self, state: State, sender: int, place: int, position: int) -> Iterator[Step]:
        """Steps that deliver, lose or duplicate one message."""
        channel = sender * self.n + place
        content = state.channels[channel]
        number = content[position]
        rest = _with(state.channels, channel, content[:position] + content[position + 1 :])
        fair = ("deliver", channel) if self.fifo else ("deliver", channel, number)
        taken = state._replace(channels=rest)
        if not self.locals[state.locals[place]].alive:
            yield Step("drop", place, taken, sender, number, fair=fair)
            return
        event = ("deliver", self.ids[sender], number)
        outcomes = self.react(place, state.locals[place], event)
        for outcome in outcomes:
            after = self._apply(taken, place, outcome)
            yield Step("deliver", place, after, sender, number, transition=outcome, fair=fair)
        if sender == place:
            return  # what a process tells itself crosses no network
        if state.budget[LOSSES]:
            yield Step("lose", place, _spend(taken, LOSSES), sender, number)
        if state.budget[DUPLICATES]:
            for outcome in outcomes:
                after = self._apply(_spend(state, DUPLICATES), place, outcome)
                yield Step("duplicate", place, after, sender, number, transition=outcome)

    def _words(self, state: State) -> Iterator[Step]:
        """Steps of the failure detector, wrong suspicions included."""
        for place in range(self.n):
            local = self.locals[state.locals[place]]
            for other in range(self.n) if local.alive else ():
                if other == place:
                    continue
                peer, alive = self.ids[other], self.locals[state.locals[other]].alive
                told = peer in local.told
                if told != alive and (told or not state.budget[MISTAKES]):
                    continue
                mistake = not told and alive
                if not mistake and self.configuration.synchronous and self._speaks(state, other):
                    continue
                event = ("trust" if told else "suspect", peer)
                base = _spend(state, MISTAKES) if mistake else state
                for outcome in self.react(place, state.locals[place], event):
                    after = self._apply(base, place, outcome)
                    fair = None if mistake else (*event, place)
                    yield Step(event[0], place, after, other, transition=outcome, fair=fair)

    def _speaks(self, state: State, place: int) -> bool:
        """True if messages of a process are under way; with known bounds they arrive before word of its crash."""
        return any(state.channels[place * self.n : (place + 1) * self.n])

    def _faults(self, state: State) -> Iterator[Step]:
        for place in range(self.n):
            if self.locals[state.locals[place]].alive:
                if state.budget[CRASHES] and self.ids[place] in self.configuration.victims:
                    yield from self._fault(state, place, CRASHES, ("crash",))
            elif state.budget[RECOVERIES]:
                yield from self._fault(state, place, RECOVERIES, ("recover", True))
                if self.configuration.amnesia:
                    yield from self._fault(state, place, RECOVERIES, ("recover", False))

            if state.budget[WITHDRAWALS] and self.locals[state.locals[place]].phase == WAITING:
                yield from self._fault(state, place, WITHDRAWALS, ("withdraw",))

    def _fault(self, state: State, place: int, which: int, event: Event) -> Iterator[Step]:
        for outcome in self.react(place, state.locals[place], event):
            after = self._apply(_spend(state, which), place, outcome)
            yield Step(event[0], place, after, detail=event[1:], transition=outcome)

    def _advance(self, state: State) -> Iterator[Step]:
        """If nothing else can happen, let time pass until the next timer is due."""
        timers = [self.locals[number].timers for number in state.locals]
        left = [us for running in timers for _, us in running]
        if not left or min(left) == 0:
            return
        passed = min(left)
        moved = tuple(
            self.local_number(self.react(place, number, ("advance", passed))[0].local) if timers[place] else number
            for place, number in enumerate(state.locals)
        )
        yield Step("advance", -1, state._replace(locals=moved), detail=passed, fair=("advance",))

    def _apply(self, state: State, place: int, outcome: Transition) -> State:
        channels = state.channels
        for to, message in outcome.sends:
            channel = place * self.n + self.place[to]
            channels = _with(channels, channel, self.append(channels[channel], self.message_number(message)))
        locals_ = _with(state.locals, place, self.local_number(outcome.local))
        observer = state.observer
        if self.observer is not None and outcome.visible:
            observer = self.observer.after(observer, self.ids[place], outcome.visible)
        return State(locals_, channels, state.budget, observer)

    def shows(self, place: int, before: int, outcome: Transition) -> bool:
        """True if a safety property can see the outcome: somebody gets in or out, begins or ceases to lead."""
        me, view = self.ids[place], self.locals[before].view
        led = view is not None and view[0] == me
        return any(
            self.observer is not None if seen[0] == "want" else seen[0] != "elected" or led or seen[1] == me
            for seen in outcome.visible
        )

    def waiting(self, state: State) -> list[int]:
        """Places of the waiting processes."""
        return [place for place, number in enumerate(state.locals) if self.locals[number].phase == WAITING]


class Observer:
    """Something that watches what becomes visible and remembers what a property needs; see `observers`."""

    def after(self, number: int, process: int, visible: tuple[tuple[Any, ...], ...]) -> int:
        """The observer's next state."""
        raise NotImplementedError

    def broken(self, number: int) -> tuple[str, ...]:
        """The properties that a state of the observer says are broken."""
        raise NotImplementedError


def _with(values: tuple[Any, ...], place: int, value: Any) -> tuple[Any, ...]:
    return (*values[:place], value, *values[place + 1 :])


def _spend(state: State, which: int) -> State:
    return state._replace(budget=_with(state.budget, which, state.budget[which] - 1))
