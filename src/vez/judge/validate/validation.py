"""Validation: decides if a recorded run is a possible run of the algorithm.

It goes through the events in order. `World` checks what happened between the processes. For every event that made a
process run a handler, its `Replica` runs the handler again and compares the effects with the trace. The first event
that cannot have happened ends the validation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any

import msgspec

from vez.core.process import Process, name_of
from vez.core.trace import Crashed, Paused, Resumed, Sent, Started, Trace
from vez.errors import Misuse
from vez.judge.properties.assumptions import broken_assumptions
from vez.judge.properties.causality import path
from vez.judge.validate.context import Context, Failure, Impossible, TooManyExplanations
from vez.judge.validate.initial_process import converted_parameters
from vez.judge.validate.replica import MAX_CANDIDATES, Replica
from vez.judge.validate.steps import Step, split
from vez.judge.validate.world import UP, World
from vez.judge.words import Sentence
from vez.judge.words.events import event_words, step_words
from vez.judge.words.sentence import ms

LED = 8
"""The number of steps that are shown before an impossible one."""
WATCH_EVERY = 5000
"""The number of events between two reports of progress."""


class Answer(StrEnum):
    """The answer to the question: can the algorithm have produced this trace?"""

    POSSIBLE = "possible"
    IMPOSSIBLE = "impossible"
    UNDECIDED = "undecided"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """The first step that the algorithm could not have taken."""

    line: int | None
    """Line of the trace file; None for the end of the run."""
    at_ms: float
    process: int | None
    step: str
    """The step in words; empty if the event belongs to no step."""
    expected: str
    found: str
    explanations: tuple[Failure, ...] = ()
    """All explanations, if there were several, each with the event at which it failed; the furthest one first."""
    led: tuple[str, ...] = ()
    """The steps that led to this one, oldest first."""


class Validation(msgspec.Struct, frozen=True, kw_only=True):
    """The answer, with its reasons."""

    algorithm: str
    answer: Answer
    events: int
    steps: int
    """The number of handlers that were run again."""
    finding: Finding | None = None
    undecided: str = ""
    """The reason why the validation is undecided; empty if it is not."""
    open: dict[int, tuple[tuple[str, ...], ...]] = {}
    """Processes whose events have several explanations, with the assumptions of each."""
    broken_assumptions: dict[str, Sentence] = {}
    initial: dict[str, dict[str, Any]] = {}
    """Fields with which processes started because the header says so, not because of their class."""
    unseen: tuple[str, ...] = ()
    """Kinds of events that the trace does not record, and the consequence for the validation, as sentences."""

    def to_json(self) -> dict[str, Any]:
        """The validation as values for JSON."""
        found: dict[str, Any] = msgspec.to_builtins(self, str_keys=True)
        return found | {"broken_assumptions": {name: str(words) for name, words in self.broken_assumptions.items()}}


def validate(
    trace: Trace,
    algorithm: type[Process],
    *,
    parameters: dict[str, Any] | None = None,
    watch: Callable[[int], None] | None = None,
) -> Validation:
    """Validate a trace against an algorithm.

    `parameters` are for traces that record none (format 1). `watch` is called with the number of events done.
    """
    if algorithm.role != trace.header.role:
        raise Misuse(
            f"the trace is a run of role {trace.header.role!r}, and {name_of(algorithm)} has the role "
            f"{algorithm.role!r}",
            hint="name an algorithm of the same role",
        )
    context = Context(trace, algorithm, foreign=_is_foreign(trace.header.algorithm, algorithm))
    validator = _Validator(context, converted_parameters(algorithm, parameters or {}), watch)
    finding, undecided = None, ""
    try:
        validator.run()
    except Impossible as error:
        finding = validator.explain(error)
    except TooManyExplanations as error:
        undecided = (
            f"process {error.process} made choices that were not recorded: more than {MAX_CANDIDATES} explanations"
        )
    answer = Answer.IMPOSSIBLE if finding else Answer.UNDECIDED if undecided else Answer.POSSIBLE
    declared = msgspec.structs.replace(trace.header, assumes=tuple(map(str, algorithm.assumes)))
    broken = {} if finding else broken_assumptions(Trace(declared, trace.events))
    return Validation(
        algorithm=name_of(algorithm),
        answer=answer,
        events=len(trace.events),
        steps=validator.steps_done,
        finding=finding,
        undecided=undecided,
        open={} if finding else validator.open_explanations(),
        broken_assumptions={str(name): text for name, text in broken.items()},
        initial=trace.header.initial,
        unseen=tuple(unseen_words(trace)),
    )


class _Validator:
    """One pass over a trace."""

    def __init__(self, context: Context, parameters: dict[str, Any], watch: Callable[[int], None] | None) -> None:
        self._context = context
        self._watch = watch
        self._world = World(context)
        self._steps, self._starts, self._stray = split(context.trace)
        self._replicas = {me: Replica(context, me, parameters) for me in context.trace.header.ids}
        self.steps_done = 0

    def run(self) -> None:
        """Check every event. Raises `Impossible` at the first one that cannot have happened."""
        self._check_parameters()
        for step in self._starts:
            self._react(step)
        steps, follow = self._steps, self._world.follow
        for index, event in enumerate(self._context.events):
            if self._watch is not None and index % WATCH_EVERY == 0:
                self._watch(index)
            follow(index, event)
            if index in steps:
                self._react(steps[index])
            elif index == self._stray:
                self._refuse_stray(index)
            elif isinstance(event, Crashed | Paused | Resumed):
                replica = self._replicas[event.process]
                if isinstance(event, Crashed):
                    replica.crash(index, event.at)
                elif isinstance(event, Paused):
                    replica.pause(index, event.at)
                else:
                    replica.resume(event.at)
        self._end()

    def _react(self, step: Step) -> None:
        process = step.cause.process
        self._replicas[process].react(step, self._world.lives[process].phase)
        self.steps_done += 1

    def _end(self) -> None:
        header, count = self._context.trace.header, len(self._context.events)
        if wrong := self._world.end():
            found = f"the end of the run ({header.end})"
            raise Impossible(None, None, Failure(index=count, expected=wrong, found=found))
        for process, replica in self._replicas.items():
            if self._world.lives[process].state == UP:
                replica.end(header.ended_at, quiet=header.end == "quiet")

    def _check_parameters(self) -> None:
        """Check that all processes were started with the same parameters."""
        starts = [(index, event) for index, event in enumerate(self._context.events) if isinstance(event, Started)]
        for index, event in starts[1:]:
            if event.parameters != starts[0][1].parameters:
                first = starts[0][1]
                raise Impossible(
                    event.process,
                    None,
                    Failure(
                        index=index,
                        expected=f"parameters {first.parameters}, as at process {first.process}",
                        found=f"process {event.process} starts with parameters {event.parameters}",
                    ),
                )

    def _refuse_stray(self, index: int) -> None:
        event = self._context.events[index]
        found = event_words(event, self._context.sendings)
        wrong = f"nothing from process {event.process}: no handler of it has run"
        raise Impossible(event.process, None, Failure(index=index, expected=wrong, found=found))

    def open_explanations(self) -> dict[int, tuple[tuple[str, ...], ...]]:
        """The processes with more than one explanation, and the assumptions of each."""
        return {me: tuple(found) for me, replica in self._replicas.items() if (found := replica.open_guesses)}

    # The report to the user.

    def explain(self, error: Impossible) -> Finding:
        """The first impossible event, in words."""
        events, first = self._context.events, error.failures[0]
        past_end = first.index >= len(events)
        at = self._context.trace.header.ended_at if past_end else events[max(first.index, 0)].at
        step = None
        if error.cause is not None:
            step = self._steps.get(error.cause) or next(
                (start for start in self._starts if start.cause.process == error.process), None
            )
        several = len(error.failures) > 1 or bool(first.guesses)
        return Finding(
            line=None if past_end else max(first.index, 0) + 2,
            at_ms=at / 1000,
            process=error.process,
            step="" if step is None else event_words(step.cause, self._context.sendings),
            expected=first.expected,
            found=first.found,
            explanations=error.failures if several else (),
            led=tuple(self._led(error, min(first.index, len(events)))),
        )

    def _led(self, error: Impossible, index: int) -> Iterable[str]:
        """The last steps of the process, and the steps that sent the messages on which they depend."""
        trace, process = self._context.trace, error.process
        if process is None:
            return
        until = index if error.cause is None else error.cause
        chosen: set[int] = set()
        own = [place for place, step in self._steps.items() if step.cause.process == process and place < until]
        chosen.update(own[-3:])
        chain = set(path(trace, until + 1 if 0 <= until < len(trace.events) else until, process))
        for place, step in self._steps.items():
            sends = (trace.events[outcome] for outcome in step.outcomes)
            if place < until and any(isinstance(event, Sent) and event.message in chain for event in sends):
                chosen.add(place)
        sendings = self._context.sendings
        for place in sorted(chosen)[-LED:]:
            step = self._steps[place]
            outcomes = [trace.events[outcome] for outcome in step.outcomes if outcome < index]
            yield f"{ms(step.cause.at)} ms: {step_words(step.cause, outcomes, sendings)}"


def unseen_words(trace: Trace) -> Iterable[str]:
    """The kinds of events that a trace does not record, and the consequence for the validation, as sentences."""
    words = {
        "started": "how the processes started: default parameters and initial values are assumed",
        "timers": "which timers were set and cancelled: only that a timer that ran out had been set",
        "choices": "what handlers chose: every choice that explains the events is followed",
        "stored": "what was stored: durable fields are taken from the handlers",
        "names": "which numbers in texts are processes, and for whom processes wait: only pictures need it",
    }
    yield from (words[kind] for kind in trace.header.unseen)
    for process in trace.header.cut:
        at = max((event.at for event in trace.events if event.process == process), default=0)
        yield f"what process {process} did after {ms(at)} ms: it was killed, or its journal was cut"
    promises = trace.header.promises
    lacking = [name for name in ("fifo", "lossless", "once") if not getattr(promises, name)]
    if len(lacking) == 3 and promises.timers == "any":
        yield "what the channels and clocks promised: order, copies, losses and timers are taken as recorded"


def _is_foreign(name: str, algorithm: type[Process]) -> bool:
    """True if a trace names another algorithm than the one with which it is compared."""
    file, _, wanted = name.partition(":")
    if file.endswith(".py"):
        return wanted not in ("", algorithm.__name__)
    return name != name_of(algorithm)
