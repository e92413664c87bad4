"""A coordinator that is elected by a majority, and sends heartbeats for ever."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heappush
from random import Random
from typing import NamedTuple

from bench.by_hand.loop import Enter, Handler, Handlers, Heap, Number

FOLLOWER, CANDIDATE, LEADER = range(3)

Step = Callable[[int, int], None]
"""Time and process, or process and term."""


class Shared(NamedTuple):
    """The state that participant, coordinator and election share: lists by process."""

    n: int
    heap: Heap
    number: Number
    free: list[int]
    followed: list[int]  # the coordinator of each process, or 0
    held: list[int]  # the token of the current stay, or 0
    wanting: list[bool]


def elected_coordinator(n: int, heap: Heap, number: Number, enter: Enter, free: list[int]) -> Handlers:
    """All processes want in at the start and therefore stand for election; the leader asks for requests, then
    grants."""
    followed, held, wanting = [0] * (n + 1), [0] * (n + 1), [False] * (n + 1)
    shared = Shared(n, heap, number, free, followed, held, wanting)

    def on_want(now: int, me: int, sender: int, value: int) -> None:
        wanting[me] = True
        if not followed[me]:
            campaign(now, me)
        else:
            free[0] += followed[me] == me
            heappush(heap, (now + 1, number(), on_request, followed[me], me, 0))

    def on_grant(now: int, me: int, sender: int, token: int) -> None:
        held[me] = token
        enter(now, me)

    def on_done(now: int, me: int) -> None:
        wanting[me] = False
        free[0] += followed[me] == me
        heappush(heap, (now + 1, number(), on_release, followed[me], me, held[me]))
        held[me] = 0

    take_over, on_holding, on_request, on_release = _coordinator(shared, on_grant)
    wait, campaign = _election(shared, take_over, on_holding)
    for me in range(1, n + 1):
        wait(0, me)
        if me == 1:
            campaign(0, me)
    return on_want, on_done


def _coordinator(shared: Shared, on_grant: Handler) -> tuple[Step, Handler, Handler, Handler]:
    """The handlers of a coordinator: taking over, Holding, Request and Release."""
    n, heap, number, free, followed, held, wanting = shared
    everybody = range(1, n + 1)
    queue: deque[int] = deque()
    awaited: set[int] = set()
    ruling, granted, newest = False, 0, 0

    def take_over(now: int, me: int) -> None:
        followed[me] = me
        if wanting[me]:
            queue.append(me)
        awaited.update(everybody)
        awaited.discard(me)
        for other in everybody:
            if other != me:
                heappush(heap, (now + 1, number(), on_inquiry, other, me, 0))

    def on_inquiry(now: int, me: int, sender: int, value: int) -> None:
        followed[me] = sender
        heappush(heap, (now + 1, number(), on_holding, sender, me, wanting[me] and not held[me]))

    def on_holding(now: int, me: int, sender: int, wants: bool) -> None:
        nonlocal ruling
        if wants and sender not in queue:
            queue.append(sender)
        awaited.discard(sender)
        if not awaited and not ruling:
            ruling = True
            grant(now, me)

    def on_request(now: int, me: int, sender: int, value: int) -> None:
        queue.append(sender)
        grant(now, me)

    def grant(now: int, me: int) -> None:
        nonlocal granted, newest
        if ruling and not granted and queue:
            first = queue.popleft()
            newest = granted = newest + 1
            free[0] += first == me
            heappush(heap, (now + 1, number(), on_grant, first, me, granted))

    def on_release(now: int, me: int, sender: int, token: int) -> None:
        nonlocal granted
        if token == granted:
            granted = 0
            grant(now, me)

    return take_over, on_holding, on_request, on_release


class Ballots(NamedTuple):
    """The state that votes and heartbeats share: lists by process."""

    state: list[int]
    term: list[int]
    leader: list[int]


def _election(shared: Shared, take_over: Step, on_holding: Handler) -> tuple[Step, Step]:
    """The handlers of an election: waiting and campaigning."""
    n, heap, number, free = shared[:4]
    chance = Random("0/choose").random
    everybody = range(1, n + 1)
    ballots = Ballots([FOLLOWER] * (n + 1), [0] * (n + 1), [0] * (n + 1))
    state, term, leader = ballots
    voted_for, timer = [0] * (n + 1), [0] * (n + 1)
    votes: list[set[int]] = [set() for _ in range(n + 1)]

    def wait(now: int, me: int) -> None:
        free[0] += 1
        after = 15 + int(chance() * 16)
        timer[me] = run = number()
        heappush(heap, (now + after, run, on_timer_campaign, me, 0, run))

    def on_timer_campaign(now: int, me: int, sender: int, run: int) -> None:
        if timer[me] == run:
            campaign(now, me)

    def campaign(now: int, me: int) -> None:
        term[me] += 1
        voted_for[me], state[me], leader[me], votes[me] = me, CANDIDATE, 0, {me}
        wait(now, me)
        for other in everybody:
            if other != me:
                heappush(heap, (now + 1, number(), on_request_vote, other, me, term[me]))

    def step_down(me: int, newer: int) -> None:
        if newer > term[me]:
            term[me], voted_for[me] = newer, 0
        state[me], leader[me] = FOLLOWER, 0

    def on_request_vote(now: int, me: int, sender: int, asked: int) -> None:
        if asked > term[me]:
            step_down(me, asked)
        if asked == term[me] and voted_for[me] in (0, sender):
            voted_for[me] = sender
            wait(now, me)
            heappush(heap, (now + 1, number(), on_vote, sender, me, asked))

    def on_vote(now: int, me: int, sender: int, given: int) -> None:
        if state[me] == CANDIDATE and given == term[me]:
            votes[me].add(sender)
            if 2 * len(votes[me]) > n:
                state[me], leader[me], timer[me] = LEADER, me, -1
                on_timer_heartbeat(now, me, 0, 0)
                take_over(now, me)

    on_timer_heartbeat = _heartbeats(shared, ballots, wait, step_down, on_holding)
    return wait, campaign


def _heartbeats(shared: Shared, ballots: Ballots, wait: Step, step_down: Step, on_holding: Handler) -> Handler:
    """The handler of a leader's heartbeat timer."""
    n, heap, number, free, followed, held, wanting = shared
    state, term, leader = ballots
    everybody = range(1, n + 1)

    def on_timer_heartbeat(now: int, me: int, sender: int, value: int) -> None:
        for other in everybody:
            if other != me:
                heappush(heap, (now + 1, number(), on_heartbeat, other, me, term[me]))
        free[0] += 1
        heappush(heap, (now + 5, number(), on_timer_heartbeat, me, 0, 0))

    def on_heartbeat(now: int, me: int, sender: int, beat: int) -> None:
        if beat < term[me]:
            return
        if beat > term[me] or state[me] == CANDIDATE:
            step_down(me, beat)
        leader[me] = sender
        wait(now, me)
        if followed[me] != sender:
            followed[me] = sender
            if wanting[me]:
                heappush(heap, (now + 1, number(), on_holding, sender, me, not held[me]))

    return on_timer_heartbeat
