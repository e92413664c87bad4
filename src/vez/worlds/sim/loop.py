"""The two loops: one entry after the other, or, if every message takes the same time, one moment after the other.

A delivery is one call of the handler of its kind. Both loops give the same run for the same seed. They are written
for speed, because they handle every message of every run.
"""

from __future__ import annotations

from heapq import heappop, heappush

from vez.worlds.sim.agenda import Agenda, Moments
from vez.worlds.sim.dispatch import Dispatcher
from vez.worlds.sim.limits import Limits


def one_by_one(agenda: Agenda, dispatcher: Dispatcher, limits: Limits, steps: int = 0) -> int:
    """Take the next entry from the heap, until there is none or a limit is met.

    Takes the number of steps so far and returns the new one.
    """
    heap, handlers = agenda.heap, dispatcher.by_kind
    now = -1
    while heap:
        at, number, node, what, sender = heappop(heap)
        if at != now:
            if at > limits.deadline or steps >= limits.steps:
                heappush(heap, (at, number, node, what, sender))  # not yet due
                break
            now = agenda.now = at
        steps += 1
        if node is None:
            what()
            continue
        try:
            handler = handlers[type(what)]
        except KeyError:
            handler = dispatcher.find(type(what))
        handler(node.process, what, sender, node)
    return steps


def moment_by_moment(agenda: Moments, dispatcher: Dispatcher, limits: Limits, steps: int = 0) -> int:
    """Take all entries of the next moment: those planned for it, and the messages sent one delay before.

    Takes the number of steps so far and returns the new one.
    """
    if not steps:
        agenda.begin()
    heap, outbox, delay_us, handlers = agenda.heap, agenda.outbox, agenda.delay_us, dispatcher.by_kind
    now = agenda.now
    while True:
        at = now + delay_us
        if not outbox or (heap and heap[0][0] <= at):
            if not heap:
                break
            at = heap[0][0]
            if at > limits.deadline or steps >= limits.steps:
                break
            today = agenda.collect(at)
            outbox = agenda.outbox
        elif at > limits.deadline or steps >= limits.steps:
            break
        else:
            today = outbox
            outbox = agenda.outbox = []
        now = agenda.now = at
        agenda.today = today
        for node, what, sender in today:
            if node is None:
                what()
                continue
            try:
                handler = handlers[type(what)]
            except KeyError:
                handler = dispatcher.find(type(what))
            handler(node.process, what, sender, node)
        steps += len(today)
    return steps
