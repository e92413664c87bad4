"""Followed: a simulated run step for step in the checker's model, so that every run of the simulator is one of its runs.

Verdicts show a difference only if it breaks a property. Here each event between the processes must be a step of the
model, with the same messages and entries, and the model must allow the time between two events. All sets of states
that explain the run so far are kept, because the trace does not name choices that make no difference. The tick is a
microsecond, and time passes in one step up to the next event.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from copy import copy
from typing import NamedTuple

from tests.worlds.crosscheck.bounds import message_of
from tests.worlds.crosscheck.outcomes import trusts_the_dead
from tests.worlds.crosscheck.sampling import Seen
from vez.core.message import fields_of
from vez.core.trace import (
    AnyEvent,
    Asked,
    Crashed,
    Cut,
    Delivered,
    Entered,
    Fired,
    Healed,
    Left,
    Lost,
    MessageId,
    Paused,
    Recovered,
    Resumed,
    Sent,
    Suspected,
    TimerSet,
    Trace,
    Trusted,
    Wanted,
    Withdrew,
)
from vez.worlds.check import Configuration
from vez.worlds.check.model.causality import bare
from vez.worlds.check.model.clock import Clock
from vez.worlds.check.model.local import Transition
from vez.worlds.check.model.semantics import Model
from vez.worlds.check.model.state import State, Step

KINDS: dict[type, str] = {
    Wanted: "want", Asked: "elect", Left: "leave", Withdrew: "withdraw", Fired: "fire", Suspected: "suspect",
    Trusted: "trust", Crashed: "crash", Recovered: "recover", Paused: "pause", Resumed: "resume", Delivered: "deliver",
    Lost: "lose", Cut: "cut", Healed: "heal",
}  # fmt: skip
MOST_EVENTS = 400
"""The length of the longest trace that is followed."""
Channels = frozenset[tuple[int, int]]


class Place(NamedTuple):
    """A state of the model that explains the run so far, and the processes that crashed inside their last handler: the
    trace has their crashes after what they did."""

    state: State
    crashed: frozenset[int] = frozenset()


class Block(NamedTuple):
    """An event, and what the handler did that it called. Cuts of one moment are one event."""

    head: AnyEvent
    sent: list[Sent]
    entered: list[int | None]
    lost: list[MessageId]
    cut: list[MessageId]
    """What was sent into a cut channel."""
    crashed: list[int]
    """At the start: the processes that crashed inside it."""
    channels: Channels = frozenset()


class Follower:
    """Follows runs of a configuration."""

    def __init__(self, configuration: Configuration) -> None:
        clock = configuration.clock
        self.configuration = copy(configuration)
        self.configuration.clock = Clock(clock.delay_us, clock.stay_us, float(clock.drift))
        self.configuration.clock.tick_us = 1
        self.model = Model(self.configuration)
        self.ids = configuration.ids

    def gap(self, seen: Seen) -> str | None:
        """The first event that no step of the model explains, in words; empty if the model has the run, and None if it was
        not followed.

        Not followed are runs beyond the bounds, those that end in an exception, and long ones; runs with two partitions,
        whose healing the trace does not tell apart; and, with time, runs in which something takes no time, for which the
        simulator takes a microsecond.
        """
        trace = seen.trace
        two = len(seen.scenario.partition) > 1
        if seen.raised or seen.beyond or trusts_the_dead(trace) or two or len(trace.events) > MOST_EVENTS:
            return None
        if self.configuration.synchronous and self._takes_no_time(trace):
            return None
        self._sendings: dict[MessageId, Sent] = {}
        self._doomed: list[MessageId] = []
        self._under_way: defaultdict[tuple[int, int], list[MessageId]] = defaultdict(list)
        arrivals = Counter(_arrivals(trace))
        now = 0
        first, *blocks = _blocks(trace, self.configuration)
        places = self._lose(set(self._starts(first)), first)
        for block in blocks:
            if not places:
                break
            at = block.head.at
            places = {later for place in places if (later := self._passed(place, at - now)) is not None}
            if not places:
                return f"no time may pass from {now} to {at} µs, before {block.head}"
            now, head = at, block.head
            copies = 0
            if isinstance(head, Delivered | Lost):
                message = message_of(head)
                arrivals[message] -= 1
                copies = arrivals[message]
                if copies and isinstance(head, Lost):
                    continue  # a copy was lost, and another one arrives
                if not copies:
                    self._waiting(message).remove(message)
            found = {after for place in self._silently(places) for after in self._after(place, block, copies)}
            if not found:
                return f"no step for {head}, with {block.sent} and {block.entered}"
            places = self._lose(found, block)
        return "" if places else "no initial state"

    def _takes_no_time(self, trace: Trace) -> bool:
        clock = self.configuration.clock
        at_once = any(isinstance(event, TimerSet) and not event.after_us for event in trace)
        return at_once or not clock.delay_us or clock.stay_us == 0

    def _starts(self, block: Block) -> Iterator[Place]:
        for state, outcomes in self.model.starts():
            sends = [(self.ids[place], send) for place, one in enumerate(outcomes) for send in one.sends]
            if _same(sends, block.sent):
                dead = [self.ids[place] for place, one in enumerate(outcomes) if one.crashed_after >= 0]
                if dead == block.crashed:
                    yield Place(state)

    def _after(self, place: Place, block: Block, copies: int) -> Iterator[Place]:
        head = block.head
        if isinstance(head, Crashed) and head.process in place.crashed:
            yield place._replace(crashed=place.crashed - {head.process})
            return
        if place.crashed:
            return
        for step in self._explaining(place.state, block, copies):
            done = step.transition
            sends = [(head.process, send) for send in done.sends]
            if _same(sends, block.sent) and _entries(done) == block.entered:
                yield Place(step.state, frozenset({head.process} if done.crashed_after >= 0 else ()))

    def _silently(self, places: set[Place]) -> set[Place]:
        """The places, and those after the end of a suspicion that no handler hears of, so that no event tells it."""
        if not self.configuration.detector or hasattr(self.configuration.algorithm, "on_trust"):
            return places
        found, new = set(places), places
        while new:
            steps = (step for place in new for step in self.model.steps(place.state) if step.kind == "trust")
            new = {Place(step.state) for step in steps} - found
            found |= new
        return found

    def _steps(self, state: State, kind: str, process: int, other: int | None = None) -> Iterator[Step]:
        for step in self.model.steps(state):
            mine = step.process < 0 or self.ids[step.process] == process
            if step.kind == kind and mine and other in (None, self.ids[step.other]):
                yield step

    def _explaining(self, state: State, block: Block, copies: int) -> Iterator[Step]:
        """The steps of the kind of the head, at its process, with its message, timer or channels."""
        head, kind = block.head, KINDS[type(block.head)]
        match head:
            case Delivered():
                kind = "duplicate" if copies else kind
                yield from self._messages(state, (kind,), (head.sender, head.number))
            case Lost():
                yield from self._messages(state, ("drop", "sever"), message_of(head))
            case Suspected() | Trusted():
                yield from self._steps(state, kind, head.process, head.peer)
            case Fired():
                steps = self._steps(state, kind, head.process)
                yield from (step for step in steps if step.detail == (head.name,))
            case Recovered():
                steps = self._steps(state, kind, head.process)
                yield from (step for step in steps if step.detail == (head.memory,))
            case Cut() | Healed():
                old = self._cut(state)
                for step in self._steps(state, kind, head.process):
                    if old ^ self._cut(step.state) == block.channels:
                        yield step
            case _:
                yield from self._steps(state, kind, head.process)

    def _cut(self, state: State) -> Channels:
        channels = self.model.cuts[state.partition]
        return frozenset((self.ids[one // self.model.n], self.ids[one % self.model.n]) for one in channels)

    def _messages(self, state: State, kinds: tuple[str, ...], message: MessageId) -> Iterator[Step]:
        """Steps with a message of the trace."""
        sending = self._sendings[message]
        for kind in kinds:
            for step in self._steps(state, kind, sending.to, sending.process):
                if _is(bare(self.model.messages[step.message]), sending):
                    yield step

    def _lose(self, places: set[Place], block: Block) -> set[Place]:
        """Note what was sent, and lose the messages that are lost, as soon as they are first on their channel."""
        self._sendings |= {(sent.process, sent.number): sent for sent in block.sent}
        self._doomed += block.lost
        for sent in block.sent:
            if (sent.process, sent.number) not in block.cut:
                self._under_way[sent.process, sent.to].append((sent.process, sent.number))
        for message in list(self._doomed):
            if self.model.fifo and self._waiting(message)[0] != message:
                continue
            gone = {
                Place(step.state, place.crashed)
                for place in places
                for step in self._messages(place.state, ("lose", "sever", "drop"), message)
            }
            places = gone
            self._doomed.remove(message)
            self._waiting(message).remove(message)
        return places

    def _waiting(self, message: MessageId) -> list[MessageId]:
        """The messages under way on the channel of a message, oldest first."""
        return self._under_way[message[0], self._sendings[message].to]

    def _passed(self, place: Place, us: int) -> Place | None:
        """The state after some time has passed; None if something must happen before."""
        if not us or not self.configuration.synchronous:
            return place
        model, state, span = self.model, place.state, self.configuration.clock.span
        locals_ = [model.locals[number] for number in state.locals]
        for local in locals_:
            late = [left.latest for _, left in local.timers] + ([] if local.stay is None else [local.stay])
            if not local.paused and min(late, default=us) < us:
                return None
        channels = []
        for channel, content in enumerate(state.channels):
            receiver = locals_[channel % model.n]
            if span > 1 and not receiver.paused and any(one % span < us for one in content):
                return None
            channels.append(tuple(one - min(us, one % span) for one in content))
        moved = tuple(
            model.local_number(model.machine.react(self.ids[at], local, ("advance", us))[0].local)
            if model.runs(number)
            else number
            for at, (number, local) in enumerate(zip(state.locals, locals_, strict=True))
        )
        order: Callable[[tuple[int, ...]], tuple[int, ...]] = tuple if model.fifo else lambda one: tuple(sorted(one))
        return place._replace(state=state._replace(locals=moved, channels=tuple(map(order, channels))))


def _same(sends: list[tuple[int, tuple[int, object]]], sent: list[Sent]) -> bool:
    return len(sends) == len(sent) and all(
        process == one.process and to == one.to and _is(bare(message), one)
        for (process, (to, message)), one in zip(sends, sent, strict=True)
    )


def _is(message: object, sent: Sent) -> bool:
    return type(message).__name__ == sent.kind and fields_of(message) == sent.fields  # type: ignore[arg-type]


def _entries(done: Transition) -> list[int | None]:
    return [seen[1] for seen in done.visible if seen[0] == "enter"]


def _lost_at_once(trace: Trace) -> set[int]:
    """The places of the losses that follow their message: it was lost when it was sent."""
    events = trace.events
    return {
        place
        for place, event in enumerate(events)
        if isinstance(event, Lost)
        and isinstance(before := events[place - 1], Sent)
        and (before.process, before.number, before.at) == (event.process, event.number, event.at)
    }


def _arrivals(trace: Trace) -> Iterator[MessageId]:
    at_once = _lost_at_once(trace)
    for place, event in enumerate(trace.events):
        if isinstance(event, Delivered | Lost) and place not in at_once:
            yield message_of(event)


def _blocks(trace: Trace, configuration: Configuration) -> list[Block]:
    """The events between the processes in order. The first block is the start of all."""
    at_once = _lost_at_once(trace)
    found = [Block(trace.events[0], [], [], [], [], [])]
    for place, event in enumerate(trace.events):
        head, sent, entered, lost, cut, crashed, channels = found[-1]
        if isinstance(event, Sent):
            sent.append(event)
        elif isinstance(event, Entered):
            entered.append(event.token)
        elif place in at_once:
            if isinstance(event, Lost):
                (lost if event.reason == "loss" else cut).append(message_of(event))
        elif isinstance(event, Cut | Healed):
            channel = frozenset(
                {(event.process, event.to)} if configuration.topology.has_channel(event.process, event.to) else ()
            )
            if type(head) is type(event) and head.at == event.at:
                found[-1] = found[-1]._replace(channels=channels | channel)
            else:
                found.append(Block(event, [], [], [], [], [], channel))
        elif isinstance(event, Crashed) and len(found) == 1 and not event.at:
            crashed.append(event.process)
        elif type(event) in KINDS:
            found.append(Block(event, [], [], [], [], []))
    return found
