"""Merge: merges the journals of several nodes into one sequence of events, by time and causality.

All times are of one clock (`clocks` converts those of other hosts). A delivery never precedes its sending, and the
events of one process keep their order. A killed node cannot record its crash, so crashes, pauses and cuts are given by
the cluster that caused them. A life without such a crash counts as crashed after its last event if another life
followed, or if its journal does not say that the node stopped in order.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from vez.core.trace import AnyEvent, Crashed, Delivered, Lost, MessageId, Noted, Recovered, Sent, Started
from vez.errors import BadData
from vez.worlds.node.cluster.journals import Life
from vez.worlds.node.identity import without_folder
from vez.worlds.node.journal import Received

Source = tuple[int, str, int]
"""The identity of a message in journals: sender, incarnation of the sender, number in that life."""


class Merged(NamedTuple):
    """The events of a run, with times from 0, and the time of the clock at which it began."""

    events: list[AnyEvent]
    start_us: int
    cut: tuple[int, ...] = ()
    """The processes whose last journal ends without a reason: no crash is known, and they did not stop in order."""
    has_raised: bool = False
    """True if the run ended with an exception in a handler. The last event notes it."""


def merge(lives: Sequence[Life], faults: Iterable[AnyEvent] = ()) -> Merged:
    """The events of all journals in one sequence. The times of `faults` are of the same clock as the journals."""
    _check_one_run(lives)
    numbers = _numbers(lives)
    _check_sendings(lives, numbers)
    delivered = {source for life in lives for event in life.events if (source := _source(life, event)) is not None}
    lanes, cut = _lanes(lives, list(faults), numbers, delivered)
    start = min(lane[0].at for lane in lanes.values())
    events, notes = _ordered(lanes, start), _notes_of_failures(lives)
    for place, event in enumerate(events):
        if isinstance(event, Noted) and event.process in notes:
            notes[event.process] -= 1
            if not notes[event.process]:
                return Merged(events[: place + 1], start, has_raised=True)
    return Merged(events, start, cut)


def _notes_of_failures(lives: Sequence[Life]) -> dict[int, int]:
    """For each node in which a handler raised an exception: the number of its notes, including the one about that.

    The run ends with the first exception, as in the simulator: the algorithm has no such step, so nothing after it can
    be compared with the algorithm.
    """
    counts: defaultdict[int, int] = defaultdict(int)
    found: dict[int, int] = {}
    for life in lives:
        node = life.head.node
        counts[node] += sum(isinstance(event, Noted) for event in life.events)
        if life.has_raised and isinstance(life.events[-1], Noted):
            found.setdefault(node, counts[node])
    return found


def _check_one_run(lives: Sequence[Life]) -> None:
    first = lives[0].head
    for life in lives:
        for name in ("group", "algorithm", "ids", "topology", "edges", "time_scale"):
            mine, other = getattr(first, name), getattr(life.head, name)
            if name == "algorithm":
                mine, other = without_folder(mine), without_folder(other)
            if mine != other:
                nodes = f"node {first.node} and {other} for node {life.head.node}"
                raise BadData(f"journals of different runs: {name} is {mine} for {nodes}")


def _check_sendings(lives: Sequence[Life], numbers: dict[Source, int]) -> None:
    """Refuse journals in which a message arrives or is lost that no journal sends, and name the journal."""
    present = {(life.head.node, life.head.incarnation) for life in lives}
    for life in lives:
        for event in life.events:
            source = _source(life, event)
            if isinstance(event, Lost):
                source = event.process, life.head.incarnation, event.number
            if source is None or source in numbers:
                continue
            sender, incarnation, number = source
            end = "received" if isinstance(event, Received) else "lost"
            message = f"message {number} of node {sender}, which node {event.process} {end}"
            name = f"{sender}-{incarnation}.jsonl"  # as nodes name them
            if (sender, incarnation) in present:
                raise BadData(
                    f"{message}, is not in the journal of node {sender}", hint=f"{name} is damaged or cut short"
                )
            raise BadData(
                f"{message}, is in no journal", hint=f"the journal {name} is missing: copy it into the folder"
            )


def _numbers(lives: Sequence[Life]) -> dict[Source, int]:
    """The numbers of messages, counted over all lives of their sender."""
    counts: defaultdict[int, int] = defaultdict(int)
    numbers: dict[Source, int] = {}
    for life in lives:
        for event in life.events:
            if isinstance(event, Sent):
                counts[event.process] += 1
                numbers[event.process, life.head.incarnation, event.number] = counts[event.process]
    return numbers


def _source(life: Life, event: AnyEvent) -> Source | None:
    """The message of a delivery. A message of a process to itself has the incarnation of its own life."""
    if not isinstance(event, Received):
        return None
    return event.sender, event.incarnation or life.head.incarnation, event.number


def _lanes(
    lives: Sequence[Life], faults: list[AnyEvent], numbers: dict[Source, int], delivered: set[Source]
) -> tuple[dict[int, list[AnyEvent]], tuple[int, ...]]:
    """The events of each process in their order, and the processes whose last journal ends without a reason."""
    lanes: dict[int, list[AnyEvent]] = {process: [] for process in lives[0].head.ids}
    cut: list[int] = []
    for process, lane in lanes.items():
        own = [life for life in lives if life.head.node == process]
        crashes = sorted(event.at for event in faults if isinstance(event, Crashed) and event.process == process)
        for place, life in enumerate(own):
            following = own[place + 1] if place + 1 < len(own) else None
            renumbered = _renumbered(life, numbers, delivered)
            lane += _again(own[0], renumbered) if place else renumbered
            last, until = life.events[-1].at, following.events[0].at if following else None
            at = next((at for at in crashes if life.events[0].at <= at and (until is None or at <= until)), None)
            if at is None and following is None and life.is_killed:
                cut.append(process)
            if at is not None or following is not None or life.is_killed:
                at = last if at is None else max(at, last)  # a killed process may still write for a moment
                lane.append(Crashed(at, process))
                lane += _lost_with_sender(life, at, numbers, delivered)
        others: list[AnyEvent] = [
            event for event in faults if event.process == process and not isinstance(event, Crashed)
        ]
        _insert(lane, others)
        _check_begin(process, lane, own)
    _add_lost_to_the_dead(lanes)
    return lanes, tuple(cut)


def _renumbered(life: Life, numbers: dict[Source, int], delivered: set[Source]) -> Iterable[AnyEvent]:
    """The events of a life with messages numbered over the whole run."""
    incarnation = life.head.incarnation
    for event in life.events:
        if isinstance(event, Received):
            source = event.sender, event.incarnation or incarnation, event.number
            yield Delivered(event.at, event.process, event.sender, numbers[source])
        elif isinstance(event, Sent):
            yield msgspec.structs.replace(event, number=numbers[event.process, incarnation, event.number])
        elif isinstance(event, Lost):
            source = (event.process, incarnation, event.number)
            if source not in delivered:  # it was handled, but not acknowledged before the crash
                yield msgspec.structs.replace(event, number=numbers[source])
        else:
            yield event


def _again(first: Life, events: Iterable[AnyEvent]) -> Iterable[AnyEvent]:
    """The events of a later life. A node without durable state does not know that it had one, and records a start."""
    begun = first.events[0]
    for event in events:
        if not isinstance(event, Started):
            yield event
            continue
        if isinstance(begun, Started) and (event.parameters, event.fields) != (begun.parameters, begun.fields):
            raise BadData(f"journals of different runs: node {event.process} was started again with other values")
        yield Recovered(event.at, event.process, memory=False, anew=True)


def _lost_with_sender(life: Life, at: int, numbers: dict[Source, int], delivered: set[Source]) -> Iterable[AnyEvent]:
    """Messages of a life that ended with a crash, and that neither arrived nor were reported as lost."""
    process, incarnation = life.head.node, life.head.incarnation
    told = {event.number for event in life.events if isinstance(event, Lost)}
    for event in life.events:
        if isinstance(event, Sent) and event.number not in told:
            source = (process, incarnation, event.number)
            if source not in delivered:
                yield Lost(at, process, numbers[source], "crash")


def _insert(lane: list[AnyEvent], others: list[AnyEvent]) -> None:
    """Put events between those of a process by their times, after events of the same time."""
    for event in sorted(others, key=lambda event: event.at):
        place = len(lane)
        while place and lane[place - 1].at > event.at:
            place -= 1
        lane.insert(place, event)


def _check_begin(process: int, lane: list[AnyEvent], own: list[Life]) -> None:
    first = next((event for event in lane if isinstance(event, Started | Recovered)), None)
    if isinstance(first, Started):
        return
    whole = not own or isinstance(own[0].events[0], Recovered)
    name = "" if whole else f"{process}-{own[0].head.incarnation}.jsonl"
    hint = (
        f"a journal of node {process} is missing" if whole else f"{name} is damaged: its first event must be the start"
    )
    raise BadData(f"the start of node {process} is in no journal", hint=hint)


def _add_lost_to_the_dead(lanes: dict[int, list[AnyEvent]]) -> None:
    """Record messages to a process that is dead at the end as lost after its crash, if they are still in transit."""
    died: dict[int, int] = {}
    settled: set[MessageId] = set()
    for process, lane in lanes.items():
        for event in lane:
            if isinstance(event, Crashed):
                died[process] = event.at
            elif isinstance(event, Recovered):
                died.pop(process, None)
            elif isinstance(event, Delivered | Lost):
                settled.add(event.message)
    for lane in lanes.values():
        lost = [
            event for event in lane if isinstance(event, Sent) and event.to in died and event.message not in settled
        ]
        _insert(lane, [Lost(max(event.at, died[event.to] + 1), event.process, event.number, "crash") for event in lost])


def _ordered(lanes: dict[int, list[AnyEvent]], start: int) -> list[AnyEvent]:
    """All lanes in one sequence: the earliest event first, but a delivery only after its sending."""
    result: list[AnyEvent] = []
    sent: set[MessageId] = set()
    blocked: dict[MessageId, int] = {}  # deliveries at the head of a lane that wait for their sending
    places = dict.fromkeys(lanes, 0)
    order = {process: place for place, process in enumerate(lanes)}
    heads = [(lane[0].at, order[process], process) for process, lane in lanes.items()]
    heapq.heapify(heads)
    now = start
    while heads:
        _, _, process = heapq.heappop(heads)
        event = lanes[process][places[process]]
        if isinstance(event, Delivered) and event.message not in sent:
            blocked[event.message] = process
            continue
        now = max(now, event.at)
        result.append(msgspec.structs.replace(event, at=now - start))
        places[process] += 1
        ready = [process] if places[process] < len(lanes[process]) else []
        if isinstance(event, Sent):
            sent.add(event.message)
            if event.message in blocked:
                ready.append(blocked.pop(event.message))
        for one in ready:
            heapq.heappush(heads, (lanes[one][places[one]].at, order[one], one))
    if blocked:
        (sender, number), process = next(iter(blocked.items()))
        raise BadData(f"node {process} received message {number} of node {sender} before it was sent")
    return result
