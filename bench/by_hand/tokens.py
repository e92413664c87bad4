"""Algorithms with a token."""

from __future__ import annotations

from collections import deque
from heapq import heappush
from typing import Any

from bench.by_hand.loop import Enter, Handlers, Heap, Number


def token_ring(n: int, heap: Heap, number: Number, enter: Enter, free: list[int]) -> Handlers:
    """The token goes round the ring."""
    wanting = [False] * (n + 1)

    def on_want(now: int, me: int, sender: int, value: int) -> None:
        wanting[me] = True

    def on_token(now: int, me: int, sender: int, value: int) -> None:
        if wanting[me]:
            enter(now, me)
        else:
            heappush(heap, (now + 1, number(), on_token, me % n + 1, me, 0))

    def on_done(now: int, me: int) -> None:
        wanting[me] = False
        heappush(heap, (now + 1, number(), on_token, me % n + 1, me, 0))

    heappush(heap, (1, number(), on_token, 2, 1, 0))
    return on_want, on_done


def suzuki_kasami(n: int, heap: Heap, number: Number, enter: Enter, free: list[int]) -> Handlers:
    """The token is requested by broadcast; it carries the queue and the number of entries of each process."""
    requests = [[0] * (n + 1) for _ in range(n + 1)]
    inside = [False] * (n + 1)
    token: list[tuple[tuple[int, ...], list[int]] | None] = [None] * (n + 1)
    token[1] = (), [0] * (n + 1)

    def on_want(now: int, me: int, sender: int, value: int) -> None:
        requests[me][me] += 1
        if token[me] is not None:
            inside[me] = True
            enter(now, me)
            return
        for other in range(1, n + 1):
            if other != me:
                heappush(heap, (now + 1, number(), on_request, other, me, requests[me][me]))

    def on_request(now: int, me: int, sender: int, value: int) -> None:
        requests[me][sender] = value
        if token[me] is not None and not inside[me]:
            pass_on(now, me)

    def on_token(now: int, me: int, sender: int, value: Any) -> None:
        token[me] = value
        inside[me] = True
        enter(now, me)

    def on_done(now: int, me: int) -> None:
        inside[me] = False
        pass_on(now, me)

    def pass_on(now: int, me: int) -> None:
        queue, served = token[me] or ((), [])
        mine, queued = requests[me], set(queue)
        served[me] = mine[me]
        order = (*range(me + 1, n + 1), *range(1, me))
        queue += tuple([p for p in order if mine[p] > served[p] and p not in queued])
        if queue:
            token[me] = None
            heappush(heap, (now + 1, number(), on_token, queue[0], me, (queue[1:], served)))

    return on_want, on_done


def raymond(n: int, heap: Heap, number: Number, enter: Enter, free: list[int]) -> Handlers:
    """The token moves along a tree, in which every process knows the direction."""
    holder = [max(1, me // 2) for me in range(n + 1)]
    asked, inside = [False] * (n + 1), [False] * (n + 1)
    queues: list[deque[int]] = [deque() for _ in range(n + 1)]

    def on_want(now: int, me: int, sender: int, value: int) -> None:
        queues[me].append(me)
        move(now, me)

    def on_request(now: int, me: int, sender: int, value: int) -> None:
        queues[me].append(sender)
        move(now, me)

    def on_token(now: int, me: int, sender: int, value: int) -> None:
        holder[me] = me
        asked[me] = False
        move(now, me)

    def on_done(now: int, me: int) -> None:
        inside[me] = False
        move(now, me)

    def move(now: int, me: int) -> None:
        queue = queues[me]
        if holder[me] == me and not inside[me] and queue:
            first = queue.popleft()
            if first == me:
                inside[me] = True
                enter(now, me)
            else:
                holder[me] = first
                heappush(heap, (now + 1, number(), on_token, first, me, 0))
        if holder[me] != me and queue and not asked[me]:
            asked[me] = True
            heappush(heap, (now + 1, number(), on_request, holder[me], me, 0))

    return on_want, on_done


def naimi_trehel(n: int, heap: Heap, number: Number, enter: Enter, free: list[int]) -> Handlers:
    """The token goes to the next process, which the requests have determined; 0 means none."""
    last, following = [1] * (n + 1), [0] * (n + 1)
    has_token, wanting = [False] * (n + 1), [False] * (n + 1)
    last[1], has_token[1] = 0, True

    def on_want(now: int, me: int, sender: int, value: int) -> None:
        wanting[me] = True
        if last[me]:
            heappush(heap, (now + 1, number(), on_request, last[me], me, me))
            last[me] = 0
        if has_token[me]:
            enter(now, me)

    def on_request(now: int, me: int, sender: int, origin: int) -> None:
        if last[me]:
            heappush(heap, (now + 1, number(), on_request, last[me], me, origin))
        elif wanting[me]:
            following[me] = origin
        else:
            has_token[me] = False
            heappush(heap, (now + 1, number(), on_token, origin, me, 0))
        last[me] = origin

    def on_token(now: int, me: int, sender: int, value: int) -> None:
        has_token[me] = True
        enter(now, me)

    def on_done(now: int, me: int) -> None:
        wanting[me] = False
        if following[me]:
            heappush(heap, (now + 1, number(), on_token, following[me], me, 0))
            has_token[me], following[me] = False, 0

    return on_want, on_done
