"""Recording: collects the events of the trace and the leaders that processes named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vez.core import trace as events
from vez.core.drawn_view import View
from vez.core.effects import check_leader, check_text
from vez.core.message import plain_values
from vez.core.process import DURABLE, PARAMETER, Process, marked
from vez.core.process_ids import unmarked
from vez.core.trace import AnyEvent
from vez.worlds.sim.agenda import Agenda
from vez.worlds.sim.setup import Setup

NO_VIEW = View()


class Recording:
    """The log of a recorded run, and the leader that each process named last."""

    def __init__(self, setup: Setup, agenda: Agenda, *, record: bool) -> None:
        self._algorithm = setup.algorithm.__name__
        self._topology = setup.topology
        self._durable = marked(setup.algorithm, DURABLE)
        self._parameters = frozenset(marked(setup.algorithm, PARAMETER))
        self._with_initial = setup.values.keys()  # processes with initial fields of their own
        self._common: tuple[dict[str, Any], dict[str, Any]] | None = None
        self._stored: dict[int, dict[str, Any]] = {}  # the durable fields of each process
        self._agenda = agenda
        self.log: list[AnyEvent] | None = [] if record else None
        self.leaders: dict[int, tuple[int, int]] = {}
        self.leaders_at = 0  # time of the last change of a leader
        self._status: dict[int, str] = {}
        self._views: dict[int, View] = {}

    def add(self, kind: Callable[..., AnyEvent], process: int, *details: Any) -> None:
        """Append an event of this moment to the log, if there is one."""
        if self.log is not None:
            self.log.append(kind(self._agenda.now, process, *details))

    def starts(self, me: int, process: Process) -> None:
        """Record the start of a process, with its parameters and its initial fields."""
        if self.log is not None:
            # All processes without initial fields of their own start with the same values: they share one pair.
            alike = me not in self._with_initial
            values = self._common if alike and self._common is not None else self._initial_values(process)
            if alike:
                self._common = values
            self.add(events.Started, me, *values)
            self._stored[me] = {name: getattr(process, name) for name in self._durable}

    def _initial_values(self, process: Process) -> tuple[dict[str, Any], dict[str, Any]]:
        """The parameters and the other fields of a new process, as plain values."""
        values = {name: getattr(process, name) for name in process.__struct_fields__}
        parameters = {name: values.pop(name) for name in list(values) if name in self._parameters}
        return plain_values(parameters), plain_values(values)

    def elected(self, process: int, leader: int | None, term: int) -> None:
        """Record that a process names its leader, or that it knows none."""
        check_leader(self._algorithm, self._topology, process, leader, term)
        before = self.leaders.get(process)
        if leader is None:
            self.leaders.pop(process, None)
        else:
            self.leaders[process] = (leader, term)
        if self.leaders.get(process) != before:
            self.leaders_at = self._agenda.now
        if self.log is not None:
            self.add(events.Elected, process, leader, term)

    def note(self, process: int, text: str) -> None:
        """Record a remark, made by a process or about it."""
        check_text(self._algorithm, f"process {process} called io.note", text)
        self.add(events.Noted, process, *unmarked(text))

    def handler_ended(self, me: int, process: Process, started: int) -> None:
        """Record the fields that a handler stored, before its effects, and the status and the view if they changed.

        `started` is the length of the log before the handler ran.
        """
        if self._durable:
            self._store(me, process, started)
        text = process.status()
        if text != self._status.get(me, ""):
            check_text(self._algorithm, f"status() of process {me} gave", text)
            self._status[me] = text
            self.add(events.Status, me, *unmarked(text))
        view = process.view() or NO_VIEW
        if view != self._views.get(me, NO_VIEW):
            self._views[me] = view
            self.add(events.Viewed, me, view)

    def _store(self, me: int, process: Process, started: int) -> None:
        known = self._stored[me]
        changed = {name: getattr(process, name) for name in self._durable if getattr(process, name) != known[name]}
        if changed and self.log is not None:
            known.update(changed)
            self.log.insert(started, events.Stored(self._agenda.now, me, plain_values(changed)))

    def stored(self, me: int, process: Process) -> None:
        """Record the durable fields that changed, at this moment inside a handler."""
        if self.log is not None:
            self._store(me, process, len(self.log))

    def recovers(self, me: int, process: Process, memory: bool) -> None:
        """Record the recovery of a process, with its durable fields or without."""
        self.add(events.Recovered, me, memory)
        self._stored[me] = {name: getattr(process, name) for name in self._durable}

    def forget(self, process: int) -> None:
        """After a crash: forget status, view and leader, so that they are recorded again after a recovery."""
        self._status.pop(process, None)
        self._views.pop(process, None)
        self.leaders.pop(process, None)
