"""Handler call: one run of a handler in a rebuilt state, and its possible outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from vez.core.drawn_view import View
from vez.core.effects import Effect
from vez.core.process import Process
from vez.core.recorder import ActionRecorder, Point, Recorder
from vez.core.trace import Chose
from vez.judge.validate.context import Context
from vez.judge.validate.steps import Step

NO_VIEW = View()
IDLE, WAITING, INSIDE, WITHDRAWN = range(4)
"""The phase of the application. WITHDRAWN: it no longer waits, but the process may still enter."""


class Candidate(msgspec.Struct, frozen=True):
    """A state that explains everything that a process has done so far. The body is copied before a handler runs."""

    body: Process
    timers: dict[str, int] = {}
    """The time at which each running timer is due."""
    status: str = ""
    view: View = NO_VIEW
    guesses: tuple[str, ...] = ()


class Outcome(NamedTuple):
    """The effects of a handler, up to the point where it failed or made a choice that the trace does not have."""

    body: Process
    effects: list[Effect]
    guessed: list[tuple[int, int]]
    """The choices that were not recorded: the number of options, and the index of the chosen one."""
    failed: str = ""
    asked: int = 0
    """The number of options of a choice that the trace does not have."""
    points: tuple[Point, ...] = ()
    """The moments at which a crash may have stopped the handler; empty if none may have."""


class _NoSuchChoice(Exception):
    def __init__(self, options: int) -> None:
        super().__init__(options)
        self.options = options


class HandlerCall(NamedTuple):
    """A handler with its arguments, in one step of the trace."""

    context: Context
    step: Step
    handler: Callable[..., None]
    arguments: tuple[Any, ...] = ()
    may_guess: bool = False
    """True if the trace does not hold every choice of this step."""
    may_stop: bool = False
    """True if a crash may have stopped the handler."""

    def outcomes(self, candidate: Candidate) -> Iterator[Outcome]:
        """Every possible outcome. There is one, unless the handler made choices that were not recorded."""
        scripts: list[tuple[int, ...]] = [()]
        while scripts:
            script = scripts.pop()
            outcome = self._run(candidate.body, script)
            yield outcome
            taken = tuple(index for _, index in outcome.guessed)
            for place in range(len(taken) - 1, len(script) - 1, -1):
                options = outcome.guessed[place][0]
                scripts += [(*taken[:place], index) for index in range(options - 1, 0, -1)]

    def _run(self, before: Process, script: tuple[int, ...]) -> Outcome:
        events = self.context.events
        recorded: Iterator[Chose] | None = None
        guessed: list[tuple[int, int]] = []

        def pick(options: int) -> int:
            nonlocal recorded
            if recorded is None:
                outcomes = (events[index] for index in self.step.outcomes)
                recorded = iter([event for event in outcomes if isinstance(event, Chose)])
            chosen = next(recorded, None)
            if chosen is None and self.may_guess:
                guessed.append((options, script[len(guessed)] if len(guessed) < len(script) else 0))
                return guessed[-1][1]
            if chosen is None or chosen.options != options or not 0 <= chosen.index < options:
                raise _NoSuchChoice(options)
            return chosen.index

        body = msgspec.structs.replace(before)
        site = self.context.sites[self.step.cause.process]
        io = ActionRecorder(site, pick, body) if self.may_stop else Recorder(site, pick)
        try:
            self.handler(body, *self.arguments, io)
        except _NoSuchChoice as error:
            return Outcome(body, io.effects, guessed, asked=error.options)
        except (Exception, SystemExit) as error:  # a handler of the user's own file may raise anything
            return Outcome(body, io.effects, guessed, failed=_failure_words(self.handler, error))
        points = tuple(io.points()) if isinstance(io, ActionRecorder) else ()
        return Outcome(body, io.effects, guessed, points=points)


def _failure_words(handler: Callable[..., None], error: BaseException) -> str:
    words = " ".join(str(getattr(error, "message", error)).split())
    name = getattr(handler, "__qualname__", str(handler))
    return f"nothing more: {name} fails there with {type(error).__name__}{f': {words}' if words else ''}"
