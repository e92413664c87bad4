"""Line: one name of the memory engine: its turn table, what the effects owe to whom, and who is woken.

All that changes is one value, the table and the effects that were not carried out yet, and a command replaces it in one
assignment. An interrupt can strike at any call: before the assignment nothing has happened, after it the effects are
owed, and whoever takes the mutex next carries them out. The garbage collector may finalise a request in the middle of a
command of the same thread, for which the mutex is reentrant; so a command is computed again if the value has changed
meanwhile.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from time import monotonic_ns, time
from typing import TYPE_CHECKING
from weakref import ref

from vez.engines.machine import at_fork
from vez.engines.wording import BROKEN, TRANSFERRED
from vez.table import Alarm, Command, Effect, Enlist, Granted, Leave, Lost, Queued, Table, Tick, step
from vez.table.values import Kind

if TYPE_CHECKING:
    from vez.engines.memory.ticket import MemoryTicket

WHY = {"broken": BROKEN, "transferred": TRANSFERRED}

_EPOCH = time() - monotonic_ns() / 1e9
"""Tables count monotonic time, since a grace must not end early because the clock was set. What is shown is seconds
since the epoch, by this difference as it was at the start of the process."""


def since_epoch(at_ns: int) -> float:
    """A time of a table in seconds since the epoch."""
    return _EPOCH + at_ns / 1e9


class Bell:
    """Wakes one thread. A bare lock that is held while nobody has rung: an interrupt can leave `threading.Event`
    locked."""

    def __init__(self) -> None:
        self._silent = threading.Lock()
        self._silent.acquire()

    def ring(self) -> None:
        """Wake the thread, now or at its next wait."""
        with contextlib.suppress(RuntimeError):
            self._silent.release()

    def wait(self, seconds: float | None) -> bool:
        """Sleep until it rings; False if the time is over."""
        return self._silent.acquire(timeout=-1 if seconds is None else seconds)


class Line:
    """One name. Call the methods with the mutex of its space."""

    __slots__ = ("observers", "tickets", "value")

    def __init__(self, kind: Kind, name: str) -> None:
        self.value: tuple[Table, tuple[Effect, ...]] = (Table(kind, name), ())
        """The table, and the effects that are owed."""
        self.tickets: dict[int, ref[MemoryTicket]] = {}
        """By number; weak, so that a dropped request is finalised."""
        self.observers: list[Callable[[], None]] = []

    @property
    def table(self) -> Table:
        """The table, as it is now."""
        return self.value[0]

    def enlist(self, ticket: MemoryTicket, asked: Enlist) -> bool:
        """Put a request into the table; False if it was refused. The ticket knows its number as soon as the table does,
        so that it can be released wherever an interrupt strikes."""
        me = ref(ticket)
        while True:
            before = self.value
            after, effects = step(before[0], asked, monotonic_ns())
            answer, owed = effects[-1], before[1] + effects[:-1]
            granted = isinstance(answer, Granted)
            if granted:
                if self.observers:
                    owed += (answer,)
            elif self.reap():
                continue
            elif asked.wait:
                ticket.make_bell()
            number = answer.number if isinstance(answer, Granted | Queued) else 0
            token, value = after.last, (after, owed)
            if self.value is not before:
                continue
            # From the comparison on, nothing is called and nothing is made that the collector counts.
            self.value = value
            ticket.number = number
            ticket.token = token
            ticket.inside = granted
            if number:
                self.tickets[number] = me
            break
        if owed:
            self.settle()
        ticket.gone = not number  # nothing to release
        return not ticket.gone

    def leave(self, number: int, command: Command) -> None:
        """Take a request out of the table."""
        while number in self.tickets:
            before = self.value
            after, effects = step(before[0], command, monotonic_ns())
            value = (after, before[1] + effects)
            if self.value is before:
                self.value = value
                del self.tickets[number]
        if self.value[1]:
            self.settle()

    def reap(self) -> bool:
        """Take out holders that no longer exist; True if there were any. Who drops a grant releases it by its
        finaliser, which an interrupt may cut short."""
        gone = [seat.number for seat in self.value[0].holders if self._ended(seat.number)]
        for number in gone:
            self.leave(number, Leave(number))
        return bool(gone)

    def _ended(self, number: int) -> bool:
        known = self.tickets.get(number)
        return known is not None and known() is None

    def do(self, command: Command) -> tuple[Effect, ...]:
        """Any other command; its effects, which are carried out."""
        while True:
            before = self.value
            after, effects = step(before[0], command, monotonic_ns())
            value = (after, before[1] + effects)
            if self.value is before:
                self.value = value
                self.settle()
                return effects

    def tick(self) -> None:
        """End the graces that are over, and carry out what is owed."""
        alarm_ns = self.value[0].alarm_ns
        if alarm_ns is not None and monotonic_ns() >= alarm_ns:
            self.do(Tick())
        elif self.value[1]:
            self.settle()

    def settle(self) -> None:
        """Carry out what is owed. Each effect may be carried out twice, if an interrupt or a finaliser came between."""
        while (value := self.value)[1]:
            self._carry_out(value[1][0])
            rest = (value[0], value[1][1:])
            if self.value is value:
                self.value = rest

    def _carry_out(self, effect: Effect) -> None:
        if isinstance(effect, Granted | Lost):
            known = self.tickets.get(effect.number)
            ticket = None if known is None else known()
            if ticket is None:
                self.reap()
            elif isinstance(effect, Granted):
                ticket.grant(effect.token)
            else:
                ticket.lose(effect.why)
        elif isinstance(effect, Alarm):  # who waits must not sleep longer than that
            for known in list(self.tickets.values()):
                if (ticket := known()) is not None and not ticket.inside:
                    ticket.wake()
        for tell in list(self.observers):
            tell()


class Space:
    """All names of one URL."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.lines: dict[tuple[str, str], Line] = {}

    def line(self, kind: Kind, name: str) -> Line:
        """The line of a name, made at the first use."""
        found = self.lines.get((kind, name))
        return found if found is not None else self.lines.setdefault((kind, name), Line(kind, name))


spaces: dict[str, Space] = {}
at_fork(after_in_child=spaces.clear)
