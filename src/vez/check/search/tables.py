"""Tables: the model's functions as arrays, filled when a key is first met.

One `ProcessTable` for each process: its local states, and the outcomes of its events. One `ChannelTable` for
each channel that was ever used: its contents, what can be taken out, what an appended burst makes of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from vez.check.model.local import Event, Transition
from vez.check.model.semantics import Model
from vez.check.search.store import Numbers, distinct

UNKNOWN, NONE = -2, -1


class Growing:
    """An array of numbers that grows on demand."""

    __slots__ = ("array", "blank", "length")

    def __init__(self, blank: int = 0) -> None:
        self.blank = blank
        self.length = 0
        self.array = np.full(64, blank, dtype=np.int64)

    def append(self, value: int) -> None:
        if self.length == len(self.array):
            self.reach(self.length)
        self.array[self.length] = value
        self.length += 1

    def reach(self, index: int) -> None:
        """Grow until the index is valid; new entries hold the blank."""
        if index >= len(self.array):
            grown = np.full(max(2 * len(self.array), index + 1), self.blank, dtype=np.int64)
            grown[: len(self.array)] = self.array
            self.array = grown


class Grid:
    """A two-dimensional table of numbers, unknown until computed."""

    __slots__ = ("flat", "rows", "width")

    def __init__(self) -> None:
        self.rows, self.width = 64, 8
        self.flat = np.full(self.rows * self.width, UNKNOWN, dtype=np.int64)

    def look_up(self, rows: Numbers, places: Numbers, compute: Callable[[int, int], int]) -> Numbers:
        """The entries at (row, place), computing those that are missing."""
        if not rows.size:
            return rows
        self._reach(int(rows.max()), int(places.max()))
        keys = rows * self.width + places
        found: Numbers = self.flat[keys]
        if found.min() == UNKNOWN:
            for key in distinct(keys[found == UNKNOWN]):
                self.flat[key] = compute(*divmod(key, self.width))
            found = self.flat[keys]
        return found

    def _reach(self, row: int, place: int) -> None:
        if row < self.rows and place < self.width:
            return
        rows, width = self.rows, self.width
        while row >= rows:
            rows *= 2
        while place >= width:
            width *= 2
        grown = np.full((rows, width), UNKNOWN, dtype=np.int64)
        grown[: self.rows, : self.width] = self.flat.reshape(self.rows, self.width)
        self.rows, self.width, self.flat = rows, width, grown.reshape(-1)


class ProcessTable:
    """One process: local states numbered from 0, outcomes of events in chains."""

    def __init__(self, model: Model, place: int) -> None:
        self.model = model
        self.place = place
        self.numbers: list[int] = []  # the model's number of each local state
        self._index: dict[int, int] = {}
        self.marks = Growing()  # bits that say something of a local state, see the explorer
        self.left = Growing()  # microseconds to the next timer; a huge number where none runs
        self.outcomes: list[Transition] = []
        self.events: list[Event] = []
        self.before: list[int] = []  # of each outcome: the local state before it
        self.local = Growing()  # of each outcome: the local state after it
        self.chain = Growing(NONE)  # and the next outcome of the same event
        self.must = Growing()  # 1 where fairness says that it happens some day
        self.visible = Growing()
        self.shown = Growing()  # of the first of a chain: 1 where an outcome of the chain is visible
        self.bursts: dict[int, Growing] = {}  # by channel: the number of the burst sent, 0 for none
        self.postponed: dict[str, Growing] = {}  # by timer: 1 where the outcome sets it anew although it was due
        self._heads: dict[Event, Growing] = {}
        self.describe: Callable[[int], tuple[int, int]] = lambda _: (0, 0)

    def index(self, number: int) -> int:
        """The place in this table of one of the model's local states."""
        found = self._index.setdefault(number, len(self.numbers))
        if found == len(self.numbers):
            self.numbers.append(number)
            marks, left = self.describe(number)
            self.marks.append(marks)
            self.left.append(left)
        return found

    def add(
        self, before: int, outcome: Transition, event: Event, visible: int, bursts: dict[int, int], must: bool
    ) -> int:
        """Record an outcome."""
        self.before.append(before)
        self.outcomes.append(outcome)
        self.events.append(event)
        self.local.append(self.index(self.model.local_number(outcome.local)))
        self.chain.append(NONE)
        self.must.append(int(must))
        self.visible.append(visible)
        number = len(self.outcomes) - 1
        for channel in bursts.keys() - self.bursts.keys():
            self.bursts[channel] = Growing()
        for channel, growing in self.bursts.items():
            growing.reach(number)
            growing.array[number] = bursts.get(channel, 0)
        self._note_postponed(number, before, outcome, event)
        return number

    def _note_postponed(self, number: int, before: int, outcome: Transition, event: Event) -> None:
        """A timer that is set anew waits anew: whoever does that for ever owes its firing to nobody."""
        for name in outcome.set_timers:
            due = (name, 0) in self.model.locals[self.numbers[before]].timers
            if due and event[:2] != ("fire", name):
                self.postponed.setdefault(name, Growing())
                self.postponed[name].reach(number)
                self.postponed[name].array[number] = 1
        for growing in self.postponed.values():
            growing.reach(number)

    def heads(self, event: Event, locals_: Numbers, compute: Callable[[int], int]) -> Numbers:
        """The first outcome of an event in each of some local states."""
        growing = self._heads.get(event)
        if growing is None:
            growing = self._heads[event] = Growing(UNKNOWN)
        growing.reach(len(self.numbers))
        found: Numbers = growing.array[locals_]
        if found.size and found.min() == UNKNOWN:
            for local in distinct(locals_[found == UNKNOWN]):
                head = compute(local)
                growing.reach(len(self.numbers))
                growing.array[local] = head
            found = growing.array[locals_]
        return found


class ChannelTable:
    """One channel: its contents numbered from 0, the empty one first."""

    def __init__(self, model: Model, column: int, sender: int, to: int) -> None:
        self.model = model
        self.column = column
        self.sender, self.to = sender, to
        self.contents: list[tuple[int, ...]] = []
        self._index: dict[tuple[int, ...], int] = {}
        self.messages: list[int] = []  # the model's number of each message seen on this channel
        self._message_index: dict[int, int] = {}
        self.bursts: list[tuple[int, ...]] = [()]
        self._burst_index: dict[tuple[int, ...], int] = {(): 0}
        self.options: list[tuple[Growing, Growing]] = []  # message and rest, for each way to take one out
        self.deliveries = Grid()
        self.appended = Grid()
        self.index(())

    def index(self, content: tuple[int, ...]) -> int:
        found = self._index.setdefault(content, len(self.contents))
        if found == len(self.contents):
            self.contents.append(content)
            self._add_options(found, content)
        return found

    def burst(self, messages: tuple[int, ...]) -> int:
        """The number of a burst: messages sent by one handler on this channel."""
        found = self._burst_index.setdefault(messages, len(self.bursts))
        if found == len(self.bursts):
            self.bursts.append(messages)
        return found

    def append(self, content: int, burst: int) -> int:
        """The content after a burst; NONE if it exceeds the capacity."""
        after, most = self.contents[content], self.model.configuration.capacity
        for number in self.bursts[burst]:
            after = self.model.append(after, number)
        if burst and most and len(after) > most:
            self.model.machine.cut = True
            return NONE
        return self.index(after)

    def _add_options(self, place: int, content: tuple[int, ...]) -> None:
        way = 0
        for position, number in enumerate(content):
            if position and (self.model.fifo or number == content[position - 1]):
                continue
            if way == len(self.options):
                self.options.append((Growing(NONE), Growing()))
            message, rest = self.options[way]
            message.reach(place)
            rest.reach(place)
            message.array[place] = self._message(number)
            remaining = self.index(content[:position] + content[position + 1 :])
            rest.reach(place)
            rest.array[place] = remaining
            way += 1
        for message, rest in self.options:
            message.reach(len(self.contents))
            rest.reach(len(self.contents))

    def _message(self, number: int) -> int:
        found = self._message_index.setdefault(number, len(self.messages))
        if found == len(self.messages):
            self.messages.append(number)
        return found


def fair_name(event: Event, place: int) -> tuple[Any, ...]:
    """The class of fairness of a process's own event, as the model names it."""
    return (*event, place) if event[0] in ("suspect", "trust") else (event[0], place, *event[1:])
