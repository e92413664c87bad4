"""Random commands to a turn table and to its naive specification, compared after each of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.locks.table.naive import Illegal, Naive
from vez.errors import Misuse
from vez.locks.table import (
    Alarm,
    Break,
    Command,
    Crash,
    Effect,
    Enlist,
    Granted,
    Leave,
    Lost,
    Queued,
    Refused,
    Table,
    Tick,
    Transfer,
    Vacant,
    machine,
    position,
)

MS = 1_000_000
CLIENTS = st.integers(1, 5)
LABELS = st.sampled_from(["a", "b", "c"])
ANY = st.integers(0, 60)


def told(effect: Effect) -> tuple[object, ...] | None:
    match effect:
        case Granted(number, token):
            return "granted", number, token
        case Queued(number, before):
            return "queued", number, before
        case Refused():
            return ("refused",)
        case Lost(number, why):
            return "lost", number, why
        case Vacant():
            return ("vacant",)
        case Alarm():
            return None


class Against(RuleBasedStateMachine):
    """One name. Time passes before commands, now and then beyond the end of a grace."""

    @initialize(kind=st.sampled_from(["lock", "semaphore", "election"]), limit=st.integers(1, 3))
    def begin(self, kind: str, limit: int) -> None:
        self.table = Table(kind, "x")  # type: ignore[arg-type]
        self.naive = Naive(kind)
        self.now = 0
        self.limit = limit if kind == "semaphore" else 1
        self.granted = 0  # the newest token that was granted
        self.positions: dict[int, int] = {}
        self.drawn = 0

    def both(self, command: Command, naive: Callable[[], None]) -> None:
        before, self.naive.told = self.table, []
        self.naive.pass_time(self.now)
        try:
            naive()
        except Illegal:
            try:
                machine.step(before, command, self.now)
            except Misuse:
                self.table, effects = machine.step(before, Tick(), self.now)  # so much the naive one did
            else:
                raise AssertionError(f"{command} was not refused") from None
        else:
            self.table, effects = machine.step(before, command, self.now)
        found = [words for effect in effects if (words := told(effect)) is not None]
        assert found == self.naive.told, f"{command}: {found}, expected {self.naive.told}"
        for effect in effects:
            if isinstance(effect, Granted):
                assert effect.token > self.granted
                self.granted = effect.token

    @rule(ms=st.sampled_from([0, 1, 2, 5, 9]), how=st.sampled_from(["tick", "later"]))
    def time_passes(self, ms: int, how: str) -> None:
        self.now += ms * MS
        if how == "tick":
            self.both(Tick(), lambda: None)

    @rule(
        client=CLIENTS, grace=st.sampled_from([0, 0, 3, 7]), label=LABELS, wait=st.sampled_from([True, True, False]),
        other=st.sampled_from([0, 0, 0, -1, 1]), shared=st.sampled_from([False, False, True]),
    )  # fmt: skip
    def enlist_somehow(self, client: int, grace: int, label: str, wait: bool, other: int, shared: bool) -> None:
        self.enlist(Enlist(client, shared, self.limit + other, 1, grace, label, wait))

    @rule(client=CLIENTS, grace=st.sampled_from([0, 4]), label=LABELS)
    def enlist_alone(self, client: int, grace: int, label: str) -> None:
        self.enlist(Enlist(client, False, self.limit, 0, grace, label))

    @precondition(lambda self: self.table.kind != "semaphore")
    @rule(client=CLIENTS, grace=st.sampled_from([0, 4]), label=LABELS, weight=st.integers(0, 2))
    def enlist_among_others(self, client: int, grace: int, label: str, weight: int) -> None:
        """Readers of a lock, and candidates of different weights."""
        self.enlist(Enlist(client, self.table.kind == "lock", 1, weight, grace, label))

    def enlist(self, asked: Enlist) -> None:
        self.both(
            asked,
            lambda: self.naive.enlist(
                self.now, asked.client, asked.shared, asked.limit, asked.weight, asked.grace_ms * MS, asked.label,
                asked.wait,
            ),
        )  # fmt: skip
        if self.table.kind == "semaphore":
            self.limit = self.naive.limit

    @rule(which=ANY)
    def leave(self, which: int) -> None:
        """Mostly a request that is in the table."""
        there = self.naive.requests
        number = there[which % len(there)].number if there and which % 5 else which % 9
        self.both(Leave(number), lambda: self.naive.leave(self.now, number))

    @precondition(lambda self: self.table.queue)
    @rule()
    def the_first_withdraws(self) -> None:
        number = self.naive.those("waits")[0].number
        self.both(Leave(number), lambda: self.naive.leave(self.now, number))

    @rule(reason=LABELS)
    def take_by_force(self, reason: str) -> None:
        self.both(Break(reason, "test"), lambda: self.naive.take(self.now, reason))

    @precondition(lambda self: self.table.kind == "election" or not self.table.last)
    @rule(which=ANY, label=LABELS)
    def transfer(self, which: int, label: str) -> None:
        """Mostly by the leader, or by a deposed leader."""
        leaders = self.naive.those("holds", "broken")
        number = leaders[0].number if leaders and which % 5 else which % 9
        self.both(Transfer(number, label), lambda: self.naive.transfer(self.now, number, label))

    @rule(client=CLIENTS)
    def crash(self, client: int) -> None:
        self.both(Crash(client), lambda: self.naive.crash(self.now, client))

    @invariant()
    def the_same(self) -> None:
        if not hasattr(self, "table"):
            return
        table, naive = self.table, self.naive
        seen = [(seat.number, seat.token, seat.since_ns, seat.asked.client) for seat in table.holders + table.queue]
        expected = [one for state in (("holds", "broken"), ("waits",)) for one in naive.those(*state)]
        assert seen == [(one.number, one.token, one.since, one.client) for one in expected]
        assert {seat.number for seat in table.stale} == {one.number for one in naive.those("stale")}
        assert (table.last, table.alarm_ns, table.limit) == (naive.drawn, naive.alarm(), naive.limit)
        assert [(one.tokens, one.reason) for one in table.forced] == naive.forced[-100:]
        assert (table.mean_ns is None) == (naive.mean is None)
        if table.mean_ns is not None and naive.mean is not None:
            assert table.mean_ns == pytest.approx(float(naive.mean))
        assert hash(table) is not None

    @invariant()
    def positions_only_fall(self) -> None:
        if not hasattr(self, "table"):
            return
        waits = self.naive.those("waits")
        found = {one.number: self.naive.before(one) for one in waits}
        came = [one.weight for one in waits if one.number > self.drawn and self.naive.kind == "election"]
        for one in waits:
            number, before = one.number, found[one.number]
            assert position(self.table, number) == before
            heavier = sum(weight > one.weight for weight in came)
            assert before <= self.positions.get(number, before) + heavier, f"request {number} has fallen back"
        self.positions, self.drawn = found, self.naive.drawn
