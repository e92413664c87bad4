"""Votes that go to the oldest request, and can be taken back."""

from __future__ import annotations

from bisect import insort
from heapq import heappush

from bench.by_hand.loop import Enter, Handler, Handlers, Heap, Number
from bench.by_hand.permissions import OUTSIDE, WANTED, grid


def maekawa_fair(n: int, heap: Heap, number: Number, enter: Enter, free: list[int]) -> Handlers:
    """The requester's side. Requests are (timestamp, process)."""
    voters = grid(n)
    state, clock, timestamp = [OUTSIDE] * (n + 1), [0] * (n + 1), [0] * (n + 1)
    votes, refused, inquiries = ([set[int]() for _ in range(n + 1)] for _ in range(3))

    def on_want(now: int, me: int, sender: int, value: int) -> None:
        state[me] = WANTED
        clock[me] = timestamp[me] = clock[me] + 1
        votes[me], refused[me], inquiries[me] = set(), set(), set()
        free[0] += 1
        for voter in voters[me]:
            heappush(heap, (now + 1, number(), on_request, voter, me, timestamp[me]))

    def on_vote(now: int, me: int, sender: int, times: tuple[int, int]) -> None:
        clock[me] = max(clock[me], times[1])
        votes[me].add(sender)
        refused[me].discard(sender)
        settle(now, me)

    def on_failed(now: int, me: int, sender: int, times: tuple[int, int]) -> None:
        clock[me] = max(clock[me], times[1])
        if state[me] == WANTED and times[0] == timestamp[me] and sender not in votes[me]:
            refused[me].add(sender)
            settle(now, me)

    def on_inquire(now: int, me: int, sender: int, time: int) -> None:
        if state[me] == WANTED and time == timestamp[me]:
            inquiries[me].add(sender)
            settle(now, me)

    def settle(now: int, me: int) -> None:
        if len(votes[me]) == len(voters[me]):
            state[me] = OUTSIDE
            enter(now, me)
        elif refused[me] and inquiries[me]:
            for voter in sorted(inquiries[me] & votes[me]):
                votes[me].discard(voter)
                inquiries[me].discard(voter)
                refused[me].add(voter)
                free[0] += voter == me
                heappush(heap, (now + 1, number(), on_relinquish, voter, me, timestamp[me]))

    def on_done(now: int, me: int) -> None:
        free[0] += 1
        for voter in voters[me]:
            heappush(heap, (now + 1, number(), on_release, voter, me, timestamp[me]))

    on_request, on_relinquish, on_release = _voter(n, heap, number, free, clock, (on_vote, on_failed, on_inquire))
    return on_want, on_done


def _voter(
    n: int, heap: Heap, number: Number, free: list[int], clock: list[int], answers: tuple[Handler, Handler, Handler]
) -> tuple[Handler, Handler, Handler]:
    """The voter's side: the handlers of Request, Relinquish and Release."""
    on_vote, on_failed, on_inquire = answers
    voted_for: list[tuple[int, int] | None] = [None] * (n + 1)
    queues: list[list[tuple[int, int]]] = [[] for _ in range(n + 1)]
    inquired = [False] * (n + 1)

    def on_request(now: int, me: int, sender: int, time: int) -> None:
        clock[me] = max(clock[me], time)
        request, chosen, queue = (time, sender), voted_for[me], queues[me]
        if chosen is None:
            vote(now, me, request)
            return
        before = queue[0] if queue else None
        insort(queue, request)
        if request > chosen or queue[0] != request:
            fail(now, me, request)
            return
        if before is not None and before < chosen:
            fail(now, me, before)
        if not inquired[me]:
            inquired[me] = True
            free[0] += chosen[1] == me
            heappush(heap, (now + 1, number(), on_inquire, chosen[1], me, chosen[0]))

    def fail(now: int, me: int, request: tuple[int, int]) -> None:
        free[0] += request[1] == me
        heappush(heap, (now + 1, number(), on_failed, request[1], me, (request[0], clock[me])))

    def vote(now: int, me: int, request: tuple[int, int]) -> None:
        voted_for[me], inquired[me] = request, False
        free[0] += request[1] == me
        heappush(heap, (now + 1, number(), on_vote, request[1], me, (request[0], clock[me])))

    def on_relinquish(now: int, me: int, sender: int, time: int) -> None:
        insort(queues[me], (time, sender))
        vote(now, me, queues[me].pop(0))

    def on_release(now: int, me: int, sender: int, time: int) -> None:
        voted_for[me] = None
        if queues[me]:
            vote(now, me, queues[me].pop(0))

    return on_request, on_relinquish, on_release
