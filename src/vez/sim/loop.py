"""The two loops: one thing after the other, or moment by moment where every message takes the same time.

A delivery is one call of the handler of its kind. Both loops give the same run for the same seed. They are written
for speed: a line here is paid for by every message of every run.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from vez.sim.agenda import Moments

if TYPE_CHECKING:
    from vez.sim.simulation import Simulation


def one_by_one(world: Simulation) -> int:
    """Take the next thing from the heap, until there is none or a limit is met; the number of steps."""
    agenda, heap, handlers = world.agenda, world.agenda.heap, world.handlers
    now, steps = -1, 0
    while heap:
        at, number, node, what, sender = heappop(heap)
        if at != now:
            if at > world.deadline or steps >= world.limit:
                heappush(heap, (at, number, node, what, sender))  # still to come
                break
            now = agenda.now = at
        steps += 1
        if node is None:
            what()
            continue
        try:
            handler = handlers[type(what)]
        except KeyError:
            handler = world.handler(type(what))
        handler(node.process, what, sender, node)
    return steps


def moment_by_moment(world: Simulation, agenda: Moments) -> int:
    """Take all of the next moment: what else was planned for it, and what was sent one delay before."""
    agenda.begin()
    heap, outbox, delay_us, handlers = agenda.heap, agenda.outbox, agenda.delay_us, world.handlers
    now, steps = 0, 0
    while True:
        at = now + delay_us
        if not outbox or (heap and heap[0][0] <= at):
            if not heap:
                break
            at = heap[0][0]
            if at > world.deadline or steps >= world.limit:
                break
            today = agenda.collect(at)
            outbox = agenda.outbox
        elif at > world.deadline or steps >= world.limit:
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
                handler = world.handler(type(what))
            handler(node.process, what, sender, node)
        steps += len(today)
    return steps
