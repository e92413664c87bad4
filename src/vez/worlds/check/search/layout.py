"""Layout: a model's states as words, and its functions as tables, for the packed search.

The code of this module runs once for each new local state, channel content or outcome. The search itself (`packed`)
only reads the tables.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from vez.worlds.check.arrays import PLAIN, Numbers, Words, np
from vez.worlds.check.model.local import INSIDE, INSIDE_A_HANDLER, WAITING, Event, Transition
from vez.worlds.check.model.semantics import Model
from vez.worlds.check.model.state import State
from vez.worlds.check.search.columns import ColumnOverflow, Columns
from vez.worlds.check.search.dict_store import DictStore
from vez.worlds.check.search.store import Store
from vez.worlds.check.search.tables import NONE, ChannelTable, Grid, Growing, ProcessTable, fair_name

ALIVE, IS_DUE, IS_INSIDE, HAS_LED, IS_WAITING, RUNS, IS_PAUSED = 1, 2, 4, 8, 16, 32, 64
"""Marks of local states. RUNS: a clock runs in it. IS_DUE: one of its clocks has run out, so time may not pass."""


class Layout:
    """Columns and tables of a model, for the packed search."""

    def __init__(self, model: Model) -> None:
        self.model = model
        n = self.n = model.n
        self.store: Columns = DictStore() if PLAIN else Store()
        self.processes = [ProcessTable(model, place) for place in range(n)]
        for table in self.processes:
            table.describe = self._describe
            self.store.add_column(6)
        self.initial_budget = model.configuration.budget.counts()
        self.radix = _radices(self.initial_budget)
        total = _product(count + 1 for count in self.initial_budget)
        self.budget_column = self.store.add_column((total - 1).bit_length()) if total > 1 else NONE
        budget, victims = model.configuration.budget, model.configuration.victims
        self.may_crash_inside = [budget.crashes_inside > 0 and process in victims for process in model.ids]
        self.partition_column = self.store.add_column((len(model.cuts) - 1).bit_length()) if model.cuts[1:] else NONE
        in_force = range(len(model.cuts))
        self.cut = [np.array([channel in cut for cut in model.cuts], dtype=bool) for channel in range(n * n)]
        """By channel, and by the partitions in force: True if one of them cuts the channel."""
        self.heals = _columns([dict(enumerate(left for _, left in model.partitions.heals(p))) for p in in_force])
        """One array for each cut in force, by the partitions in force: the partitions after it heals, or NONE."""
        self.begins = _columns([dict(model.partitions.cuts(p)) for p in in_force])
        """One array for each cut, by the partitions in force: the partitions after it is made, or NONE."""
        self.observer_column = self.store.add_column(4) if model.observer else NONE
        self._observed = Grid()
        self.channels: dict[int, ChannelTable] = {}
        self._visible: dict[tuple[int, Any], int] = {}
        self._visibles: list[tuple[int, Any]] = []
        self.fair_numbers: dict[tuple[Any, ...], int] = {}
        self.bugs: list[tuple[int, int, str]] = []
        """Places and local states in which the handler of a possible event breaks a rule, with a description."""
        self.raised: list[tuple[int, int]] = []
        """Places and local states in which the handler of a possible event raises an exception."""

    def bytes_for_each(self, successors: float) -> float:
        """Bytes that a batch needs for each of its states, until its successors are stored."""
        columns, words = len(self.store.columns), len(self.store.words)
        bits = sum(column.bits for column in self.store.columns)
        return columns * 40 + successors * (bits / 8 + 160) if PLAIN else columns * 10 + successors * (16 * words + 64)

    # Conversion from and to the model's states.

    def pack(self, state: State) -> list[int]:
        """A state packed into machine words."""
        values: dict[int, int] = {}
        for place, number in enumerate(state.locals):
            values[place] = self.processes[place].index(number)
        for channel, content in enumerate(state.channels):
            if content or channel in self.channels:
                table = self.channel(channel)
                values[table.column] = table.index(content)
        if self.budget_column >= 0:
            values[self.budget_column] = sum(r * count for r, count in zip(self.radix, state.budget, strict=True))
        if self.observer_column >= 0:
            values[self.observer_column] = state.observer
        if self.partition_column >= 0:
            values[self.partition_column] = state.partition
        words = [0] * len(self.store.words)
        for place, value in values.items():
            self.check_width(place, value)
            column = self.store.columns[place]
            words[column.word] |= value << int(column.shift)
        return words

    def unpack(self, number: int) -> State:
        """A stored state, as a state of the model."""
        words = self.store.slice(number, number + 1)

        def get(place: int) -> int:
            return int(self.store.values(words, place)[0])

        locals_ = tuple(table.numbers[get(place)] for place, table in enumerate(self.processes))
        contents: list[tuple[int, ...]] = [()] * (self.n * self.n)
        for channel, table in self.channels.items():
            contents[channel] = table.contents[get(table.column)]
        budget = self.initial_budget
        if self.budget_column >= 0:
            value = get(self.budget_column)
            budget = tuple(value // r % (most + 1) for r, most in zip(self.radix, budget, strict=True))
        observer = get(self.observer_column) if self.observer_column >= 0 else 0
        partition = get(self.partition_column) if self.partition_column >= 0 else 0
        return State(locals_, tuple(contents), budget, observer, partition)

    def insert_initial(self, smallest: Callable[[Words], Words] = lambda words: words) -> None:
        """Store the initial states, or their representatives."""
        for state in self.model.initial():
            self.store.insert(self.retry(partial(self._initial, state, smallest)), np.array([self.store.count]))

    def _initial(self, state: State, smallest: Callable[[Words], Words]) -> Words:
        return smallest([np.array([word], dtype=np.uint64) for word in self.pack(state)])

    def retry(self, action: Callable[[], Any]) -> Any:
        """Repeat the action with wider columns until every value fits."""
        while True:
            try:
                return action()
            except ColumnOverflow as overflow:
                place, bits = overflow.args
                self.store.widen(place, bits + (2 if bits > 4 else 1))

    def check_width(self, place: int, value: int) -> None:
        """Raise `ColumnOverflow` if a value does not fit into its column."""
        bits = value.bit_length()
        if bits > self.store.columns[place].bits:
            raise ColumnOverflow(place, bits)

    # Filling the tables.

    def _own_events(self, place: int, local: int) -> int:
        return self._chain(place, local, self.model.spontaneous(place, self.processes[place].numbers[local]))

    def _delivery(self, channel: ChannelTable, local: int, message: int) -> int:
        table = self.processes[channel.to]
        number = table.numbers[local]
        if not self.model.locals[number].alive:
            dropped = Transition(self.model.locals[number])
            return table.add(local, dropped, ("drop",), 0, {}, True)
        event = ("deliver", self.model.ids[channel.sender], channel.messages[message])
        return self._chain(channel.to, local, [(event, True)])

    def _crashes_in_own_events(self, place: int, local: int) -> int:
        own = self.model.spontaneous(place, self.processes[place].numbers[local])
        return self._chain(place, local, [((INSIDE_A_HANDLER, *event), False) for event, _ in own])

    def _crash_in_delivery(self, channel: ChannelTable, local: int, message: int) -> int:
        if not self.model.locals[self.processes[channel.to].numbers[local]].alive:
            return NONE
        event = ("deliver", self.model.ids[channel.sender], channel.messages[message])
        return self._chain(channel.to, local, [((INSIDE_A_HANDLER, *event), False)])

    def _after_time(self, place: int, event: Event, local: int) -> int:
        return self._chain(place, local, [(event, True)])

    def _chain(self, place: int, local: int, events: list[tuple[Event, bool]]) -> int:
        """Record the outcomes of these events as a linked chain; returns the number of the first, or NONE."""
        table, head, last = self.processes[place], NONE, NONE
        for event, must in events:
            for outcome in self.model.react(place, table.numbers[local], event):
                if outcome.raised:
                    self.raised.append((place, local))
                    continue
                visible = self._visible_number(place, outcome.visible)
                number = table.add(local, outcome, event, visible, self._bursts(place, outcome), must)
                if outcome.bug:
                    self.bugs.append((place, local, outcome.bug))
                if last >= 0:
                    table.chain.array[last] = number
                head = number if head < 0 else head
                last = number
                if outcome.visible and self.model.shows(place, table.numbers[local], outcome):
                    table.shown.reach(max(head, number))
                    table.shown.array[head] = 1
        table.shown.reach(len(table.outcomes))
        return head

    def _bursts(self, place: int, outcome: Transition) -> dict[int, int]:
        if not outcome.sends:
            return {}
        sent: dict[int, tuple[int, ...]] = {}
        for to, message in outcome.sends:
            channel = place * self.n + self.model.place[to]
            sent[channel] = (*sent.get(channel, ()), self.model.message_number(message))
        return {channel: self.channel(channel).burst(messages) for channel, messages in sent.items()}

    def channel(self, channel: int) -> ChannelTable:
        """The table of a channel, made when it is first used."""
        table = self.channels.get(channel)
        if table is None:
            sender, to = divmod(channel, self.n)
            table = self.channels[channel] = ChannelTable(self.model, self.store.add_column(3), sender, to)
        return table

    def _visible_number(self, place: int, visible: Any) -> int:
        if not visible:
            return 0
        key = (self.model.ids[place], visible)
        number = self._visible.setdefault(key, len(self._visible) + 1)
        if number > len(self._visibles):
            self._visibles.append(key)
        return number

    def _observe(self, state: int, visible: int) -> int:
        if not visible or self.model.observer is None:
            return state
        return self.model.observer.after(state, *self._visibles[visible - 1])

    def _describe(self, number: int) -> int:
        local = self.model.locals[number]
        marks = ALIVE * local.alive | IS_INSIDE * (local.phase == INSIDE) | HAS_LED * bool(local.led)
        marks |= IS_WAITING * (local.phase == WAITING)
        marks |= IS_PAUSED * local.paused
        return marks | RUNS * self.model.runs(number) | IS_DUE * self.model.due(number)

    @staticmethod
    def _is_told(table: ProcessTable, peer: int, local: int) -> int:
        return int(peer in table.model.locals[table.numbers[local]].told)

    # Classes of fairness.

    def _class(self, name: tuple[Any, ...]) -> int:
        return self.fair_numbers.setdefault(name, len(self.fair_numbers))

    def _delivery_class(self, channel: ChannelTable, way: int, held: Numbers, messages: Numbers) -> Any:
        """The class of fairness of a delivery. Equal messages of a channel are one class, unless their remaining times
        differ: the older one must arrive earlier."""
        code = channel.sender * self.n + channel.to
        if self.model.fifo:
            return self._class(("deliver", code))
        numbers = channel.under_way if self.model.ages else channel.messages
        names = [self._class(("deliver", code, number)) for number in numbers]
        return np.array(names, dtype=np.int64)[channel.taken[way].array[held] if self.model.ages else messages]

    def _own_classes(self, table: ProcessTable) -> Any:
        known: Growing | None = getattr(table, "_fair", None)
        if known is None:
            known = table._fair = Growing(NONE)  # type: ignore[attr-defined]
        for number in range(known.length, len(table.events)):
            event = table.events[number]
            fair = table.must.array[number] and event[0] not in ("deliver", "drop", "advance")
            known.append(self._class(fair_name(event, table.place)) if fair else NONE)
        return known.array


def _columns(rows: list[dict[int, int]]) -> list[Numbers]:
    """For each key of any row: the array of its values in all rows, NONE if a row does not have the key."""
    keys = sorted({key for row in rows for key in row})
    return [np.array([row.get(key, NONE) for row in rows], dtype=np.int64) for key in keys]


def _radices(budget: tuple[int, ...]) -> tuple[int, ...]:
    radices, radix = [], 1
    for count in budget:
        radices.append(radix)
        radix *= count + 1
    return tuple(radices)


def _product(factors: Any) -> int:
    product = 1
    for factor in factors:
        product *= factor
    return product
