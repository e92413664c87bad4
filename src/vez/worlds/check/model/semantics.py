"""The definition of the possible steps: the semantics of the checker, one step at a time, in plain Python.

A global state consists of the processes' local states, the contents of the channels, and the faults that may still
happen. If time has bounds, each message in transit and each running timer has a remaining time; see `clock`. `steps`
defines what can happen next. The search computes the same steps for many states at once (`search/packed.py`), and tests
check that it agrees state for state. Counterexamples are built with `steps`.

Fairness is weak: a step that stays possible happens eventually. A message in transit is delivered, a timer that is due
and is not set again fires, a stay ends, a starter starts, the detector reports, and time passes if it may. Wants and
faults may or may not happen.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

from vez.core.identity import ForeignValue, identity, shapes
from vez.core.message import handler_name
from vez.worlds.check.model.causality import bare, machine_for
from vez.worlds.check.model.configuration import Configuration
from vez.worlds.check.model.foreign_values import foreign_field, foreign_message
from vez.worlds.check.model.local import IDLE, INSIDE, INSIDE_A_HANDLER, WAITING, Event, Local, Transition
from vez.worlds.check.model.observers import Observer
from vez.worlds.check.model.partitions import Partitions
from vez.worlds.check.model.state import (
    CRASHES,
    CRASHES_INSIDE,
    DUPLICATES,
    LOSSES,
    MISTAKES,
    PARTITIONS,
    PAUSES,
    RECOVERIES,
    WITHDRAWALS,
    State,
    Step,
    born,
    owed,
    put,
    spend,
)


class Model:
    """All runs of a configuration."""

    def __init__(self, configuration: Configuration, observer: Observer | None = None) -> None:
        self.configuration = configuration
        self.machine = machine_for(configuration, observer.needs if observer else frozenset())
        self.ids = configuration.ids
        self.n = len(self.ids)
        self.place = {process: place for place, process in enumerate(self.ids)}
        self.fifo = configuration.fifo
        self.ages = configuration.clock.delay_us > 0
        """True if messages take time. Equal messages of one channel then differ by their remaining delay."""
        self.observer = observer
        numbers = [
            frozenset(self.place[sender] * self.n + self.place[to] for sender, to in cut) for cut in configuration.cuts
        ]
        self.partitions = Partitions(numbers, configuration.budget.partitions)
        self.cuts = self.partitions.channels
        """The cut channels, by the number of the partitions in force."""
        self.locals: list[Local] = []
        self._local_numbers: dict[Hashable, int] = {}
        self.messages: list[Any] = []  # of Message, Stamped or Marked
        self._message_numbers: dict[Hashable, int] = {}
        self._memo: dict[tuple[int, int, Event], tuple[Transition, ...]] = {}
        self._all_starts: list[tuple[State, tuple[Transition, ...]]] | None = None
        self.watch: Callable[[int, int, Event, tuple[Transition, ...]], None] | None = None
        """Called with every local transition when it is first computed."""

    def forget(self) -> None:
        """Forget the results of a coarser tick.

        The codes of messages in transit depend on the tick, and so do the starts. Local transitions do not, but the
        observer of transitions (`watch`) may have been interrupted.
        """
        self._all_starts = None
        self._memo.clear()
        self.machine.cut = False

    def local_number(self, local: Local) -> int:
        """The number of a local state; equal states have the same number."""
        given = (*local.fields, local.token, local.view)  # values of the algorithm; other fields have known types
        try:
            number = self._local_numbers.setdefault((local, shapes(given)), len(self.locals))
        except ForeignValue as error:
            raise foreign_field(self, local, error) from None
        if number == len(self.locals):
            self.locals.append(local)
        return number

    def message_number(self, message: Any) -> int:
        """The number of a message; equal messages have the same number."""
        try:
            number = self._message_numbers.setdefault(identity(message), len(self.messages))
        except ForeignValue as error:
            raise foreign_message(self, message, error) from None
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
        """The event with its message, as the machine needs it. The model has the number of the message instead."""
        if event[0] == INSIDE_A_HANDLER:
            return (INSIDE_A_HANDLER, *self.real(event[1:]))
        return (*event[:2], self.messages[event[2]]) if event[0] == "deliver" else event

    def handler(self, event: Event) -> str:
        """The name of the handler that an event calls."""
        if event[0] == INSIDE_A_HANDLER:
            event = event[1:]
        if event[0] == "deliver":
            return handler_name(type(bare(self.messages[event[2]])))
        if event[0] == "fire":
            return f"on_timer_{event[1]}"
        return {"leave": "on_done"}.get(event[0], f"on_{event[0]}")

    def origin(self, outcome: Callable[[Transition], bool]) -> str:
        """The handler and process that had this outcome. It is only for errors, so it may be slow."""
        found = ((place, event) for (place, _, event), done in self._memo.items() if any(map(outcome, done)))
        place, event = next(found, (0, ("start",)))
        who = f" of process {self.ids[place]}" if event != ("start",) else ""
        return f"{self.configuration.algorithm.__name__}.{self.handler(event)}{who}"

    def handlers_run(self) -> set[str]:
        """The names of the handlers that were run so far."""
        return {self.handler(event) for _, _, event in self._memo}

    def append(self, content: tuple[int, ...], number: int) -> tuple[int, ...]:
        """A channel's content with one more message. If messages may overtake, the order is not kept."""
        under_way = (number + 1) * self.configuration.clock.span - 1  # with the longest delay left
        return (*content, under_way) if self.fifo else tuple(sorted((*content, under_way)))

    def message_of(self, under_way: int) -> int:
        """The number of a message in transit. The rest of its code is the number of ticks that it has left."""
        return under_way // self.configuration.clock.span

    def initial(self) -> list[State]:
        """The initial states: after `on_start` of every process."""
        return list(dict.fromkeys(state for state, _ in self.starts()))

    def starts(self) -> list[tuple[State, tuple[Transition, ...]]]:
        """The initial states, each with the outcome of `on_start` of every process."""
        return [start for start in self._starts() if not start[1][-1].raised]

    def failed_starts(self) -> list[tuple[State, tuple[Transition, ...]]]:
        """The starts that end in an exception: the state of the processes before the one that raised it."""
        return [start for start in self._starts() if start[1][-1].raised]

    def _starts(self) -> list[tuple[State, tuple[Transition, ...]]]:
        if self._all_starts is None:
            self._all_starts = self._computed_starts()
        return self._all_starts

    def _computed_starts(self) -> list[tuple[State, tuple[Transition, ...]]]:
        empty = State((), ((),) * (self.n * self.n), self.configuration.budget.counts())
        found: list[tuple[State, tuple[Transition, ...]]] = [(empty, ())]
        failed: list[tuple[State, tuple[Transition, ...]]] = []
        for place, process in enumerate(self.ids):
            outcomes = self.machine.initial(process)
            crashes = self.machine.initial_inside(process) if self._may_crash_inside(empty, place) else ()
            failed += [(state, (*before, one)) for state, before in found for one in outcomes if one.raised]
            found = [
                (self._apply(born(state), place, outcome), (*before, outcome))
                for state, before in found
                for outcome in (*outcomes, *(crashes if state.budget[CRASHES_INSIDE] else ()))
                if not outcome.raised
            ]
        return found + failed

    def _may_crash_inside(self, state: State, place: int) -> bool:
        """True if a process may crash inside a handler that it runs now."""
        return state.budget[CRASHES_INSIDE] > 0 and self.ids[place] in self.configuration.victims

    def _reactions(self, state: State, place: int, event: Event) -> Iterator[tuple[Transition, State]]:
        """The outcomes of an event, each with the state after it; crashes inside the handler come last."""
        outcomes = self.react(place, state.locals[place], event)
        if self._may_crash_inside(state, place):
            outcomes += self.react(place, state.locals[place], (INSIDE_A_HANDLER, *event))
        for outcome in outcomes:
            yield outcome, self._apply(state, place, outcome)

    def spontaneous(self, place: int, number: int) -> list[tuple[Event, bool]]:
        """Events of a process other than deliveries, each with True if it must happen eventually."""
        local = self.locals[number]
        if not local.alive:
            return []
        if local.paused:
            return [(("resume",), True)]
        events: list[tuple[Event, bool]] = []
        if local.phase == INSIDE:
            events.append((("leave",), True))
        elif local.left and local.phase == IDLE:
            mutex = self.configuration.algorithm.role == "mutex"
            events.append((("want",), False) if mutex else (("elect",), True))
        events += [(("fire", name), True) for name, left in local.timers if not left.earliest]
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
        for place in range(self.n):
            for event, must in self.spontaneous(place, state.locals[place]):
                yield from self._local_step(state, place, event, must)
        for place in range(self.n):
            for other in range(self.n):
                content = state.channels[other * self.n + place]
                for position, number in enumerate(content):
                    if position and (self.fifo or number == content[position - 1]):
                        continue
                    yield from self._message_steps(state, other, place, position)
        if self.configuration.detector:
            yield from self._words(state)
        yield from self._faults(state)
        yield from self._partition_steps(state)
        if self.configuration.synchronous and self._time_may_pass(state):
            yield self._advance(state)

    def _local_step(self, state: State, place: int, event: Event, must: bool) -> Iterator[Step]:
        for outcome, after in self._reactions(state, place, event):
            fair = (event[0], place, *event[1:]) if must else None
            yield Step(event[0], place, after, detail=event[1:], transition=outcome, fair=owed(fair, outcome))

    def _message_steps(self, state: State, sender: int, place: int, position: int) -> Iterator[Step]:
        """Steps that deliver, lose or duplicate one message."""
        channel = sender * self.n + place
        content = state.channels[channel]
        number, left = divmod(content[position], self.configuration.clock.span)
        rest = put(state.channels, channel, content[:position] + content[position + 1 :])
        fair = ("deliver", channel) if self.fifo else ("deliver", channel, content[position])
        taken = state._replace(channels=rest)
        if channel in self.cuts[state.partition]:
            yield Step("sever", place, taken, sender, number, left, fair=fair)
            return
        if self.locals[state.locals[place]].paused:
            return
        if not self.locals[state.locals[place]].alive:
            yield Step("drop", place, taken, sender, number, left, fair=fair)
            return
        event = ("deliver", self.ids[sender], number)
        for outcome, after in self._reactions(taken, place, event):
            yield Step("deliver", place, after, sender, number, left, transition=outcome, fair=owed(fair, outcome))
        if sender == place:
            return  # a message of a process to itself does not use the network
        if state.budget[LOSSES]:
            yield Step("lose", place, spend(taken, LOSSES), sender, number, left)
        if state.budget[DUPLICATES]:
            for outcome, after in self._reactions(spend(state, DUPLICATES), place, event):
                yield Step("duplicate", place, after, sender, number, left, transition=outcome)

    def _words(self, state: State) -> Iterator[Step]:
        """Steps of the failure detector, wrong suspicions included."""
        for place in range(self.n):
            local = self.locals[state.locals[place]]
            for other in range(self.n) if local.alive and not local.paused else ():
                if other == place:
                    continue
                peer, alive = self.ids[other], self.locals[state.locals[other]].alive
                told = peer in local.told
                if told != alive and (told or not state.budget[MISTAKES]):
                    continue
                mistake = not told and alive
                if not (told or mistake) and self.configuration.synchronous and self._speaks(state, other):
                    continue
                event = ("trust" if told else "suspect", peer)
                base = spend(state, MISTAKES) if mistake else state
                for outcome, after in self._reactions(base, place, event):
                    fair = None if mistake else owed((*event, place), outcome)
                    yield Step(event[0], place, after, other, transition=outcome, fair=fair)

    def _speaks(self, state: State, place: int) -> bool:
        """True if messages of a process are in transit. With known bounds they arrive before a report of its crash."""
        return any(
            content and not (self.locals[state.locals[to]].paused and self.overdue(content))
            for to, content in enumerate(state.channels[place * self.n : (place + 1) * self.n])
        )

    def _faults(self, state: State) -> Iterator[Step]:
        for place in range(self.n):
            local = self.locals[state.locals[place]]
            if local.alive:
                if state.budget[PAUSES] and not local.paused:
                    yield from self._fault(state, place, PAUSES, ("pause",))
                if state.budget[CRASHES] and self.ids[place] in self.configuration.victims:
                    yield from self._fault(state, place, CRASHES, ("crash",))
            elif state.budget[RECOVERIES]:
                yield from self._fault(state, place, RECOVERIES, ("recover", True))
                if self.configuration.amnesia:
                    yield from self._fault(state, place, RECOVERIES, ("recover", False))
            if state.budget[WITHDRAWALS] and local.phase == WAITING and not local.paused:
                yield from self._fault(state, place, WITHDRAWALS, ("withdraw",))

    def _partition_steps(self, state: State) -> Iterator[Step]:
        """Steps that cut or heal channels. Partitions may overlap, and a partition need not heal."""
        for cut, left in self.partitions.heals(state.partition):
            yield Step("heal", -1, state._replace(partition=left), detail=cut)
        for cut, grown in self.partitions.cuts(state.partition) if state.budget[PARTITIONS] else ():
            yield Step("cut", -1, spend(state, PARTITIONS)._replace(partition=grown), detail=cut)

    def _fault(self, state: State, place: int, which: int, event: Event) -> Iterator[Step]:
        for outcome, after in self._reactions(spend(state, which), place, event):
            yield Step(event[0], place, after, detail=event[1:], transition=outcome)

    def runs(self, number: int) -> bool:
        """True if a clock runs in a local state: of a timer, or of a stay that has a bound."""
        local = self.locals[number]
        return bool(local.timers) or local.stay is not None

    def due(self, number: int) -> bool:
        """True if a timer or stay of a local state is at its latest moment, so that time may not pass."""
        local = self.locals[number]
        return not local.paused and (local.stay == 0 or any(not left.latest for _, left in local.timers))

    def must_arrive(self, content: tuple[int, ...]) -> bool:
        """True if a message of a channel is at its latest moment. If messages take no time, every message is."""
        return any(under_way % self.configuration.clock.span == 0 for under_way in content)

    def overdue(self, content: tuple[int, ...]) -> bool:
        """True if all messages of a channel are at their latest moment. Messages for a paused process stay there."""
        return not any(under_way % self.configuration.clock.span for under_way in content)

    def _time_may_pass(self, state: State) -> bool:
        moving = self.configuration.clock.delay_us and any(state.channels)
        if not moving and not any(map(self.runs, state.locals)):
            return False
        if any(map(self.due, state.locals)):
            return False
        awake = [not self.locals[number].paused for number in state.locals]
        return not any(
            self.must_arrive(content) and awake[channel % self.n] for channel, content in enumerate(state.channels)
        )

    def after_tick(self, content: tuple[int, ...]) -> tuple[int, ...]:
        """A channel's content after a tick. Overdue messages for a paused process remain."""
        left = tuple(under_way - (under_way % self.configuration.clock.span > 0) for under_way in content)
        return left if self.fifo else tuple(sorted(left))

    def _advance(self, state: State) -> Step:
        """The step in which one tick passes, for everything that runs."""
        passed = self.configuration.clock.tick_us
        moved = tuple(
            self.local_number(self.react(place, number, ("advance", passed))[0].local) if self.runs(number) else number
            for place, number in enumerate(state.locals)
        )
        channels = tuple(map(self.after_tick, state.channels))
        after = state._replace(locals=moved, channels=channels)
        return Step("advance", -1, after, detail=passed, fair=("advance",))

    def _apply(self, state: State, place: int, outcome: Transition) -> State:
        if outcome.crashed_after >= 0:
            state = spend(state, CRASHES_INSIDE)
        channels = state.channels
        for to, message in outcome.sends:
            channel = place * self.n + self.place[to]
            if channel in self.cuts[state.partition]:
                continue
            channels = put(channels, channel, self.append(channels[channel], self.message_number(message)))
        locals_ = put(state.locals, place, self.local_number(outcome.local))
        observer = state.observer
        if self.observer is not None and outcome.visible:
            observer = self.observer.after(observer, self.ids[place], outcome.visible)
        return State(locals_, channels, state.budget, observer, state.partition)

    def shows(self, place: int, before: int, outcome: Transition) -> bool:
        """True if a safety property can see the outcome: a process enters, leaves, begins to lead or stops leading."""
        me, view = self.ids[place], self.locals[before].view
        led = view is not None and view[0] == me
        return any(
            self.observer is not None if seen[0] == "want" else seen[0] != "elected" or led or seen[1] == me
            for seen in outcome.visible
        )

    def waiting(self, state: State) -> list[int]:
        """Places of the waiting processes."""
        return [place for place, number in enumerate(state.locals) if self.locals[number].phase == WAITING]
