"""Recording: what processes did and said, for the trace and for the result of the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vez.core import trace as events
from vez.core.process import Process
from vez.core.trace import AnyEvent
from vez.core.view import View
from vez.errors import ProtocolBug
from vez.sim.agenda import Agenda
from vez.sim.setup import Setup

NO_VIEW = View()


class Recording:
    """The log of a recorded run, and the leader that each process named last."""

    def __init__(self, setup: Setup, agenda: Agenda, *, record: bool) -> None:
        self._algorithm = setup.algorithm.__name__
        self._ids = frozenset(setup.ids)
        self._agenda = agenda
        self.log: list[AnyEvent] | None = [] if record else None
        self.leaders: dict[int, tuple[int, int]] = {}
        self._status: dict[int, str] = {}
        self._views: dict[int, View] = {}

    def add(self, kind: Callable[..., AnyEvent], process: int, *details: Any) -> None:
        """Append an event of this moment to the log, if there is one."""
        if self.log is not None:
            self.log.append(kind(self._agenda.now, process, *details))

    def elected(self, process: int, leader: int, term: int) -> None:
        """A process names its leader."""
        if not isinstance(leader, int) or leader not in self._ids or not isinstance(term, int):
            raise ProtocolBug(
                f"{self._algorithm}: process {process} called io.elected({leader!r}, {term!r})",
                hint="expected the identifier of a process, and a whole number as the term",
            )
        self.leaders[process] = (leader, term)
        if self.log is not None:
            self.add(events.Elected, process, leader, term)

    def note(self, process: int, text: str) -> None:
        """A remark, of a process or about it."""
        self._check_text(text, f"process {process} called io.note")
        self.add(events.Noted, process, text)

    def describe(self, me: int, process: Process) -> None:
        """After a handler: record the status and the view of the process where they changed."""
        text = process.status()
        if text != self._status.get(me, ""):
            self._check_text(text, f"status() of process {me} gave")
            self._status[me] = text
            self.add(events.Status, me, text)
        view = process.view() or NO_VIEW
        if view != self._views.get(me, NO_VIEW):
            self._views[me] = view
            self.add(events.Viewed, me, view)

    def forget(self, process: int) -> None:
        """After a crash: what the process says when it is back is new."""
        self._status.pop(process, None)
        self._views.pop(process, None)
        self.leaders.pop(process, None)

    def _check_text(self, text: object, what: str) -> None:
        if not isinstance(text, str):
            raise ProtocolBug(f"{self._algorithm}: {what} {text!r}, expected text", hint="use str(...)")
