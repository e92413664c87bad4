"""Observers: properties that need memory beyond the state, as small machines that watch what becomes visible.

They run beside the model: their state is one more column. A property that the state alone shows (two inside,
two leaders) needs none.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from vez.check.model.semantics import Observer
from vez.core.assumptions import Property

Visible = tuple[Any, ...]


class Stay(NamedTuple):
    """A stay with a token. With process None it marks where a writer that has left stood in the order."""

    process: int | None
    token: int
    wrote_last: bool


class Fence(NamedTuple):
    """The protected resource: the largest token seen, and the stays in the order of entry."""

    highest: int | None = None
    stays: tuple[Stay, ...] = ()
    broken: bool = False

    def after(self, process: int, visible: Visible) -> Fence:
        """The next state after a visible event."""
        if visible[0] == "enter" and visible[1] is not None:
            entered = self._replace(stays=(*self.stays, Stay(process, visible[1], False)))
            return entered._write(len(entered.stays) - 1)
        place = self._place(process)
        if place is None or visible[0] not in ("leave", "crash"):
            return self
        last = self._write(place) if visible[0] == "leave" else self
        return last._remove(last._place(process))  # the write may have made places before it free

    def _place(self, process: int) -> int | None:
        return next((place for place, stay in enumerate(self.stays) if stay.process == process), None)

    def _write(self, place: int) -> Fence:
        token = self.stays[place].token
        if self.highest is not None and token < self.highest:
            return self
        stale = any(stay.wrote_last for stay in self.stays[place + 1 :])
        stays = tuple(stay._replace(wrote_last=at == place) for at, stay in enumerate(self.stays))
        return Fence(token, stays, self.broken or stale)._tidy()

    def _remove(self, place: int | None) -> Fence:
        if place is None:
            return self
        gone = self.stays[place]
        left = (Stay(None, 0, True),) if gone.wrote_last else ()
        return self._replace(stays=self.stays[:place] + left + self.stays[place + 1 :])._tidy()

    def _tidy(self) -> Fence:
        """A writer that has left matters only to those who entered before it."""
        stays = tuple(stay for stay in self.stays if stay.process is not None or stay.wrote_last)
        while stays and stays[0].process is None:
            stays = stays[1:]
        return self._replace(stays=stays)


class Reigns(NamedTuple):
    """The latest leader, and how its reign ended."""

    leader: int | None = None
    fate: str = ""  # "" while it leads, "other" when it named another, "crash"
    broken: bool = False

    def after(self, process: int, visible: Visible) -> Reigns:
        """The next state after a visible event."""
        if visible[0] == "elected" and visible[1] == process:
            taken = self.leader is not None and self.leader != process and self.fate != "crash"
            return Reigns(process, "", self.broken or taken)
        if process == self.leader and not self.fate and visible[0] in ("elected", "crash"):
            return self._replace(fate="crash" if visible[0] == "crash" else "other")
        return self


class Waiting(NamedTuple):
    """The waiting processes in the order of their requests, each with its bypasses so far."""

    queue: tuple[tuple[int, int], ...] = ()
    worst: int = 0
    broken: bool = False  # whether the worst is too much is for the checker to say, which knows the promise

    def after(self, process: int, visible: Visible) -> Waiting:
        """The next state after a visible event."""
        if visible[0] == "want":
            return self._replace(queue=(*self.queue, (process, 0)))
        place = next((place for place, entry in enumerate(self.queue) if entry[0] == process), None)
        if place is None or visible[0] not in ("enter", "crash", "withdraw"):
            return self
        passed = int(visible[0] == "enter")
        before = tuple((who, count + passed) for who, count in self.queue[:place])
        worst = max([self.worst, *(count for _, count in before)])
        return Waiting((*before, *self.queue[place + 1 :]), worst)


class Order(NamedTuple):
    """The waiting processes with what they knew when they asked, and those overtaken by one that knew of them."""

    waiting: tuple[tuple[int, tuple[int, ...]], ...] = ()
    overtaken: tuple[int, ...] = ()
    places: tuple[int, ...] = ()
    """The identifiers in the order of what is known."""
    broken: bool = False

    def after(self, process: int, visible: Visible) -> Order:
        """The next state after a visible event. As for the judge, only a process that gets in counts as overtaken."""
        if visible[0] == "want":
            return self._replace(waiting=tuple(sorted((*self.waiting, (process, visible[1])))))
        asked = dict(self.waiting).get(process)
        if asked is None or visible[0] not in ("enter", "crash", "withdraw"):
            return self
        left = tuple(entry for entry in self.waiting if entry[0] != process)
        was = process in self.overtaken
        passed = {other for other, known in left if visible[0] == "enter" and self._follows(asked, other, known)}
        overtaken = tuple(sorted({*self.overtaken, *passed} - {process}))
        return self._replace(waiting=left, overtaken=overtaken, broken=self.broken or (was and visible[0] == "enter"))

    def _follows(self, asked: tuple[int, ...], other: int, known: tuple[int, ...]) -> bool:
        """True if a request was made with knowledge of the request that `other` waits for."""
        place = self.places.index(other)
        return asked[place] >= known[place]


KINDS: dict[Property, type[Fence | Reigns | Waiting | Order]] = {
    Property.REQUEST_ORDER: Order,
    Property.FENCED_EXCLUSION: Fence,
    Property.STABILITY: Reigns,
    Property.BOUNDED_WAITING: Waiting,
}


class Watch(Observer):
    """The observers of several properties, combined into one with numbered states."""

    def __init__(
        self, properties: tuple[Property, ...], bypass_bound: int | None = None, ids: tuple[int, ...] = ()
    ) -> None:
        self.properties = properties
        self.bypass_bound = bypass_bound
        self._states: list[tuple[Any, ...]] = []
        self._numbers: dict[tuple[Any, ...], int] = {}
        blank = {Property.REQUEST_ORDER: Order(places=ids)}
        self._number(tuple(blank.get(name) or KINDS[name]() for name in properties))

    def after(self, number: int, process: int, visible: tuple[Visible, ...]) -> int:
        states = self._states[number]
        for seen in visible:
            states = tuple(state.after(process, seen) for state in states)
        return self._number(states)

    def broken(self, number: int) -> tuple[str, ...]:
        states = zip(self.properties, self._states[number], strict=True)
        return tuple(name for name, state in states if state.broken or self._overtaken(state))

    def worst_bypasses(self) -> int:
        """The largest number of bypasses of any request in the explored states."""
        return max(
            (state.worst for states in self._states for state in states if isinstance(state, Waiting)), default=0
        )

    def _overtaken(self, state: Any) -> bool:
        bound = self.bypass_bound
        return isinstance(state, Waiting) and bound is not None and state.worst > bound

    def __len__(self) -> int:
        return len(self._states)

    def _number(self, states: tuple[Any, ...]) -> int:
        number = self._numbers.setdefault(states, len(self._states))
        if number == len(self._states):
            self._states.append(states)
        return number
