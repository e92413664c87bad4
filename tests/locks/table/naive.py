"""The promises of a turn table, implemented again in the simplest way: one list, and every question is asked of all of
it.

It shares no code with `vez.locks.table`, and does nothing to be fast. A waiting request is granted when none of the
earlier requests that still count blocks it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


class Illegal(Exception):
    """A command that the table must refuse."""


@dataclass
class Asked:
    """One request, from its arrival until it leaves."""

    number: int
    token: int
    since: int
    client: int
    shared: bool
    weight: int
    grace: int  # ns
    label: str
    state: str = "waits"  # then "holds"; "broken" during its grace; "stale" after that, or after a transfer
    ends: int = 0

    def counts(self) -> bool:
        """True if it can block other requests."""
        return self.state != "stale"


class Naive:
    """The specification of one name."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.limit = 1
        self.drawn = 0
        self.requests: list[Asked] = []  # in order of arrival
        self.mean: Fraction | None = None
        self.forced: list[tuple[tuple[int, ...], str]] = []
        self.told: list[tuple[object, ...]] = []

    def those(self, *states: str) -> list[Asked]:
        return [one for one in self.requests if one.state in states]

    def before(self, one: Asked) -> int:
        """The position: the number of holders and of earlier waiters; in an election, of the candidates that would lead
        before."""
        if self.kind == "election":
            before = [
                other for other in self.those("waits") if (-other.weight, other.number) < (-one.weight, one.number)
            ]
        else:
            before = [other for other in self.those("waits") if other.number < one.number]
        return len(self.those("holds", "broken")) + len(before)

    def enlist(
        self, now: int, client: int, shared: bool, limit: int, weight: int, grace: int, label: str, wait: bool
    ) -> None:
        if limit < 1 or (self.kind != "semaphore" and limit != 1) or (shared and self.kind != "lock"):
            raise Illegal
        if limit != self.limit and self.those("waits", "holds", "broken"):
            raise Illegal
        before = self.drawn, list(self.requests)
        self.limit = limit
        self.drawn += 1
        one = Asked(self.drawn, self.drawn, now, client, shared, weight, grace, label)
        self.requests.append(one)
        self.grant(now)
        if one.state == "waits" and not wait:
            self.drawn, self.requests = before
            self.told.append(("refused",))
        elif one.state == "waits":
            self.told.append(("queued", one.number, self.before(one)))

    def leave(self, now: int, number: int) -> None:
        found = [one for one in self.requests if one.number == number]
        if not found:
            raise Illegal
        if found[0].state == "holds":
            stay = Fraction(now - found[0].since)
            self.mean = stay if not self.mean else self.mean * Fraction(4, 5) + stay * Fraction(1, 5)
        self.remove(now, found)

    def crash(self, now: int, client: int) -> None:
        self.remove(now, [one for one in self.requests if one.client == client])

    def remove(self, now: int, gone: list[Asked]) -> None:
        led = self.those("holds", "broken")
        self.requests = [one for one in self.requests if one not in gone]
        self.grant(now)
        self.tell_if_vacant(led)

    def take(self, now: int, reason: str) -> None:
        """Release all holders by force."""
        held = self.those("holds")
        if not held:
            return
        self.forced.append((tuple(one.token for one in held), reason))
        for one in held:
            one.state, one.ends = "broken", now + one.grace
            self.told.append(("lost", one.number, "broken"))
        self.pass_time(now)

    def transfer(self, now: int, number: int, label: str) -> None:
        leaders = [one for one in self.those("holds") if one.number == number]
        followers = [one for one in self.those("waits") if one.label == label]
        if self.kind != "election" or not leaders or not followers:
            raise Illegal
        leaders[0].state = "stale"
        self.told.append(("lost", number, "transferred"))
        self.hold(now, followers[0])

    def pass_time(self, now: int) -> None:
        """End the graces that are over."""
        led = self.those("holds", "broken")
        for one in self.those("broken"):
            if now >= one.ends:
                one.state = "stale"
        self.grant(now)
        self.tell_if_vacant(led)

    def tell_if_vacant(self, led: list[Asked]) -> None:
        if self.kind == "election" and led and not self.those("holds", "broken"):
            self.told.append(("vacant",))

    def hold(self, now: int, one: Asked) -> None:
        if self.kind == "election":
            self.drawn += 1
            one.token = self.drawn
        one.state, one.since = "holds", now
        self.told.append(("granted", one.number, one.token))

    def grant(self, now: int) -> None:
        if self.kind == "election":
            waiting = self.those("waits")
            if waiting and not self.those("holds", "broken"):
                most = max(one.weight for one in waiting)
                self.hold(now, next(one for one in waiting if one.weight == most))
            return
        for one in self.those("waits"):
            earlier = [other for other in self.requests if other.counts() and other.number < one.number]
            if all(other.shared for other in earlier) if one.shared else len(earlier) < self.limit:
                self.hold(now, one)

    def alarm(self) -> int | None:
        """The time at which the next grace ends, or None."""
        return min((one.ends for one in self.those("broken")), default=None)
