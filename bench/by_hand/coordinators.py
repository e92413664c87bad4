"""Algorithms with one or a few coordinators, which keep a queue."""

from __future__ import annotations

from collections import deque
from heapq import heappush
from random import Random

from bench.by_hand.loop import Enter, Handlers, Heap, Number

SOME = (1, 2, 3)
"""The coordinators of the quorum; two of them are enough."""


def coordinator(n: int, heap: Heap, number: Number, enter: Enter, free: list[int]) -> Handlers:
    """One queue, of process 1."""
    queue: deque[int] = deque()
    busy = False

    def on_want(now: int, me: int, sender: int, value: int) -> None:
        heappush(heap, (now + 1, number(), on_request, 1, me, 0))

    def on_request(now: int, me: int, sender: int, value: int) -> None:
        nonlocal busy
        if busy:
            queue.append(sender)
        else:
            busy = True
            heappush(heap, (now + 1, number(), on_grant, sender, 1, 0))

    def on_grant(now: int, me: int, sender: int, value: int) -> None:
        enter(now, me)

    def on_done(now: int, me: int) -> None:
        heappush(heap, (now + 1, number(), on_release, 1, me, 0))

    def on_release(now: int, me: int, sender: int, value: int) -> None:
        nonlocal busy
        if queue:
            heappush(heap, (now + 1, number(), on_grant, queue.popleft(), 1, 0))
        else:
            busy = False

    return on_want, on_done


def coordinator_lease(n: int, heap: Heap, number: Number, enter: Enter, free: list[int]) -> Handlers:
    """One queue, and a timer for each grant."""
    queue: deque[int] = deque()
    held = [0] * (n + 1)
    lease = last = 0

    def on_want(now: int, me: int, sender: int, value: int) -> None:
        heappush(heap, (now + 1, number(), on_request, 1, me, 0))

    def on_request(now: int, me: int, sender: int, value: int) -> None:
        queue.append(sender)
        if not lease:
            grant(now)

    def grant(now: int) -> None:
        nonlocal lease, last
        lease = last = last + 1
        free[0] += 1
        heappush(heap, (now + 10, number(), take_back, 1, 0, lease))
        heappush(heap, (now + 1, number(), on_grant, queue.popleft(), 1, lease))

    def on_grant(now: int, me: int, sender: int, token: int) -> None:
        held[me] = token
        enter(now, me)

    def on_done(now: int, me: int) -> None:
        heappush(heap, (now + 1, number(), take_back, 1, me, held[me]))

    def take_back(now: int, me: int, sender: int, token: int) -> None:
        nonlocal lease
        if token == lease:
            lease = 0
            if queue:
                grant(now)

    return on_want, on_done


def quorum(n: int, heap: Heap, number: Number, enter: Enter, free: list[int]) -> Handlers:
    """Two permissions of three."""
    queues: list[deque[tuple[int, int]]] = [deque() for _ in range(4)]
    granted = [0] * 4
    request, permissions = [0] * (n + 1), [0] * (n + 1)

    def on_want(now: int, me: int, sender: int, value: int) -> None:
        request[me] += 1
        permissions[me] = 0
        for other in SOME:
            heappush(heap, (now + 1, number(), on_request, other, me, request[me]))

    def on_request(now: int, me: int, sender: int, value: int) -> None:
        if granted[me]:
            queues[me].append((sender, value))
        else:
            granted[me] = sender
            heappush(heap, (now + 1, number(), on_grant, sender, me, value))

    def on_grant(now: int, me: int, sender: int, value: int) -> None:
        if value == request[me]:
            permissions[me] += 1
            if permissions[me] == 2:
                enter(now, me)

    def on_done(now: int, me: int) -> None:
        for other in SOME:
            heappush(heap, (now + 1, number(), on_release, other, me, request[me]))

    def on_release(now: int, me: int, sender: int, value: int) -> None:
        if granted[me] != sender:
            queues[me].remove((sender, value))
        elif queues[me]:
            granted[me], request_of = queues[me].popleft()
            heappush(heap, (now + 1, number(), on_grant, granted[me], me, request_of))
        else:
            granted[me] = 0

    return on_want, on_done


def quorum_retry(n: int, heap: Heap, number: Number, enter: Enter, free: list[int]) -> Handlers:
    """Two permissions of three; a process that waits for too long gives up for a while."""
    chance = Random("0/choose").random
    queues: list[deque[int]] = [deque() for _ in range(4)]
    granted = [0] * 4
    finished = [[0] * (n + 1) for _ in range(4)]
    attempt, failures, permissions = [0] * (n + 1), [0] * (n + 1), [0] * (n + 1)
    waiting = [False] * (n + 1)

    def on_want(now: int, me: int, sender: int, value: int) -> None:
        failures[me] = 0
        ask(now, me, 0, 0)

    def ask(now: int, me: int, sender: int, value: int) -> None:
        waiting[me], permissions[me] = True, 0
        attempt[me] += 1
        free[0] += 1
        heappush(heap, (now + 8, number(), on_patience, me, 0, attempt[me]))
        for other in SOME:
            heappush(heap, (now + 1, number(), on_request, other, me, attempt[me]))

    def on_request(now: int, me: int, sender: int, value: int) -> None:
        queues[me].append(sender)
        if not granted[me]:
            grant(now, me)

    def grant(now: int, me: int) -> None:
        first = granted[me] = queues[me].popleft()
        heappush(heap, (now + 1, number(), on_grant, first, me, finished[me][first] + 1))

    def on_grant(now: int, me: int, sender: int, value: int) -> None:
        if waiting[me] and value == attempt[me]:
            permissions[me] += 1
            if permissions[me] == 2:
                waiting[me] = False
                enter(now, me)

    def on_patience(now: int, me: int, sender: int, value: int) -> None:
        if waiting[me] and value == attempt[me]:
            waiting[me] = False
            failures[me] += 1
            on_done(now, me)
            free[0] += 1
            slot = 1 + int(chance() * (1 << min(failures[me], 5)))
            heappush(heap, (now + 2 * slot, number(), ask, me, 0, 0))

    def on_done(now: int, me: int) -> None:
        for other in SOME:
            heappush(heap, (now + 1, number(), on_release, other, me, attempt[me]))

    def on_release(now: int, me: int, sender: int, value: int) -> None:
        finished[me][sender] = value
        if granted[me] == sender:
            granted[me] = 0
            if queues[me]:
                grant(now, me)
        else:
            queues[me].remove(sender)

    return on_want, on_done
