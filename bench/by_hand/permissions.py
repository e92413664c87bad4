"""Algorithms with permissions: of all other processes, or of a voting set."""

from __future__ import annotations

from bisect import insort
from collections import deque
from heapq import heappush
from math import isqrt

from bench.by_hand.loop import Enter, Handlers, Heap, Number

OUTSIDE, WANTED, HELD = range(3)


def lamport(n: int, heap: Heap, number: Number, enter: Enter, free: list[int]) -> Handlers:
    """Every process keeps the same queue."""
    state, clock, timestamp = [OUTSIDE] * (n + 1), [0] * (n + 1), [0] * (n + 1)
    queues: list[list[tuple[int, int]]] = [[] for _ in range(n + 1)]
    unheard: list[set[int]] = [set() for _ in range(n + 1)]

    def on_want(now: int, me: int, sender: int, value: int) -> None:
        state[me] = WANTED
        clock[me] = timestamp[me] = clock[me] + 1
        insort(queues[me], (timestamp[me], me))
        unheard[me] = others = {*range(1, n + 1)} - {me}
        for other in others:
            heappush(heap, (now + 1, number(), on_request, other, me, timestamp[me]))

    def on_request(now: int, me: int, sender: int, time: int) -> None:
        insort(queues[me], (time, sender))
        hear(now, me, sender, time)
        heappush(heap, (now + 1, number(), hear, sender, me, clock[me]))

    def hear(now: int, me: int, sender: int, time: int) -> None:
        clock[me] = max(clock[me], time) + 1
        if state[me] == WANTED:
            mine = (timestamp[me], me)
            if (time, sender) > mine:
                unheard[me].discard(sender)
            if not unheard[me] and queues[me][0] == mine:
                state[me] = HELD
                enter(now, me)

    def on_done(now: int, me: int) -> None:
        state[me] = OUTSIDE
        clock[me] += 1
        queues[me].remove((timestamp[me], me))
        for other in range(1, n + 1):
            if other != me:
                heappush(heap, (now + 1, number(), on_release, other, me, (timestamp[me], clock[me])))

    def on_release(now: int, me: int, sender: int, times: tuple[int, int]) -> None:
        queues[me].remove((times[0], sender))
        hear(now, me, sender, times[1])

    return on_want, on_done


def ricart_agrawala(n: int, heap: Heap, number: Number, enter: Enter, free: list[int]) -> Handlers:
    """A process with an older request defers its answer."""
    state, clock, timestamp, awaited = [OUTSIDE] * (n + 1), [0] * (n + 1), [0] * (n + 1), [0] * (n + 1)
    deferred: list[list[int]] = [[] for _ in range(n + 1)]

    def on_want(now: int, me: int, sender: int, value: int) -> None:
        state[me], awaited[me] = WANTED, n - 1
        clock[me] = timestamp[me] = clock[me] + 1
        for other in range(1, n + 1):
            if other != me:
                heappush(heap, (now + 1, number(), on_request, other, me, timestamp[me]))

    def on_request(now: int, me: int, sender: int, time: int) -> None:
        clock[me] = max(clock[me], time)
        if state[me] == HELD or (state[me] == WANTED and (timestamp[me], me) < (time, sender)):
            deferred[me].append(sender)
        else:
            heappush(heap, (now + 1, number(), on_reply, sender, me, clock[me]))

    def on_reply(now: int, me: int, sender: int, time: int) -> None:
        clock[me] = max(clock[me], time)
        awaited[me] -= 1
        if not awaited[me]:
            state[me] = HELD
            enter(now, me)

    def on_done(now: int, me: int) -> None:
        state[me] = OUTSIDE
        for other in sorted(deferred[me]):
            heappush(heap, (now + 1, number(), on_reply, other, me, clock[me]))
        deferred[me].clear()

    return on_want, on_done


def ricart_agrawala_priority(n: int, heap: Heap, number: Number, enter: Enter, free: list[int]) -> Handlers:
    """A process with a larger identifier defers its answer: wrong on purpose, and fast."""
    state, awaited = [OUTSIDE] * (n + 1), [0] * (n + 1)
    deferred: list[list[int]] = [[] for _ in range(n + 1)]

    def on_want(now: int, me: int, sender: int, value: int) -> None:
        state[me], awaited[me] = WANTED, n - 1
        for other in range(1, n + 1):
            if other != me:
                heappush(heap, (now + 1, number(), on_request, other, me, 0))

    def on_request(now: int, me: int, sender: int, value: int) -> None:
        if state[me] == HELD or (state[me] == WANTED and me > sender):
            deferred[me].append(sender)
        else:
            heappush(heap, (now + 1, number(), on_reply, sender, me, 0))

    def on_reply(now: int, me: int, sender: int, value: int) -> None:
        awaited[me] -= 1
        if not awaited[me]:
            state[me] = HELD
            enter(now, me)

    def on_done(now: int, me: int) -> None:
        state[me] = OUTSIDE
        for other in sorted(deferred[me]):
            heappush(heap, (now + 1, number(), on_reply, other, me, 0))
        deferred[me].clear()

    return on_want, on_done


def grid(n: int) -> list[list[int]]:
    """The voting set of each process: its row and its column."""
    columns = isqrt(n - 1) + 1
    places = range(n)
    rows = [[q + 1 for q in places if q // columns == p // columns or q % columns == p % columns] for p in places]
    return [[], *rows]


def maekawa(n: int, heap: Heap, number: Number, enter: Enter, free: list[int]) -> Handlers:
    """One vote each, in the order of arrival."""
    voters = grid(n)
    votes, voted_for = [0] * (n + 1), [0] * (n + 1)
    queues: list[deque[int]] = [deque() for _ in range(n + 1)]

    def on_want(now: int, me: int, sender: int, value: int) -> None:
        votes[me] = 0
        free[0] += 1
        for voter in voters[me]:
            heappush(heap, (now + 1, number(), on_request, voter, me, 0))

    def on_request(now: int, me: int, sender: int, value: int) -> None:
        if voted_for[me]:
            queues[me].append(sender)
        else:
            vote(now, me, sender)

    def vote(now: int, me: int, other: int) -> None:
        voted_for[me] = other
        free[0] += other == me
        heappush(heap, (now + 1, number(), on_vote, other, me, 0))

    def on_vote(now: int, me: int, sender: int, value: int) -> None:
        votes[me] += 1
        if votes[me] == len(voters[me]):
            enter(now, me)

    def on_done(now: int, me: int) -> None:
        free[0] += 1
        for voter in voters[me]:
            heappush(heap, (now + 1, number(), on_release, voter, me, 0))

    def on_release(now: int, me: int, sender: int, value: int) -> None:
        voted_for[me] = 0
        if queues[me]:
            vote(now, me, queues[me].popleft())

    return on_want, on_done
