"""Replica: a process that is rebuilt from its events, by running the algorithm's own handlers.

If the trace holds every choice, the state is known exactly. If it does not (format 1, or a process that was killed in
the middle of a handler), the replica follows every state that explains the events so far: the candidates.
"""

from __future__ import annotations

from typing import Any, NoReturn

import msgspec

from vez.core.message import plain_values
from vez.core.process import DURABLE, PARAMETER, Process, marked
from vez.core.trace import (
    Asked,
    Delivered,
    Fired,
    Left,
    Noted,
    Recovered,
    Sent,
    Started,
    Stored,
    Suspected,
    Trusted,
    Wanted,
    Withdrew,
)
from vez.errors import UnhandledMessage
from vez.judge.validate.context import Context, Failure, Impossible, TooManyExplanations, encoded
from vez.judge.validate.expectation import Expected, expected, same, stopped
from vez.judge.validate.handler_call import Candidate, HandlerCall, Outcome
from vez.judge.validate.initial_process import CannotStart, initial
from vez.judge.validate.steps import Step
from vez.judge.words.events import event_words
from vez.judge.words.sentence import ms

MAX_CANDIDATES = 1000
"""The largest number of candidates of one process. With more, the validation is undecided."""
MAX_DEAD = 1000
"""The number of failed explanations that are kept for the report."""


class Replica:
    """One process of the trace."""

    def __init__(self, context: Context, me: int, parameters: dict[str, Any]) -> None:
        self.me = me
        self._context = context
        self._parameters = parameters
        self._durable = marked(context.algorithm, DURABLE)
        self._keeps = (*self._durable, *marked(context.algorithm, PARAMETER))
        self._is_exact = context.promises.timers == "exact" and me not in context.drifting
        self._is_early = context.promises.timers == "any" or me in context.drifting
        self._first: Process = context.algorithm()  # as it started
        self._sent = 0
        self._is_paused = False
        self.candidates: list[Candidate] = []
        self._dead: list[Failure] = []

    def react(self, step: Step, phase: int) -> None:
        """Run the handlers of a step in every candidate, and keep those whose events are in the trace."""
        cause, context = step.cause, self._context
        self._check_overdue(step.index, cause.at)
        if isinstance(cause, Started):
            self._start(step.index, cause)
            if step.crashed and not step.outcomes and self._next_crash_at(step) == cause.at:
                return  # the process crashed before it could start
        elif isinstance(cause, Recovered):
            self._recover(step, cause)
        elif isinstance(cause, Fired):
            self._fire(step.index, cause)
        stopped_at_end = step.is_last and context.trace.header.end != "quiet" and not context.promises.whole_ends
        cut = not context.promises.whole_steps and (step.crashed or stopped_at_end)
        if self._is_failure(step) and not self._is_handled(step):
            return
        guess = "choices" in context.unseen or cut
        handler, arguments = self._handler(step)
        call = HandlerCall(context, step, handler, arguments, guess, may_stop=cut and step.crashed)
        survivors: list[Candidate] = []
        for candidate in self.candidates:
            for outcome in call.outcomes(candidate):
                survivors += self._compare(call, candidate, outcome, phase, cut)
                if len(survivors) > MAX_CANDIDATES:
                    raise TooManyExplanations(self.me)
        self._go_on(survivors, step.index)
        self._sent += sum(type(context.events[index]) is Sent for index in step.outcomes)

    def crash(self, index: int, at: int) -> None:
        """Forget everything but the durable fields."""
        if not self._is_paused:
            self._check_overdue(index, at)
        self._is_paused = False
        kept = [Candidate(self._risen(one.body, memory=True), guesses=one.guesses) for one in self.candidates]
        self.candidates = _distinct(kept)

    def pause(self, index: int, at: int) -> None:
        """Begin a pause: timers that run out during it are handled at its end."""
        self._check_overdue(index, at)
        self._is_paused = True

    def resume(self, at: int) -> None:
        """End the pause: timers that ran out during it are due now."""
        self._is_paused = False
        self.candidates = [
            msgspec.structs.replace(one, timers={name: max(due, at) for name, due in one.timers.items()})
            for one in self.candidates
        ]

    def end(self, at: int, *, quiet: bool) -> None:
        """Check what must have happened before the end of the run."""
        last = len(self._context.events)
        self._check_overdue(last, at)
        if quiet:
            self._keep(
                lambda one: next((f"timer {name} runs out" for name in sorted(one.timers)), ""),
                last,
                "the end of a run in which nothing was left to happen",
            )

    @property
    def open_guesses(self) -> list[tuple[str, ...]]:
        """The assumptions of each remaining explanation, if there is more than one."""
        return [one.guesses for one in self.candidates] if len(self.candidates) > 1 else []

    # The states before a handler runs.

    def _start(self, index: int, event: Started) -> None:
        context = self._context
        hidden = "started" in context.unseen
        try:
            own = context.trace.header.initial.get(str(self.me), {})
            body = initial(context.algorithm, event, self._parameters, own, lenient=hidden or context.foreign)
        except CannotStart as error:
            raise Impossible(self.me, None, Failure(index=index, expected=error.expected, found=error.found)) from error
        self._first = body
        self.candidates = [Candidate(body)]

    def _recover(self, step: Step, event: Recovered) -> None:
        index = step.index
        if event.anew and (event.memory or self._context.promises.sharp_faults):
            self._refuse(step, f"{self._context.algorithm.__name__}.on_recover runs")
        if not event.memory:
            self.candidates = [Candidate(self._risen(None, memory=False))]
        if event.fields:
            found = encoded(event.fields)
            self._keep(
                lambda one: "" if encoded(self._stored(one.body)) == found else f"fields {self._stored(one.body)}",
                index,
                f"process {self.me} comes back with fields {event.fields}",
            )

    def _fire(self, index: int, event: Fired) -> None:
        def wrong(one: Candidate) -> str:
            due = one.timers.get(event.name)
            if due is None:
                return f"no timer {event.name}: it is not running"
            early = not self._is_early and event.at < due
            return f"timer {event.name} runs out at {ms(due)} ms, not before" if early else ""

        self._keep(wrong, index)
        self.candidates = [
            msgspec.structs.replace(one, timers={name: due for name, due in one.timers.items() if name != event.name})
            for one in self.candidates
        ]

    def _check_overdue(self, index: int, at: int) -> None:
        if not self._is_exact:
            return
        for one in self.candidates:
            if one.timers and min(one.timers.values()) < at:
                self._keep(lambda one: self._overdue(one, at), index)
                return

    @staticmethod
    def _overdue(one: Candidate, at: int) -> str:
        due, name = min(((due, name) for name, due in one.timers.items()), default=(at, ""))
        return f"timer {name} runs out at {ms(due)} ms" if due < at else ""

    def _risen(self, body: Process | None, *, memory: bool) -> Process:
        """The process after a recovery: new, with the durable fields of `body` if `memory`."""
        fresh = msgspec.structs.replace(self._first)
        for name in self._keeps if memory else ():
            setattr(fresh, name, getattr(body, name))
        return fresh

    def _stored(self, body: Process) -> dict[str, Any]:
        return plain_values({name: getattr(body, name) for name in self._durable})

    # The handler and its outcomes.

    def _handler(self, step: Step) -> tuple[Any, tuple[Any, ...]]:
        event, algorithm, handlers = step.cause, self._context.algorithm, self._context.handlers
        match event:
            case Delivered(sender=sender):
                message = self._context.messages[event.message]
                try:
                    return handlers.message(type(message)), (message, sender)
                except UnhandledMessage as error:
                    self._refuse(step, error.message)
            case Fired(name=name):
                return handlers.timer(name), ()
            case Suspected(peer=peer) | Trusted(peer=peer):
                arguments: tuple[Any, ...] = (peer,)
            case _:
                arguments = ()
        name = "on_start" if isinstance(event, Recovered) and event.anew else HANDLERS[type(event)]
        handler = getattr(algorithm, name, None)
        if handler is None:
            self._refuse(step, f"{algorithm.__name__} has no {name}")
        return handler, arguments

    def _compare(
        self, call: HandlerCall, before: Candidate, outcome: Outcome, phase: int, cut: bool
    ) -> list[Candidate]:
        """The candidates after an outcome; none if the outcome does not match the trace."""
        step, sharp = call.step, call.context.promises.sharp_faults
        wanted = expected(call, before, outcome, phase, self._sent)
        guesses = before.guesses + tuple(
            f"{call.handler.__name__} at {ms(step.cause.at)} ms chose option {index + 1} of {options}"
            for options, index in outcome.guessed
        )
        after = [msgspec.structs.replace(wanted.after, guesses=guesses)]
        failure = self._mismatch(step, wanted.events, guesses, may_end=cut and not (sharp and step.crashed))
        if failure is None:
            after = after if sharp else self._with_storage(step, before, after[0], cut)
        elif not (self._is_failure(step) and failure.index == step.outcomes[-1]):
            after = self._stopped(call, before, outcome, wanted, guesses)
        if not after and failure is not None and len(self._dead) < MAX_DEAD:
            self._dead.append(failure)
        for message, number in zip(wanted.messages, self._sends(step) if after else (), strict=False):
            call.context.messages[self.me, number] = message
        return after

    def _stopped(
        self, call: HandlerCall, before: Candidate, outcome: Outcome, wanted: Expected, guesses: tuple[str, ...]
    ) -> list[Candidate]:
        """The candidates after a crash inside the handler; none if no such crash explains the events."""
        return [
            Candidate(body, guesses=guesses)
            for events, body in stopped(call, before, outcome, wanted)
            if self._mismatch(call.step, events, guesses) is None
        ]

    def _mismatch(
        self, step: Step, wanted: list[Any], guesses: tuple[str, ...], *, may_end: bool = False
    ) -> Failure | None:
        """The first event of a step that differs from the expected one; None if none does. If `may_end`, the step may
        have stopped early."""
        events, instant = self._context.events, self._context.promises.instant
        for place in range(max(len(wanted), len(step.outcomes))):
            due = wanted[place] if place < len(wanted) else None
            if place >= len(step.outcomes):
                if may_end and not isinstance(due, str):
                    return None
                index = (step.outcomes or [step.index])[-1] + 1
                words = self._next_words(index)
            else:
                index = step.outcomes[place]
                found = events[index]
                if due is not None and same(due, found):
                    if not instant or found.at == step.cause.at:
                        continue
                    late = f"{self._say(found)} at {ms(found.at)} ms"
                    return Failure(
                        index=index, expected=f"the same at {ms(step.cause.at)} ms", found=late, guesses=guesses
                    )
                words = self._say(found)
            return Failure(index=index, expected=self._say(due), found=words, guesses=guesses)
        return None

    def _is_failure(self, step: Step) -> bool:
        """True if the run ended with an exception in this step. Its last event notes the exception."""
        events = self._context.events
        ended = self._context.trace.header.end == "raised" and bool(step.outcomes)
        return ended and step.outcomes[-1] == len(events) - 1 and isinstance(events[-1], Noted)

    def _is_handled(self, step: Step) -> bool:
        """False if the exception was raised because there is no handler for the message."""
        cause = step.cause
        kinds = self._context.handlers
        try:
            return not isinstance(cause, Delivered) or bool(kinds.message(type(self._context.messages[cause.message])))
        except UnhandledMessage:
            return False

    def _with_storage(self, step: Step, before: Candidate, after: Candidate, cut: bool) -> list[Candidate]:
        """The candidates after a crash: with the fields stored, and also without, if that is possible.

        They were stored if the trace records it, or if a message of the same handler arrived.
        """
        if not (cut and step.crashed) or self._stored(before.body) == self._stored(after.body):
            return [after]
        stored = any(isinstance(self._context.events[index], Stored) for index in step.outcomes)
        if stored or any((self.me, number) in self._context.arrived for number in self._sends(step)):
            return [after]
        at = f"before it crashed, after {ms(step.cause.at)} ms, it"
        return [
            msgspec.structs.replace(after, guesses=(*after.guesses, f"{at} stored its fields")),
            Candidate(before.body, guesses=(*after.guesses, f"{at} did not store its fields")),
        ]

    def _sends(self, step: Step) -> list[int]:
        """The numbers of the messages that a step sent."""
        events = (self._context.events[index] for index in step.outcomes)
        return [event.number for event in events if isinstance(event, Sent)]

    def _next_crash_at(self, step: Step) -> int:
        events = self._context.events
        return next(event.at for event in events[step.index + 1 :] if event.process == self.me)

    # Candidates that do not fit.

    def _keep(self, wrong: Any, index: int, found: str = "") -> None:
        """Keep the candidates for which `wrong` returns no objection."""
        survivors = []
        for one in self.candidates:
            if words := wrong(one):
                self._die(index, words, found or self._next_words(index), one.guesses)
            else:
                survivors.append(one)
        self._go_on(survivors, index)

    def _die(self, index: int, due: str, found: str, guesses: tuple[str, ...]) -> None:
        if len(self._dead) < MAX_DEAD:
            self._dead.append(Failure(index=index, expected=due, found=found, guesses=guesses))

    def _go_on(self, survivors: list[Candidate], cause: int) -> None:
        if not survivors:
            furthest = sorted(self._dead, key=lambda failure: -failure.index)
            raise Impossible(self.me, cause, *furthest)
        self.candidates = survivors if len(survivors) == 1 else _distinct(survivors)
        if len(self.candidates) == 1:
            self._dead.clear()

    def _refuse(self, step: Step, why: str) -> NoReturn:
        words = self._say(self._context.events[step.index])
        raise Impossible(self.me, step.index, Failure(index=step.index, expected=why, found=words))

    def _say(self, event: Any) -> str:
        if event is None:
            return f"nothing more from process {self.me} in this step"
        return event if isinstance(event, str) else event_words(event, self._context.sendings)

    def _next_words(self, index: int) -> str:
        """The first event of this process at or after an index, as text."""
        later = self._context.events[max(index, 0) :]
        event = next((event for event in later if event.process == self.me), None)
        return "the end of the run" if event is None else self._say(event)


HANDLERS: dict[type, str] = {
    Started: "on_start", Recovered: "on_recover", Wanted: "on_want", Withdrew: "on_withdraw", Left: "on_done",
    Asked: "on_elect", Suspected: "on_suspect", Trusted: "on_trust",
}  # fmt: skip


def _distinct(candidates: list[Candidate]) -> list[Candidate]:
    """The candidates without duplicates of the same state."""
    found: dict[Any, Candidate] = {}
    for one in candidates:
        key = (msgspec.structs.astuple(one.body), tuple(sorted(one.timers.items())), one.status, one.view)
        found.setdefault(key, one)
    return list(found.values())
