"""Symmetry: states that differ only by a renaming of the processes count as one state.

An algorithm that only compares identifiers for equality behaves the same under any renaming. On a ring whose
processes never read identifiers, it behaves the same under any rotation. The algorithm declares its symmetry, and the
fields that hold identifiers; neither can be inferred. Every new state is replaced by the smallest of its renamings,
so only one state of each orbit is stored. `full` does not rename the hub, because algorithms treat it differently.

The reduction keeps every safety verdict, the ends of runs, and the length of the shortest run. A run is renamed back,
step by step, before it is shown.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any

import msgspec

from vez.core.assumptions import Property
from vez.core.message import Message
from vez.core.process import name_of
from vez.errors import Misuse, VezError
from vez.worlds.check.arrays import Numbers, Words, distinct, np
from vez.worlds.check.model.configuration import Configuration
from vez.worlds.check.model.local import Event, Local, Transition
from vez.worlds.check.model.semantics import Model
from vez.worlds.check.model.state import State, Step
from vez.worlds.check.search.packed import Packed
from vez.worlds.check.search.tables import UNKNOWN, Growing

Renaming = tuple[int, ...]
"""By place: the new place."""


def refuse(configuration: Configuration) -> None:
    """Raise `Misuse` if this configuration has no symmetry."""
    algorithm, reason = configuration.algorithm, ""
    again = f'symmetry = "{algorithm.symmetry}"'
    if not algorithm.symmetry:
        reason = "it does not declare one; an algorithm that compares identifiers by order has none"
    elif not vars(algorithm).get("symmetry"):  # not inherited, because a subclass may compare more than its parent
        reason = (
            f"the declaration of its base class does not count for it; if it is true, repeat it in the class: {again}"
        )
    elif configuration.scenario.initial:
        reason = "some processes start with fields of their own"
    elif configuration.victims != configuration.ids:
        reason = "only some processes may crash"
    elif configuration.budget.crashes_inside:
        reason = "a crash inside a handler sees in which order it sends to the others"
    elif configuration.budget.partitions:
        reason = "a partition tells the processes apart"
    else:
        moved = configuration.ids[1:] if algorithm.symmetry == "full" else configuration.ids
        if len({configuration.requests[process] for process in moved}) > 1:
            reason = "some processes are asked to do more than others"
        elif len({process in configuration.candidates for process in moved}) > 1:
            reason = "only some processes may lead"
    if reason:
        raise Misuse(f"{name_of(algorithm)} cannot be reduced by symmetry: {reason}")


class Symmetry:
    """The renamings of a model, and the smallest state of each orbit."""

    def __init__(self, model: Model, properties: tuple[Property, ...] = ()) -> None:
        refuse(model.configuration)
        if model.observer is not None:
            raise Misuse("symmetry cannot be used with a property that needs an observer", hint="name others")
        if Property.VALIDITY in properties and getattr(model.configuration.algorithm, "best_wins", False):
            who = name_of(model.configuration.algorithm)
            raise Misuse(
                f"{who}: symmetry cannot be used with validity, because the best must win (best_wins), and the best is "
                "another process after a renaming",
                hint="name other properties with --property",
            )
        self.model = model
        n = model.n
        if model.configuration.algorithm.symmetry == "rotation":
            found = [tuple((place + by) % n for place in range(n)) for by in range(1, n)]
        else:
            found = [(0, *rest) for rest in permutations(range(1, n)) if rest != tuple(range(1, n))]
        self.renamings: list[Renaming] = found
        self._marked = frozenset(model.configuration.algorithm.identifier_fields)
        self._names = model.configuration.algorithm.__struct_fields__
        model.watch = self._test
        self._local_maps: dict[tuple[int, int], Growing] = {}
        self._content_maps: dict[tuple[int, int], Growing] = {}

    # In the model's terms.

    def renamed(self, state: State, renaming: Renaming) -> State:
        """The state with the processes renamed."""
        n = self.model.n
        locals_, channels = list(state.locals), list(state.channels)
        for place, number in enumerate(state.locals):
            locals_[renaming[place]] = self._local(number, renaming)
        for channel, content in enumerate(state.channels):
            sender, to = divmod(channel, n)
            channels[renaming[sender] * n + renaming[to]] = self._content(content, renaming)
        return State(tuple(locals_), tuple(channels), state.budget, state.observer)

    def walk(self, states: list[State]) -> tuple[State, tuple[Step, ...]]:
        """A run without renamings through the orbits of these states."""
        at = next((start for start in self.model.initial() if self._alike(start, states[0])), None)
        if at is None:
            raise self._false_declaration()
        start, steps = at, []
        for target in states[1:]:
            going_on = (step for step in self.model.steps(at) if not step.transition.raised)
            step = next((step for step in going_on if self._alike(step.state, target)), None)
            if step is None:
                raise self._false_declaration()
            steps.append(step)
            at = step.state
        return start, tuple(steps)

    def _test(self, place: int, local: int, event: Event, outcomes: tuple[Transition, ...]) -> None:
        """Check the declaration: every local transition, renamed, must be a local transition again."""
        for renaming in self.renamings:
            expected = {self._outcome(outcome, renaming) for outcome in outcomes}
            alike = self._event(event, renaming)
            try:
                found = self.model.react(renaming[place], self._local(local, renaming), alike)
            except VezError as error:
                raise self._false_declaration(place, event) from error
            if expected != {self._outcome(outcome, tuple(range(self.model.n))) for outcome in found}:
                raise self._false_declaration(place, event)

    def _event(self, event: Event, renaming: Renaming) -> Event:
        if event[0] == "deliver":
            return ("deliver", self._value(event[1], renaming), self._number(event[2], renaming))
        return (event[0], self._value(event[1], renaming)) if event[0] in ("suspect", "trust") else event

    def _outcome(self, outcome: Transition, renaming: Renaming) -> tuple[Any, ...]:
        """The observable part of an outcome. The order of messages to different processes is not observable."""
        sent: dict[int, tuple[int, ...]] = {}
        for to, message in outcome.sends:
            number = self.model.message_number(message)
            sent[to] = (*sent.get(to, ()), number)
        return (
            self._local(self.model.local_number(outcome.local), renaming),
            tuple(sorted((self._value(to, renaming), self._sent(some, renaming)) for to, some in sent.items())),
            tuple(
                (seen[0], self._value(seen[1], renaming), *seen[2:]) if seen[0] == "elected" else seen
                for seen in outcome.visible
            ),
            outcome.set_timers,
            bool(outcome.bug or outcome.raised),
        )

    def _false_declaration(self, place: int | None = None, event: Event = ()) -> Misuse:
        name = name_of(self.model.configuration.algorithm)
        where = "renamed, one of its runs is no run any more"
        if place is not None:
            where = f"{self.model.handler(event)} of process {self.model.ids[place]} does another thing when renamed"
        return Misuse(
            f"{name} declares a symmetry that it does not have: {where}",
            hint="do its handlers compare identifiers by order, or does a field hold some that identifier_fields does "
            "not name? Check it without --symmetry",
        )

    def _alike(self, one: State, other: State) -> bool:
        return one == other or any(self.renamed(one, renaming) == other for renaming in self.renamings)

    def _local(self, number: int, renaming: Renaming) -> int:
        local: Local = self.model.locals[number]
        fields = tuple(
            self._value(value, renaming) if name in self._marked else value
            for name, value in zip(self._names, local.fields, strict=True)
        )
        view = (self._value(local.view[0], renaming), local.view[1]) if local.view else None
        told = tuple(sorted(self._value(peer, renaming) for peer in local.told))
        return self.model.local_number(local._replace(fields=fields, view=view, told=told))

    def _content(self, content: tuple[int, ...], renaming: Renaming) -> tuple[int, ...]:
        span = self.model.configuration.clock.span
        pairs = (divmod(under_way, span) for under_way in content)
        moved = tuple(self._number(number, renaming) * span + left for number, left in pairs)
        return moved if self.model.fifo else tuple(sorted(moved))

    def _sent(self, numbers: tuple[int, ...], renaming: Renaming) -> tuple[int, ...]:
        moved = tuple(self._number(number, renaming) for number in numbers)
        return moved if self.model.fifo else tuple(sorted(moved))

    def _number(self, number: int, renaming: Renaming) -> int:
        return self.model.message_number(self._message(self.model.messages[number], renaming))

    def _message(self, message: Message, renaming: Renaming) -> Message:
        changes = {
            name: self._value(getattr(message, name), renaming)
            for name in message.__struct_fields__
            if name in self._marked
        }
        return msgspec.structs.replace(message, **changes) if changes else message

    def _value(self, value: Any, renaming: Renaming) -> Any:
        if isinstance(value, tuple):
            return tuple(self._value(part, renaming) for part in value)
        if isinstance(value, frozenset):
            return frozenset(self._value(part, renaming) for part in value)
        if type(value) is int and value in self.model.place:  # True is an int, but not an identifier
            return self.model.ids[renaming[self.model.place[value]]]
        return value

    # In words, a batch at a time.

    def smallest(self, packed: Packed, words: Words) -> Words:
        """The smallest renaming of every state. Columns are compared, so the result does not depend on the packing."""
        store = packed.store
        if not len(words[0]):
            return words
        best = self._columns(packed, words)
        original = dict(best)
        for which, renaming in enumerate(self.renamings):
            self._replace_smaller(best, self._moved(packed, original, which, renaming))
        packed_words: Words = [np.zeros(len(words[0]), dtype=np.uint64) for _ in store.words]
        for place, values in best.items():
            packed.check_width(place, int(values.max()))
            column = store.columns[place]
            packed_words[column.word] += values.view(np.uint64) << column.shift
        return packed_words

    def _columns(self, packed: Packed, words: Words) -> dict[int, Numbers]:
        size, found = len(words[0]), {}
        for place in range(len(packed.store.columns)):
            inside = packed.store.columns[place].word < len(words)
            found[place] = packed.store.values(words, place) if inside else np.zeros(size, dtype=np.int64)
        return found

    def _moved(self, packed: Packed, columns: dict[int, Numbers], which: int, renaming: Renaming) -> dict[int, Numbers]:
        used = {channel.column for channel in packed.channels.values()}
        moved = {place: values for place, values in columns.items() if place not in used}
        for place in range(packed.n):
            table = packed.processes[place]
            target = packed.processes[renaming[place]]
            moved[renaming[place]] = self._mapped(
                self._local_maps,
                (which, place),
                columns[place],
                lambda local, table=table, target=target: target.index(self._local(table.numbers[local], renaming)),
            )
        for number in list(packed.channels):
            channel = packed.channels[number]
            if channel.column not in columns:
                continue  # a renaming of this batch has added the column: it is empty in the whole batch
            target_channel = packed.channel(renaming[channel.sender] * packed.n + renaming[channel.to])
            moved[target_channel.column] = self._mapped(
                self._content_maps,
                (which, number),
                columns[channel.column],
                lambda content, channel=channel, target=target_channel: target.index(
                    self._content(channel.contents[content], renaming)
                ),
            )
        return moved

    @staticmethod
    def _mapped(maps: dict[tuple[int, int], Growing], key: tuple[int, int], values: Numbers, compute: Any) -> Numbers:
        growing = maps.setdefault(key, Growing(UNKNOWN))
        growing.reach(int(values.max()))
        found: Numbers = growing.array[values]
        if found.min() == UNKNOWN:
            for value in distinct(values[found == UNKNOWN]):
                growing.array[value] = compute(value)
            found = growing.array[values]
        return found

    @staticmethod
    def _replace_smaller(best: dict[int, Numbers], other: dict[int, Numbers]) -> None:
        """Keep the smaller of the two in each row."""
        size = len(best[0])
        for place in other.keys() - best.keys():  # a channel that only the renamed states use
            best[place] = np.zeros(size, dtype=np.int64)
        undecided, smaller = np.ones(size, dtype=bool), np.zeros(size, dtype=bool)
        for place in sorted(best):
            mine, theirs = best[place], other.get(place)
            theirs = np.zeros(size, dtype=np.int64) if theirs is None else theirs
            smaller |= undecided & (theirs < mine)
            undecided &= theirs == mine
        for place, mine in best.items():
            theirs = other.get(place)
            best[place] = np.where(smaller, 0 if theirs is None else theirs, mine)
