"""Commute: decides if an event of a process may come first, whatever the process does or receives before it.

Two events of one process commute in a local state if both orders are possible and lead to the same local state, the
same messages on every channel and the same visible actions. A request for an election and a message of one often do.
The events that a process may take before the preferred event are overestimated: its other events, and all messages that
were ever seen on the channels to it. They come in any order, or in the order of `order` if a single channel that keeps
the order leads to the process. In all local states that can be reached in this way, explored or not, the preferred
event must be possible, invisible, and commute with the others.

The messages are learnt from the search. A new message is tried against all earlier positive answers; only if one of
them no longer holds must the search begin again. That suffices: of all steps that send an unforeseen message, take one
that comes first. Everything that leads to it was foreseen, so the reduced search takes that step too, because reordered
steps send the same messages in the same order on every channel.
"""

from __future__ import annotations

from typing import NamedTuple

from vez.errors import VezError
from vez.worlds.check.model.local import Event, Transition
from vez.worlds.check.model.semantics import Model
from vez.worlds.check.reduce.order import NOTHING_YET, Order

MOST_LOCALS = 100
"""The largest number of local states for one question. With more, the answer is no."""

FREE_CHECKS, STATES_PER_CHECK = 4_000, 32
"""Comparing a pair of events costs as much as searching some states. So the number of comparisons is limited to
FREE_CHECKS, and one more for every STATES_PER_CHECK states. Beyond the limit the answer is no."""

Outcome = tuple[int, tuple[tuple[int, tuple[int, ...]], ...], tuple[tuple[object, ...], ...], bool]
"""The local state after an event, the sent messages by channel, the visible actions, and True if a property sees it."""

Reached = tuple[int, int]
"""A local state, and the message that was received last, if that matters."""


class Question(NamedTuple):
    """A question: may this event of a process come first?"""

    place: int
    local: int
    event: Event


class Answer:
    """The local states and events on which a positive answer relies."""

    def __init__(self) -> None:
        self.reached: list[Reached] = []
        self.known: set[Reached] = set()
        self.tried: list[dict[int, int]] = []  # for each: the number of tried events of each list
        self.version = -1  # version of the messages and steps that were taken into account

    def add(self, reached: list[Reached]) -> None:
        fresh = [found for found in dict.fromkeys(reached) if found not in self.known]
        self.reached += fresh
        self.known.update(fresh)


class Commuting:
    """Decides if an event may come first, and keeps the answers."""

    def __init__(self, model: Model, channels: frozenset[int], *, ordered: bool = True) -> None:
        """`ordered` is False under symmetry, because the steps of one process are then found in several places."""
        self.model = model
        into: list[list[int]] = [[] for _ in range(model.n)]
        for channel in sorted(channels):
            into[channel % model.n].append(channel)
        self._into = into
        single = [found[0] for found in into if len(found) == 1 and model.fifo and ordered]
        self.orders = {channel % model.n: Order(model, channel) for channel in single}
        self._touched = [
            [order for order in self.orders.values() if place in (order.sender, order.to)] for place in range(model.n)
        ]
        self._arriving: dict[int, list[Event]] = {channel: [] for channel in channels}
        self._counted: set[tuple[int, int]] = set()
        self._steps: set[tuple[int, int, Event, int]] = set()
        self._answers: dict[Question, Answer | None] = {}
        self._memo: dict[tuple[int, int, Event], tuple[Outcome, ...] | None] = {}
        self._left: float = FREE_CHECKS

    def allow(self, states: int) -> None:
        """Raise the limit of comparisons, because more states were found."""
        self._left += states / STATES_PER_CHECK

    def count_on(self, channel: int, messages: list[int]) -> None:
        """Take messages of a channel into account."""
        if channel not in self._arriving:
            self._arriving[channel] = []
            self._into[channel % self.model.n].append(channel)
        who = self.model.ids[channel // self.model.n]
        for number in messages:
            if (channel, number) not in self._counted:
                self._counted.add((channel, number))
                self._arriving[channel].append(("deliver", who, number))

    def count_on_step(self, place: int, before: int, event: Event, transition: Transition) -> None:
        """Take a step of a process into account."""
        after = self.model.local_number(transition.local)
        step = (place, before, event, after)
        if step not in self._steps:
            self._steps.add(step)
            for order in self._touched[place]:
                order.add(place, before, event, after, transition.sends)

    def stands(self) -> bool:
        """True if every positive answer still holds after the new messages and steps."""
        failed = [
            question
            for question, answer in self._answers.items()
            if answer is not None and not self._holds(question, answer)
        ]
        self._answers |= dict.fromkeys(failed)
        return not failed

    def may_come_first(self, place: int, local: int, event: Event) -> bool:
        """True if the event commutes with everything that the process may do or receive before it."""
        question = Question(place, local, event)
        if question not in self._answers:
            answer = Answer()
            self._answers[question] = answer if self._left > 0 and self._holds(question, answer) else None
        return self._answers[question] is not None

    def _holds(self, question: Question, answer: Answer) -> bool:
        """Try every local state that can be reached, with every event that was not yet tried in it."""
        order = self._order(question)
        version = order.version if order is not None else len(self._counted)
        if answer.version == version:
            return True
        answer.version = version
        heard = order.heard.get(question.local, ()) if order is not None else (NOTHING_YET,)
        if not heard:
            return False
        answer.add([(question.local, last) for last in heard])
        turn = 0
        while turn < len(answer.reached):
            local, last = answer.reached[turn]
            others: list[Event] = []
            if turn == len(answer.tried):
                own = self._others(question, local)
                if own is None or len(answer.reached) > MOST_LOCALS:
                    return False
                others = own
                answer.tried.append({})
            tried = answer.tried[turn]
            for channel, events in self._deliveries(question, order, last):
                others += [event for event in events[tried.get(channel, 0) :] if event != question.event]
                tried[channel] = len(events)
            for other in others:
                after = self._commute(question, local, other)
                if after is None:
                    return False
                if order is not None and other[0] == "deliver":
                    last = other[2]
                answer.add([(number, last) for number in after])
                last = answer.reached[turn][1]
            turn += 1
        return True

    def _order(self, question: Question) -> Order | None:
        """The order of the messages that the process receives, if it is known and matters; otherwise None."""
        return self.orders.get(question.place) if question.event[0] != "deliver" else None

    def _deliveries(self, question: Question, order: Order | None, last: int) -> list[tuple[int, list[Event]]]:
        """The messages that may arrive before the preferred event, by channel; not those that queue up behind it."""
        if order is not None:
            return [(NOTHING_YET, order.follows.get(last, []))]
        event, n = question.event, self.model.n
        behind = event[1] if event[0] == "deliver" and self.model.fifo else None
        return [
            (channel, self._arriving[channel])
            for channel in self._into[question.place]
            if self.model.ids[channel // n] != behind
        ]

    def _others(self, question: Question, local: int) -> list[Event] | None:
        """The process's own other events; None if the preferred one is not possible, or is visible."""
        own = [event for event, _ in self.model.spontaneous(question.place, local)]
        outcomes = self._react(question.place, local, question.event)
        if outcomes is None or len(outcomes) != 1 or outcomes[0][3]:
            return None
        if question.event[0] != "deliver" and question.event not in own:
            return None
        return [event for event in own if event != question.event]

    def _commute(self, question: Question, local: int, other: Event) -> list[int] | None:
        """The local states after the other event; None if it does not commute with the preferred one."""
        place, event = question.place, question.event
        self._left -= 1
        others, outcomes = self._react(place, local, other), self._react(place, local, event)
        if others is None or outcomes is None or len(outcomes) != 1:
            return None
        first = outcomes[0]
        if other[0] != "deliver" and other not in [own for own, _ in self.model.spontaneous(place, first[0])]:
            return None
        later = self._react(place, first[0], other)
        if later is None or len(later) != len(others):
            return None
        for one, two in zip(others, later, strict=True):
            last = self._react(place, one[0], event)
            if last is None or len(last) != 1 or not self._same(one, last[0], first, two):
                return None
        return [outcome[0] for outcome in others]

    def _same(self, one: Outcome, then: Outcome, first: Outcome, two: Outcome) -> bool:
        """True if both orders of the two events have the same result."""
        return (
            then[0] == two[0]
            and then[2] == first[2]
            and one[2] == two[2]
            and self._sent(one, then) == self._sent(first, two)
        )

    def _sent(self, one: Outcome, two: Outcome) -> dict[int, tuple[int, ...]]:
        sent = dict(one[1])
        for channel, numbers in two[1]:
            both = (*sent.get(channel, ()), *numbers)
            sent[channel] = both if self.model.fifo else tuple(sorted(both))
        return sent

    def _react(self, place: int, local: int, event: Event) -> tuple[Outcome, ...] | None:
        """The outcomes of an event; None if the process cannot take it. That is not an error, because the state may be
        unreachable."""
        key = (place, local, event)
        if key not in self._memo:
            machine, cut = self.model.machine, self.model.machine.cut
            machine.cut = False
            try:
                found = machine.react(self.model.ids[place], self.model.locals[local], self.model.real(event))
                self._memo[key] = None if machine.cut else self._outcomes(place, local, found)
            except VezError:
                self._memo[key] = None
            machine.cut = cut
        return self._memo[key]

    def _outcomes(self, place: int, before: int, found: tuple[Transition, ...]) -> tuple[Outcome, ...] | None:
        outcomes = []
        for transition in found:
            if transition.bug or transition.raised:
                return None
            sent: dict[int, tuple[int, ...]] = {}
            for to, message in transition.sends:
                channel = self.model.place[to]
                sent[channel] = (*sent.get(channel, ()), self.model.message_number(message))
            after = self.model.local_number(transition.local)
            shows = self.model.shows(place, before, transition)
            outcomes.append((after, tuple(sorted(sent.items())), transition.visible, shows))
        return tuple(outcomes)
