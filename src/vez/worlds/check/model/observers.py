"""Observers: properties that need memory beyond the state, as small machines that read the visible events.

They run beside the model: their state is one more column. A property that can be read from the state (two inside,
two leaders) needs no observer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from vez.core.assumptions import Property
from vez.worlds.check.model.configuration import FOREVER

Visible = tuple[Any, ...]


class Observer:
    """The interface between the model and an observer: it reads the visible events and has numbered states."""

    needs: frozenset[str] = frozenset()
    """`causality`: processes and messages carry the requests that happened before them. `doorway`: the arrival of the
    messages that `on_want` sent is visible."""

    def after(self, number: int, process: int, visible: tuple[Visible, ...]) -> int:
        """The observer's next state."""
        raise NotImplementedError

    def broken(self, number: int) -> tuple[str, ...]:
        """The properties that are broken in a state of the observer."""
        raise NotImplementedError


class Stay(NamedTuple):
    """A stay with a token. If the process is None, it marks the place in the order of a writer that has left."""

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
        return last._remove(last._place(process))  # the write may have made earlier places unnecessary

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
        """Remove places without effect: a writer that has left matters only to stays that entered before it."""
        stays = tuple(stay for stay in self.stays if stay.process is not None or stay.wrote_last)
        while stays and stays[0].process is None:
            stays = stays[1:]
        return self._replace(stays=stays)


class Reigns(NamedTuple):
    """The latest leader, and the reason why its reign ended."""

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


class Open(NamedTuple):
    """A request that waits."""

    process: int
    missing: tuple[Any, ...] = ()  # messages of `on_want` that have not arrived; empty if the request is placed
    after: tuple[int, ...] = ()  # processes whose open request was placed before this one was made
    bypasses: int = 0


class Waiting(NamedTuple):
    """The open requests, by process. Bypasses beyond `most` are not counted, because they make no difference."""

    most: int
    requests: tuple[Open, ...] = ()
    late: tuple[tuple[int, Any], ...] = ()
    """If requests are unlimited: the messages of finished requests that have not arrived, with their senders."""
    broken: bool = False

    def after(self, process: int, visible: Visible) -> Waiting:
        """The next state after a visible event."""
        if self.broken:
            return self
        match visible:
            case ("want", *_):
                before = tuple(one.process for one in self.requests if not one.missing)
                return self._replace(requests=tuple(sorted((*self.requests, Open(process, after=before)))))
            case ("ask", sends):
                return self._with(process, missing=sends)
            case ("arrive", sender, message):
                return self._arrive(sender, (process, message))
            case ("enter" | "crash" | "withdraw", *_):
                return self._end(process, entered=visible[0] == "enter")
        return self

    def _with(self, process: int, **change: Any) -> Waiting:
        changed = (one._replace(**change) if one.process == process else one for one in self.requests)
        return self._replace(requests=tuple(changed))

    def _arrive(self, sender: int, message: Any) -> Waiting:
        if (sender, message) in self.late:
            return self._replace(late=_less(self.late, (sender, message)))
        open_ = next((one for one in self.requests if one.process == sender), None)
        if open_ is None or message not in open_.missing:
            return self
        return self._with(sender, missing=_less(open_.missing, message))

    def _end(self, process: int, *, entered: bool) -> Waiting:
        ended = next((one for one in self.requests if one.process == process), None)
        if ended is None:
            return self
        left = tuple(
            one._replace(
                after=tuple(other for other in one.after if other != process),
                bypasses=one.bypasses + (entered and one.process in ended.after),
            )
            for one in self.requests
            if one is not ended
        )
        if any(one.bypasses > self.most for one in left):
            return Waiting(self.most, broken=True)
        endless = tuple((process, message) for message in ended.missing if message[1].request == FOREVER)
        return Waiting(self.most, left, tuple(sorted((*self.late, *endless), key=repr)))


def _less(messages: tuple[Any, ...], message: Any) -> tuple[Any, ...]:
    """The messages without the first one that equals `message`."""
    place = messages.index(message)
    return messages[:place] + messages[place + 1 :]


class Order(NamedTuple):
    """The waiting processes with their vectors when they asked, and those overtaken by a process that knew of them."""

    waiting: tuple[tuple[int, tuple[int, ...]], ...] = ()
    overtaken: tuple[int, ...] = ()
    places: tuple[int, ...] = ()
    """The identifiers in the order of the vectors."""
    broken: bool = False

    def after(self, process: int, visible: Visible) -> Order:
        """The next state after a visible event. As in the judge, only a process that gets in counts as overtaken."""
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


MOST_BYPASSES = 8
"""The largest number of counted bypasses of one request if the algorithm declares no bound, so that unlimited requests
lead to finitely many states."""

NEEDS = {Property.REQUEST_ORDER: "causality", Property.BOUNDED_WAITING: "doorway"}


class Watch(Observer):
    """The observers of several properties, combined into one with numbered states."""

    def __init__(
        self, properties: tuple[Property, ...], bypass_bound: int | None = None, ids: tuple[int, ...] = ()
    ) -> None:
        self.properties = properties
        self.needs = frozenset(NEEDS[name] for name in properties if name in NEEDS)
        self.bypass_bound = bypass_bound
        """The declared bound; None if there is none, so that none can be broken."""
        self._states: list[tuple[Any, ...]] = []
        self._numbers: dict[tuple[Any, ...], int] = {}
        most = MOST_BYPASSES if bypass_bound is None else bypass_bound
        blank = {Property.REQUEST_ORDER: Order(places=ids), Property.BOUNDED_WAITING: Waiting(most)}
        self._number(tuple(blank.get(name) or KINDS[name]() for name in properties))  # type: ignore[call-arg]

    def after(self, number: int, process: int, visible: tuple[Visible, ...]) -> int:
        states = self._states[number]
        for seen in visible:
            states = tuple(state.after(process, seen) for state in states)
        return self._number(states)

    def broken(self, number: int) -> tuple[str, ...]:
        states = zip(self.properties, self._states[number], strict=True)
        return tuple(name for name, state in states if state.broken and not self._has_no_bound(name))

    def _has_no_bound(self, name: Property) -> bool:
        return name is Property.BOUNDED_WAITING and self.bypass_bound is None

    def worst_bypasses(self) -> int:
        """The largest number of bypasses of a request in the explored states. One more than the largest counted number
        means that many or more."""
        waiting = [state for states in self._states for state in states if isinstance(state, Waiting)]
        if any(state.broken for state in waiting):
            return waiting[0].most + 1
        return max((one.bypasses for state in waiting for one in state.requests), default=0)

    def __len__(self) -> int:
        return len(self._states)

    def _number(self, states: tuple[Any, ...]) -> int:
        number = self._numbers.setdefault(states, len(self._states))
        if number == len(self._states):
            self._states.append(states)
        return number
