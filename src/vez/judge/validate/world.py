"""World: the rules that every trace must follow, whatever the algorithm does.

The rules concern four things: the processes that are up, the requests of the application, the messages that can arrive
at a process and how often, and the writes that the protected resource accepts. Channels must keep only the promises of
the world of the run (`Promises`).
"""

from __future__ import annotations

from typing import Any

import msgspec

from vez.core.process import Mutex
from vez.core.trace import (
    AnyEvent,
    Asked,
    Crashed,
    Cut,
    Entered,
    Healed,
    Left,
    Lost,
    Noted,
    Paused,
    Recovered,
    Resumed,
    Started,
    Suspected,
    Trusted,
    Wanted,
    Withdrew,
    Wrote,
)
from vez.judge.validate.channels import Channels
from vez.judge.validate.context import Context, Failure, Impossible
from vez.judge.validate.handler_call import IDLE, INSIDE, WAITING, WITHDRAWN
from vez.judge.validate.steps import OUTCOMES
from vez.judge.words.events import event_words

NEW, UP, PAUSED, DOWN = "has not started", "is up", "stands still", "is down"


class Life(msgspec.Struct):
    """The state of one process, as far as it is visible from outside."""

    state: str = NEW
    phase: int = IDLE
    token: int | None = None
    """The token of the current stay."""
    must_write: bool = False
    """True if the next event must be the write of the entry; in a real run, the next event after those of the same
    handler."""
    wrote: bool = False
    """True if the last event was the write of the exit."""
    write_at: int = 0
    """The time of the entry, or of the last write."""


class World:
    """The processes, the channels and the resource, followed event by event."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._algorithm: Any = context.algorithm
        ids = context.trace.header.ids
        hidden = "started" in context.unseen
        self.lives = {process: Life(UP if hidden else NEW) for process in ids}
        self.channels = Channels(context)
        self._highest: int | None = None  # the largest token that the resource has seen
        written = any(isinstance(event, Wrote) for event in context.events)
        self._is_instant = context.promises.instant and context.promises.sharp_faults
        self._writes = written or context.promises.sharp_faults  # the simulator has a resource

    def follow(self, index: int, event: AnyEvent) -> None:
        """Process the next event. Raises `Impossible` if it cannot have happened."""
        if type(event) in (Lost, Cut, Healed):
            wrong = self.channels.follow(index, event)
        else:
            life = self.lives[event.process]
            wrong = self._availability(event, life) or self._writing(event, life)
            wrong = wrong or self.channels.follow(index, event) or self._application(event, life)
        if wrong:
            found = event_words(event, self._context.sendings)
            raise Impossible(event.process, None, Failure(index=index, expected=wrong, found=found))

    def _availability(self, event: AnyEvent, life: Life) -> str:
        """A text that says why this process cannot act now; empty if it can."""
        kind, state = type(event), life.state
        if state == UP and kind not in _CHANGES:
            return ""
        before, after = _CHANGES.get(kind, ((UP,), state))
        if state not in before:
            return f"nothing like this: process {event.process} {state}"
        life.state = after
        if kind is Crashed:
            life.phase, life.token, life.must_write, life.wrote = IDLE, None, False, False
        return ""

    def _writing(self, event: AnyEvent, life: Life) -> str:
        """Check that every entry and every exit of a stay with a token writes to the resource."""
        if isinstance(event, Wrote):
            if life.token is None or life.token != event.token:
                return "no write: the process is not inside with that token"
            accepted = self._highest is None or event.token >= self._highest
            if accepted != event.accepted:
                return f"the resource {'accepts' if accepted else 'refuses'} token {event.token}"
            self._highest = event.token if accepted else self._highest
            if life.wrote:
                return "one write as the process enters and one as it leaves"
            late = life.must_write and self._is_instant and event.at != life.write_at
            life.wrote, life.must_write, life.write_at = not life.must_write, False, event.at
            return "a write in the moment of the entry" if late else ""
        if life.must_write and self._writes and (self._is_instant or not isinstance(event, OUTCOMES)):
            return f"process {event.process} writes with token {life.token} as it enters"
        wrote, life.wrote = life.wrote, False
        if isinstance(event, Left):
            missing = self._writes and life.token is not None and not wrote
            if wrote and self._is_instant and event.at != life.write_at:
                return "a write in the moment in which the process leaves"
            return f"process {event.process} writes with token {life.token} before it leaves" if missing else ""
        return f"process {event.process} leaves after that write" if wrote else ""

    def _application(self, event: AnyEvent, life: Life) -> str:
        """Check that the application may do this, and update the phase of the process."""
        algorithm = self._algorithm
        match event:
            case Wanted():
                if not issubclass(algorithm, Mutex) or life.phase != IDLE:
                    return "no request: the process waits or is inside already"
                life.phase = WAITING
            case Asked() if algorithm.role != "election":
                return "no election: this is not an election algorithm"
            case Entered(token=token):
                life.phase, life.token, life.must_write, life.write_at = INSIDE, token, token is not None, event.at
            case Withdrew(retracted=retracted):
                if life.phase != WAITING:
                    return "nothing to withdraw: the process does not wait"
                if retracted != algorithm.can_retract():
                    return f"the request {'is taken back' if algorithm.can_retract() else 'stays'}"
                life.phase = IDLE if retracted else WITHDRAWN
            case Left():
                if life.phase != INSIDE:
                    return "nothing to leave: the process is not inside"
                life.phase, life.token = IDLE, None
            case Suspected(peer=peer) | Trusted(peer=peer) if peer == event.process:
                return "the failure detector tells a process of others, not of itself"
            case _:
                pass
        return ""

    def end(self) -> str:
        """A text that says what must have happened before the end of the run; empty if nothing is missing."""
        header = self._context.trace.header
        if header.ended_at and self._context.events and self._context.events[-1].at > header.ended_at:
            return f"nothing after {header.ended_at} µs, when the run ended by its header"
        if header.end == "raised" and not isinstance(self._context.events[-1], Noted):
            return "a note of the exception that ended the run"
        for process, life in self.lives.items():
            if life.state == NEW and self._context.promises.whole_steps:
                return f"process {process} starts"
            if life.must_write and self._writes:
                return f"process {process} writes with token {life.token} as it enters"
            if life.wrote:
                return f"process {process} leaves after its write"
            if header.end == "quiet" and life.state == PAUSED:
                return f"process {process} goes on"
            over = header.end in ("quiet", "finished")
            if over and life.state == UP and life.phase == INSIDE:
                return f"process {process} leaves"
            if header.end == "finished" and life.state == UP and life.phase != IDLE:
                return f"process {process} enters and leaves"
        return self.channels.end()


_CHANGES: dict[type, tuple[tuple[str, ...], str]] = {
    Started: ((NEW,), UP),
    Crashed: ((UP, PAUSED), DOWN),
    Recovered: ((DOWN,), UP),
    Paused: ((UP,), PAUSED),
    Resumed: ((PAUSED,), UP),
}
"""Event → the states in which it may happen, and the state after it."""
