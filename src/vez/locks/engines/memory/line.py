"""Line: one name of the memory engine, with its turn table, the pending effects, and the waiters to wake.

The whole state is one value: the table and the effects that were not carried out yet. A command replaces it in one
assignment. An interrupt can arrive at any call. Before the assignment nothing has happened; after it, the effects are
pending, and the next thread that takes the mutex carries them out. The garbage collector may finalise a request in the
middle of a command of the same thread. The mutex is reentrant for this case, and a command is computed again if the
value has changed in between.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from time import monotonic_ns, time
from typing import TYPE_CHECKING
from weakref import ref

from vez.locks.engines.machine import at_fork
from vez.locks.engines.wording import BROKEN, TRANSFERRED
from vez.locks.table import Alarm, Command, Effect, Enlist, Granted, Leave, Lost, Queued, Table, Tick, step
from vez.locks.table.values import Kind

if TYPE_CHECKING:
    from vez.locks.engines.memory.ticket import MemoryTicket

WHY = {"broken": BROKEN, "transferred": TRANSFERRED}

_EPOCH = time() - monotonic_ns() / 1e9
"""Difference between the clock and monotonic time, measured once at the start of the process. Tables count monotonic
time, because a grace must not end early when the clock is set. This difference converts their times into seconds since
the epoch, which is what users see."""


def since_epoch(at_ns: int) -> float:
    """A time of a table in seconds since the epoch."""
    return _EPOCH + at_ns / 1e9


class Bell:
    """Wakes one thread. It is a bare lock that is held until somebody rings. `threading.Event` is not used, because an
    interrupt can leave it locked."""

    def __init__(self) -> None:
        self._silent = threading.Lock()
        self._silent.acquire()

    def ring(self) -> None:
        """Wake the thread, now or at its next wait."""
        with contextlib.suppress(RuntimeError):
            self._silent.release()

    def wait(self, seconds: float | None) -> bool:
        """Sleep until the bell rings. False if the time is over."""
        return self._silent.acquire(timeout=-1 if seconds is None else seconds)


class Line:
    """One name. The caller of every method holds the mutex of the space."""

    __slots__ = ("observers", "tickets", "value")

    def __init__(self, kind: Kind, name: str) -> None:
        self.value: tuple[Table, tuple[Effect, ...]] = (Table(kind, name), ())
        """The table, and the effects that were not carried out yet."""
        self.tickets: dict[int, ref[MemoryTicket]] = {}
        """Tickets by number. The references are weak, so that a dropped request is finalised."""
        self.observers: list[Callable[[], None]] = []

    @property
    def table(self) -> Table:
        """The present table."""
        return self.value[0]

    def enlist(self, ticket: MemoryTicket, asked: Enlist) -> bool:
        """Put a request into the table. False if it was refused. The ticket gets its number in the same step as the
        table, so that it can be released wherever an interrupt arrives."""
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
            # From the comparison on, no function is called and no object is allocated that the garbage collector
            # counts.
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
        """Remove holders that no longer exist. True if there were any. A dropped grant is released by its finaliser,
        which an interrupt may cut short."""
        gone = [seat.number for seat in self.value[0].holders if self._ended(seat.number)]
        for number in gone:
            self.leave(number, Leave(number))
        return bool(gone)

    def _ended(self, number: int) -> bool:
        known = self.tickets.get(number)
        return known is not None and known() is None

    def do(self, command: Command) -> tuple[Effect, ...]:
        """Execute any other command and carry out its effects. Returns the effects."""
        while True:
            before = self.value
            after, effects = step(before[0], command, monotonic_ns())
            value = (after, before[1] + effects)
            if self.value is before:
                self.value = value
                self.settle()
                return effects

    def tick(self) -> None:
        """End the graces that are over, and carry out the pending effects."""
        alarm_ns = self.value[0].alarm_ns
        if alarm_ns is not None and monotonic_ns() >= alarm_ns:
            self.do(Tick())
        elif self.value[1]:
            self.settle()

    def settle(self) -> None:
        """Carry out the pending effects. An effect may be carried out twice, if an interrupt or a finaliser came
        between."""
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
        elif isinstance(effect, Alarm):  # waiters must not sleep longer than that
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
        self.memos: dict[tuple[str, str], tuple[int, str]] = {}  # by kind and name: the token of the writer, the text

    def line(self, kind: Kind, name: str) -> Line:
        """The line of a name, made at the first use."""
        found = self.lines.get((kind, name))
        return found if found is not None else self.lines.setdefault((kind, name), Line(kind, name))


spaces: dict[str, Space] = {}
at_fork(after_in_child=spaces.clear)
