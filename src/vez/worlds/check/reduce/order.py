"""Order: the messages that may follow each message on a channel that keeps the order.

It is computed from the local steps that a search has found. The steps of the sender give the order of sending, those of
the receiver the message that it may have received last. Both sets only grow, and they may contain too much, never too
little.
"""

from __future__ import annotations

from vez.worlds.check.model.local import Event
from vez.worlds.check.model.semantics import Model

NOTHING_YET = -1
"""Stands for the message before the first."""


class Order:
    """The order of messages on one channel, as learnt so far."""

    def __init__(self, model: Model, channel: int) -> None:
        self.model = model
        sender, self.to = divmod(channel, model.n)
        self.sender = sender
        self._who = model.ids[sender]
        self.follows: dict[int, list[Event]] = {}
        """By message: the deliveries that may be next."""
        self.heard: dict[int, list[int]] = {}
        """By local state of the receiver: the messages that it may have received last."""
        self.version = 0
        """A counter that increases with every change."""
        self._sent: dict[int, list[int]] = {}  # by local state of the sender: the messages that it may have sent last
        self._sends: dict[int, list[tuple[int, tuple[int, ...]]]] = {}  # its steps: the state after, the sent messages
        self._hears: dict[int, list[tuple[int, int]]] = {}  # the receiver's: the state after, the message or none
        for _, outcomes in model.starts():
            start = model.local_number(outcomes[sender].local)
            self._note_sent(start, self._chain(NOTHING_YET, self._of(outcomes[sender].sends)))
            self._note_heard(model.local_number(outcomes[self.to].local), NOTHING_YET)

    def add(self, place: int, before: int, event: Event, after: int, sends: tuple[tuple[int, object], ...]) -> None:
        """Take a step of a process into account."""
        if place == self.sender:
            step = (after, self._of(sends))
            self._sends.setdefault(before, []).append(step)
            for last in tuple(self._sent.get(before, ())):
                self._note_sent(after, self._chain(last, step[1]))
        if place == self.to:
            heard = event[0] == "deliver" and event[1] == self._who
            number = event[2] if heard else NOTHING_YET
            self._hears.setdefault(before, []).append((after, number))
            for last in tuple(self.heard.get(before, ())):
                self._note_heard(after, last if number == NOTHING_YET else number)

    def _of(self, sends: tuple[tuple[int, object], ...]) -> tuple[int, ...]:
        me = self.model.ids[self.to]
        return tuple(self.model.message_number(message) for to, message in sends if to == me)

    def _chain(self, last: int, sent: tuple[int, ...]) -> int:
        for number in sent:
            event = ("deliver", self._who, number)
            following = self.follows.setdefault(last, [])
            if event not in following:
                following.append(event)
                self.version += 1
            last = number
        return last

    def _note_sent(self, local: int, last: int) -> None:
        work = [(local, last)]
        while work:
            local, last = work.pop()
            known = self._sent.setdefault(local, [])
            if last not in known:
                known.append(last)
                work += [(after, self._chain(last, sent)) for after, sent in self._sends.get(local, ())]

    def _note_heard(self, local: int, last: int) -> None:
        work = [(local, last)]
        while work:
            local, last = work.pop()
            known = self.heard.setdefault(local, [])
            if last not in known:
                known.append(last)
                self.version += 1
                work += [
                    (after, last if number == NOTHING_YET else number) for after, number in self._hears.get(local, ())
                ]
