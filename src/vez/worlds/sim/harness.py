"""Harness: the application that uses the algorithm.

For mutual exclusion it calls `on_want`, decides how long a process stays inside, writes to the protected resource at
the start and at the end of the stay, and calls `on_done`. For elections it calls `on_elect`. `io.enter()` only reports
that a process is inside; a call without a request is a bug.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple, cast

import msgspec

from vez.core import overrides
from vez.core import trace as events
from vez.core.effects import check_token, spurious_state, unasked_entry
from vez.core.process import Election, Mutex
from vez.worlds.sim.agenda import Agenda
from vez.worlds.sim.availability import Availability
from vez.worlds.sim.delays import US, parse_delay, us
from vez.worlds.sim.dispatch import Dispatcher
from vez.worlds.sim.limits import Limits
from vez.worlds.sim.node import Node
from vez.worlds.sim.recording import Recording
from vez.worlds.sim.scenario import Elect, Scenario, Want, Workload
from vez.worlds.sim.setup import Setup

LINGER = 10
"""Message times until the end of the run after the last stay.

Releases can arrive in that time. Waiting for all messages is not possible: a token may circulate for ever.
"""


class Stay(NamedTuple):
    """One planned stay in the critical section. It begins `at` a time, or `think_us` after the previous stay."""

    inside_us: int
    at: int = -1
    think_us: int = 0
    withdraw_at: int = -1  # time at which the process stops waiting; -1 if `wait_us` decides
    wait_us: int = -1  # longest wait; -1 if it waits until it enters
    linger_us: int = 0  # time that it takes to leave if it enters after it withdrew

    @property
    def is_at_once(self) -> bool:
        """True if the request follows as soon as the previous stay is over."""
        return self.at < 0 and not self.think_us


class Harness:
    """The wants, the stays and the elections of a run."""

    def __init__(
        self,
        setup: Setup,
        nodes: Mapping[int, Node],
        *,
        agenda: Agenda,
        limits: Limits,
        recording: Recording,
        dispatcher: Dispatcher,
        availability: Availability,
    ) -> None:
        self._setup = setup
        self._nodes = nodes
        self._agenda = agenda
        self._limits = limits
        self._recording = recording
        self._dispatcher = dispatcher
        self._availability = availability
        self._plans: defaultdict[int, deque[Stay]] = defaultdict(deque)
        self._current: dict[int, Stay] = {}  # the stay of each process that will want, wants or is inside
        self._asked: set[int] = set()  # processes that want in or are inside
        self._inside: dict[int, int | None] = {}  # the token of each process that is inside
        self._withdrawn: set[int] = set()  # processes that no longer wait, but may still enter
        self._requests: defaultdict[int, int] = defaultdict(int)  # number of requests of each process
        self._highest: int | None = None  # the largest token that the resource has seen
        self.idle = False
        self._wanted: list[Want] = []
        self._unasked: dict[int, Want] = {}  # planned requests that have not happened yet
        self._linger = LINGER * setup.message_us

    def plan(self) -> None:
        """Plan the requests and elections of the application."""
        scenario, algorithm = self._setup.scenario, self._setup.algorithm
        if issubclass(algorithm, Mutex):
            self._plan_stays(scenario, algorithm)
        elif issubclass(algorithm, Election):
            self._plan_elections()

    def entered(self, node: Node, token: int | None) -> None:
        """Called for `io.enter()`: the process is inside."""
        check_token(self._setup.algorithm.__name__, node.me, token)
        if node.me not in self._asked or node.me in self._inside:
            self.spurious(node.me, inside=node.me in self._inside)
            return
        self._inside[node.me] = token
        self._recording.add(events.Entered, node.me, token)
        self._write(node.me)
        life, stay = self._availability.life(node.me), self._current[node.me]
        length = stay.linger_us if node.me in self._withdrawn else max(1, stay.inside_us)
        self._agenda.plan(
            self._agenda.now + length,
            lambda: self._availability.when_awake(node.me, partial(self._leave, node, life)),
        )

    def crashed(self, process: int) -> None:
        """End the stay or the request of a process that crashed. Its later plans are kept."""
        stay = self._current.pop(process, None)
        self._inside.pop(process, None)
        self._withdrawn.discard(process)
        if stay is not None and process not in self._asked:
            self._plans[process].appendleft(stay)
        self._asked.discard(process)
        self._check_idle()

    def recovered(self, node: Node) -> None:
        """Continue with the plans of a process that has recovered."""
        self._next(node)
        self._check_idle()

    def explicit(self, scenario: Scenario) -> Scenario:
        """The scenario with every request and election written out."""
        if issubclass(self._setup.algorithm, Mutex):
            # A request that was never made, because of a crash or a limit, still kept the run from ending earlier.
            unasked = (self._unasked[process] for process in sorted(self._unasked))
            return scenario.but(workload=Workload(requests=0), want=(*self._wanted, *unasked))
        if issubclass(self._setup.algorithm, Election):
            return scenario.but(elect=self._elections())
        return scenario

    def _plan_stays(self, scenario: Scenario, algorithm: type[Mutex]) -> None:
        for want in sorted(scenario.want, key=lambda want: want.at_ms):
            self._plans[want.process].append(_planned(want))
        workload = scenario.workload or Workload(requests=0 if scenario.want else Workload().requests)
        think, inside = parse_delay(workload.think_ms), parse_delay(workload.inside_ms)
        wait = None if workload.wait_ms is None else parse_delay(workload.wait_ms)
        # If nothing is drawn, all stays are equal.
        alike = wait is None and think.is_constant and inside.is_constant
        shared = Stay(think_us=us(think.mean_ms), inside_us=max(1, us(inside.mean_ms)))
        for process in overrides.contenders(algorithm, self._setup.ids) if workload.requests else ():
            if alike:
                self._plans[process].extend([shared] * workload.requests)
                continue
            chance = self._setup.stream(f"workload/{process}")
            think_us, inside_us = think.sampler(chance, 0), inside.sampler(chance)
            wait_us = None if wait is None else wait.sampler(self._setup.stream(f"withdraw/{process}"), 0)
            for _ in range(workload.requests):
                waits = -1 if wait_us is None else wait_us()
                self._plans[process].append(Stay(think_us=think_us(), inside_us=inside_us(), wait_us=waits))
        for process in sorted(self._plans):
            self._next(self._nodes[process])
        self._check_idle()

    def _plan_elections(self) -> None:
        scenario, nodes = self._setup.scenario, self._nodes
        starters: defaultdict[int, list[Node]] = defaultdict(list)
        for elect in scenario.elect:
            starters[us(elect.at_ms)].append(nodes[elect.process])
        for at, some in starters.items() if scenario.elect else [(0, list(nodes.values()))]:
            self._agenda.plan(at, partial(self._elect, some))

    def _elections(self) -> tuple[Elect, ...]:
        """The elections of the scenario. If it lists none, every process starts one at time 0."""
        scenario = self._setup.scenario
        return scenario.elect or tuple(Elect(process=process) for process in self._setup.ids)

    def _elect(self, nodes: list[Node]) -> None:
        on_elect = cast(type[Election], self._setup.algorithm).on_elect

        def ask(node: Node) -> None:
            self._recording.add(events.Asked, node.me)
            self._dispatcher.call(node, on_elect)

        for node in nodes:
            self._availability.when_awake(node.me, partial(ask, node))

    def _next(self, node: Node) -> None:
        """Plan the next request of a process, if it has one and is not busy."""
        plans = self._plans[node.me]
        if not plans or node.me in self._current or self._availability.is_dead(node.me):
            return
        stay = plans.popleft()
        now = self._agenda.now
        at = now + stay.think_us if stay.at < 0 else max(now, stay.at)
        life = self._availability.life(node.me)
        self._current[node.me] = stay
        self._unasked[node.me] = Want(process=node.me, at_ms=at / US, inside_ms=stay.inside_us / US)
        self._agenda.plan(at, partial(self._want, node, stay, life))

    def _want(self, node: Node, stay: Stay, life: int) -> None:
        algorithm = cast(type[Mutex], self._setup.algorithm)
        if self._availability.life(node.me) != life:
            return

        # The planned time, not the actual one: a request that waits for the end of a pause must wait again in a replay.
        planned = Want(
            process=node.me,
            at_ms=self._agenda.now / US,
            inside_ms=stay.inside_us / US,
            linger_ms=stay.linger_us / US,
        )

        def want() -> None:
            del self._unasked[node.me]
            self._asked.add(node.me)
            self._requests[node.me] += 1
            until = self._withdraws_at(stay)
            withdraw_ms = None if until is None else until / US
            self._wanted.append(msgspec.structs.replace(planned, withdraw_ms=withdraw_ms))
            self._recording.add(events.Wanted, node.me)
            if until is not None:
                withdraw = partial(self._withdraw, node, self._requests[node.me], life)
                self._agenda.plan(until, partial(self._availability.when_awake, node.me, withdraw))
            self._dispatcher.call(node, algorithm.on_want)

        self._availability.when_awake(node.me, want)

    def _withdraws_at(self, stay: Stay) -> int | None:
        """The time at which a request that is made now is withdrawn if it still waits; None if never."""
        if stay.withdraw_at >= 0:
            return max(self._agenda.now, stay.withdraw_at)
        return self._agenda.now + stay.wait_us if stay.wait_us >= 0 else None

    def _withdraw(self, node: Node, request: int, life: int) -> None:
        """The application stops waiting, unless that request was served or lost in a crash."""
        me, algorithm = node.me, cast(type[Mutex], self._setup.algorithm)
        over = self._availability.life(me) != life or self._requests[me] != request
        if over or me not in self._asked or me in self._inside:
            return
        self._recording.add(events.Withdrew, me, algorithm.can_retract())
        if algorithm.can_retract():
            self._asked.discard(me)
            del self._current[me]
        else:
            self._withdrawn.add(me)
        self._dispatcher.call(node, algorithm.on_withdraw)
        self._next(node)
        self._check_idle()

    def _leave(self, node: Node, life: int) -> None:
        if self._availability.life(node.me) != life:
            return
        algorithm = cast(type[Mutex], self._setup.algorithm)
        self._write(node.me)
        del self._inside[node.me]
        del self._current[node.me]
        self._asked.discard(node.me)
        self._withdrawn.discard(node.me)
        self._recording.add(events.Left, node.me)
        self._dispatcher.call(node, algorithm.on_done)
        self._next(node)
        self._check_idle()

    def spurious(self, process: int, *, inside: bool) -> None:
        """Handle an entry without a request: a bug, unless faults can explain it (a grant that arrives twice)."""
        if not self._setup.excuses_entries:
            algorithm = self._setup.algorithm
            raise unasked_entry(algorithm.__name__, algorithm.role, process, inside=inside)
        self._recording.note(process, f"was let in, but {spurious_state(inside=inside)}")

    def _write(self, process: int) -> None:
        """Write to the resource with the token of the stay. The resource refuses a token below the highest so far."""
        token = self._inside[process]
        if token is None:
            return
        accepted = self._highest is None or token >= self._highest
        self._highest = token if accepted else self._highest
        self._recording.add(events.Wrote, process, token, accepted)

    def _check_idle(self) -> None:
        """After the last stay, end the run when the last messages have had time to arrive."""
        if self._setup.algorithm.role != "mutex" or (self._current and not self.idle):
            return
        will_run = self._availability.will_run
        self.idle = not self._current and not any(stays and will_run(one) for one, stays in self._plans.items())
        if self.idle:
            self._limits.end_by(self._agenda.now + self._linger)
        else:
            self._limits.run_on()


def _planned(want: Want) -> Stay:
    return Stay(
        us(want.inside_ms),
        at=us(want.at_ms),
        withdraw_at=-1 if want.withdraw_ms is None else us(want.withdraw_ms),
        linger_us=us(want.linger_ms),
    )
