"""Tables: the model's functions as arrays, filled when a key is first used.

Each process has a `ProcessTable`: its local states, and the outcomes of its events. Each channel that was ever used has
a `ChannelTable`: its contents, the messages that can be taken out, and the contents after an appended burst.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from vez.worlds.check.arrays import Numbers, distinct, np
from vez.worlds.check.model.local import Event, Transition
from vez.worlds.check.model.semantics import Model

T = TypeVar("T")

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
        grown, keys = np.full(rows * width, UNKNOWN, dtype=np.int64), np.arange(len(self.flat))
        grown[keys // self.width * width + keys % self.width] = self.flat
        self.rows, self.width, self.flat = rows, width, grown


class ProcessTable:
    """One process: local states numbered from 0, outcomes of events in chains."""

    def __init__(self, model: Model, place: int) -> None:
        self.model = model
        self.place = place
        self.numbers: list[int] = []  # the model's number of each local state
        self._index: dict[int, int] = {}
        self.marks = Growing()  # marks of each local state, see `layout`
        self.outcomes: list[Transition] = []
        self.events: list[Event] = []
        self.before: list[int] = []  # by outcome: the local state before it
        self.local = Growing()  # by outcome: the local state after it
        self.chain = Growing(NONE)  # by outcome: the next outcome of the same event
        self.must = Growing()  # 1 if fairness requires that it happens eventually
        self.visible = Growing()
        self.shown = Growing()  # by first outcome of a chain: 1 if an outcome of the chain is visible
        self.bursts: dict[int, Growing] = {}  # by channel: the number of the burst sent, 0 for none
        self.postponed: dict[str, Growing] = {}  # by timer: 1 if the outcome sets it again although it was due
        self._heads: dict[Event, Growing] = {}
        self.describe: Callable[[int], int] = lambda _: 0

    def index(self, number: int) -> int:
        """The index in this table of one of the model's local states."""
        found = self._index.setdefault(number, len(self.numbers))
        if found == len(self.numbers):
            self.numbers.append(number)
            self.marks.append(self.describe(number))
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
        for channel, burst in bursts.items():
            _set(self.bursts, channel, number, burst)
        if outcome.set_timers:
            self._note_postponed(number, before, outcome, event)
        return number

    def _note_postponed(self, number: int, before: int, outcome: Transition, event: Event) -> None:
        """Note a due timer that is set again. It starts again, so fairness does not require that it fires."""
        left = dict(self.model.locals[self.numbers[before]].timers)
        for name in outcome.set_timers:
            due = name in left and not left[name].earliest
            if due and event[:2] != ("fire", name):
                _set(self.postponed, name, number, 1)

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
        self.options: list[tuple[Growing, Growing]] = []  # message and remaining content, for each way to take one out
        self.under_way: list[int] = []  # each message with each remaining delay, as the model numbers them
        self._under_way_index: dict[int, int] = {}
        self.taken: list[Growing] = []  # for each way: the one of these that it takes; filled if messages take time
        self.must_arrive = Growing()  # by content: 1 if one of its messages is at its latest moment
        self.overdue = Growing()  # by content: 1 if all of its messages are
        self._after_tick = Growing(UNKNOWN)
        self.deliveries = Grid()
        self.crashes = Grid()  # crashes inside the handler of a delivery
        self.appended = Grid()
        self.index(())

    def index(self, content: tuple[int, ...]) -> int:
        found = self._index.setdefault(content, len(self.contents))
        if found == len(self.contents):
            self.contents.append(content)
            self.must_arrive.append(int(self.model.must_arrive(content)))
            self.overdue.append(int(self.model.overdue(content)))
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

    def after_tick(self, contents: Numbers) -> Numbers:
        """The contents after a tick of the clock."""
        growing = self._after_tick
        growing.reach(len(self.contents))
        found: Numbers = growing.array[contents]
        if found.size and found.min() == UNKNOWN:
            for content in distinct(contents[found == UNKNOWN]):
                growing.array[content] = self.index(self.model.after_tick(self.contents[content]))
            found = growing.array[contents]
        return found

    def _add_options(self, place: int, content: tuple[int, ...]) -> None:
        way = 0
        for position, number in enumerate(content):
            if position and (self.model.fifo or number == content[position - 1]):
                continue
            if way == len(self.options):
                self.options.append((Growing(NONE), Growing()))
                self.taken.append(Growing())
            if self.model.ages:
                self.taken[way].reach(place)
                self.taken[way].array[place] = _numbered(number, self.under_way, self._under_way_index)
            message, rest = self.options[way]
            message.reach(place)
            rest.reach(place)
            message.array[place] = _numbered(self.model.message_of(number), self.messages, self._message_index)
            remaining = self.index(content[:position] + content[position + 1 :])
            rest.reach(place)
            rest.array[place] = remaining
            way += 1
        for message, rest in self.options:
            message.reach(len(self.contents))
            rest.reach(len(self.contents))


def _set(columns: dict[T, Growing], name: T, number: int, value: int) -> None:
    """Write a value into a column that most outcomes do not have. Readers must first let the column grow."""
    growing = columns.get(name)
    if growing is None:
        growing = columns[name] = Growing()
    growing.reach(number)
    growing.array[number] = value


def _numbered(value: int, known: list[int], places: dict[int, int]) -> int:
    """The index of a value among the known ones. A new value is appended."""
    found = places.setdefault(value, len(known))
    if found == len(known):
        known.append(value)
    return found


def fair_name(event: Event, place: int) -> tuple[Any, ...]:
    """The class of fairness of a process's own event, as the model names it."""
    return (*event, place) if event[0] in ("suspect", "trust") else (event[0], place, *event[1:])
