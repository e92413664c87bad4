"""Path: a run of the model as a scenario that the simulator replays, step for step.

Every step gets a millisecond of its own. What chance decides in the simulator is written down: when each
message arrives, when each timer runs out, what the failure detector says. The trace of a counterexample is
the trace of that replay, so the same judges and pictures serve it, and a disagreement between the two worlds
cannot stay hidden.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise, zip_longest
from typing import Any

import msgspec

from vez.check.model.causality import bare
from vez.check.model.semantics import Model, State, Step
from vez.core.trace import Lost, Trace
from vez.errors import VezError
from vez.sim.scenario import Choice, Crash, Elect, Fate, Scenario, Suspicion, Timer, Want
from vez.sim.simulation import simulate

KINDS = {
    "deliver": "Delivered", "duplicate": "Delivered", "drop": "Lost", "want": "Wanted", "elect": "Asked",
    "leave": "Left", "fire": "Fired", "suspect": "Suspected", "trust": "Trusted", "crash": "Crashed",
    "recover": "Recovered", "withdraw": "Withdrew",
}  # fmt: skip
"""What the simulator's trace calls each kind of step; a lost message is lost when it is sent."""


UNFAITHFUL = (
    "if a handler is not deterministic (random, time, sets), `vez sim ALGORITHM --debug` names it; "
    "else please report this with the command that you ran"
)


class CannotReplay(VezError):
    """Checker and simulator disagree about a run: a handler is not deterministic, or vez has a bug."""


class Path(msgspec.Struct, frozen=True):
    """A run: where it starts and what happens. A run that goes on for ever repeats its end from `loop`."""

    start: State
    steps: tuple[Step, ...]
    loop: int | None = None
    no_return: int | None = None
    """How many steps until every continuation fails; None where it was not asked or never is so."""

    @property
    def states(self) -> tuple[State, ...]:
        """The states of the run; one more than steps."""
        return (self.start, *(step.state for step in self.steps))


def walk(model: Model, states: list[State]) -> tuple[Step, ...]:
    """The steps that lead from each state to the next."""
    return tuple(
        next(step for step in model.steps(before) if step.state == after) for before, after in pairwise(states)
    )


def describe(model: Model, step: Step) -> str:
    """A step in words, for people."""
    kind = step.kind
    if kind == "advance":
        return f"{step.detail / 1000:g} ms pass: nothing else can happen"
    process = f"process {model.ids[step.process]}"
    if step.message >= 0:
        message = bare(model.messages[step.message])
        values = ", ".join(_plain(getattr(message, name)) for name in message.__struct_fields__)
        what = f"{type(message).__name__}({values})" if values else type(message).__name__
        verb = {
            "deliver": "receives", "duplicate": "receives a copy of", "drop": "is down and misses",
            "lose": "will never receive",
        }[kind]  # fmt: skip
        text = f"{process} {verb} {what} from process {model.ids[step.other]}"
    elif kind in ("suspect", "trust"):
        mistaken = kind == "suspect" and model.locals[step.state.locals[step.other]].alive
        wrongly = "wrongly " if mistaken else ""
        text = f"{process} is {wrongly}told that process {model.ids[step.other]} {_WORD[kind]}"
    else:
        detail: tuple[Any, ...] = step.detail
        text = f"{process} {_VERB[kind]}{detail[0] if kind == 'fire' else ''}"
        text += " with nothing" if kind == "recover" and not detail[0] else ""
    return text + "".join(f"; {_seen(seen)}" for seen in step.transition.visible if seen[0] in ("enter", "elected"))


_WORD = {"suspect": "is dead", "trust": "is back"}
_VERB = {
    "want": "wants in", "leave": "leaves", "elect": "is asked to elect", "fire": "sees its timer run out: ",
    "crash": "crashes", "recover": "comes back", "withdraw": "stops waiting",
}  # fmt: skip


def _seen(seen: tuple[Any, ...]) -> str:
    if seen[0] == "enter":
        return "it is in" + (f" with token {seen[1]}" if seen[1] is not None else "")
    if seen[1] is None:
        return "it knows no leader"
    return f"it takes {seen[1]} for the leader" + (f" of term {seen[2]}" if seen[2] else "")


def _plain(value: object) -> str:
    if isinstance(value, tuple | frozenset):
        parts = sorted(map(_plain, value)) if isinstance(value, frozenset) else map(_plain, value)
        return f"[{','.join(parts)}]"
    return str(value)


class _Flying(msgspec.Struct):
    message: int
    number: int
    sent: int
    arrivals: list[int] = []
    lost: bool = False
    done: bool = False


class _Wanted(msgspec.Struct):
    process: int
    at: int
    entered: int | None = None
    left: int | None = None
    withdrawn: int | None = None

    def written(self, last: int) -> Want:
        """The want in a scenario that ends at `last`."""
        stay = (last if self.left is None else self.left) - (self.at if self.entered is None else self.entered)
        if self.withdrawn is None:
            return Want(process=self.process, at_ms=self.at, inside_ms=stay)
        return Want(process=self.process, at_ms=self.at, withdraw_ms=self.withdrawn, linger_ms=stay)


class Replay:
    """Turns a path into a scenario that the simulator replays."""

    def __init__(self, model: Model, path: Path, *, laps: int = 2, quiet: bool = False) -> None:
        self.model = model
        loop = path.steps[path.loop :] if path.loop is not None else ()
        self.steps = path.steps + loop * (laps - 1)
        self.end = len([step for step in self.steps if step.kind != "advance"])
        self.quiet = quiet
        self._patience = len([step for step in loop if step.kind != "advance"]) if loop else None
        begin = len([step for step in path.steps[: path.loop] if step.kind != "advance"])
        self._loop_ms = (begin + 0.5, begin + self._patience + 0.5) if self._patience else None
        self._flying: dict[int, list[_Flying]] = defaultdict(list)
        self._wants: list[_Wanted] = []
        self._elects: list[Elect] = []
        self._crashes: list[Crash] = []
        self._suspicions: list[Suspicion] = []
        self._choices: list[Choice] = []
        self._chosen: dict[int, int] = defaultdict(int)
        self._timers: dict[tuple[int, int], tuple[str, int, int | None]] = {}  # (process, number): name, set, fired
        self._timer_count: dict[int, int] = defaultdict(int)
        self._start(path.start)
        at = 0
        for step in self.steps:
            if step.kind != "advance":
                at += 1
                self._step(step, at)

    def scenario(self, title: str = "") -> Scenario:
        """The scenario of the run, with nothing left to chance."""
        last = self.end + 1
        wants = tuple(want.written(last) for want in self._wants)
        timers = tuple(
            Timer(process=process, number=number, after_ms=(last if fired is None else fired) - at)
            for (process, number), (_, at, fired) in sorted(self._timers.items())
        )
        patience = None if self._patience is None else max(1, self._patience - 1)
        return self.model.configuration.replayable().but(
            title=title,
            until_ms=self.end + (100 if self.quiet else 0.5),
            patience_ms=patience,
            loop_ms=self._loop_ms,
            want=wants,
            elect=tuple(self._elects) or self._nobody_starts(),
            crash=tuple(self._crashes),
            suspect=tuple(self._suspicions),
            message=tuple(self._fates()),
            choice=tuple(self._choices),
            timer=timers,
        )

    def _nobody_starts(self) -> tuple[Elect, ...]:
        """A scenario that names no starter lets everybody start: name one who would start after the end.

        Starters start some day unless they die, so in a run that comes to rest that one is dead by then.
        """
        starters = [process for process, count in self.model.configuration.requests.items() if count]
        election = self.model.configuration.algorithm.role == "election"
        return tuple(Elect(process=process, at_ms=self.end + 1) for process in starters[:1]) if election else ()

    def trace(self, title: str = "") -> Trace:
        """The simulator's trace of the run."""
        run = simulate(self.scenario(title), self.model.configuration.algorithm, record=True)
        if run.trace is None:
            raise CannotReplay("the simulator kept no trace")
        self._compare(run.trace)
        return run.trace

    def _compare(self, trace: Trace) -> None:
        """Raise `CannotReplay` unless the simulator did exactly what the path says."""
        steps = [step for step in self.steps if step.kind != "advance"]
        algorithm = self.model.configuration.algorithm
        unheard = {word for word in ("suspect", "trust") if not hasattr(algorithm, f"on_{word}")}  # leave no event
        expected = [
            (at, KINDS[step.kind], self.model.ids[step.other if step.kind == "drop" else step.process])
            for at, step in enumerate(steps, 1)
            if step.kind in KINDS and step.kind not in unheard
        ]
        names = set(KINDS.values()) - {"Lost"}
        found = [
            (event.at // 1000, type(event).__name__, event.process)
            for event in trace
            if type(event).__name__ in names or (isinstance(event, Lost) and event.reason == "crash")
        ]
        found = [entry for entry in found if entry[0] <= self.end]
        for place, (wanted, happened) in enumerate(zip_longest(expected, found)):
            if wanted != happened:
                raise CannotReplay(
                    f"step {place + 1} of the run is {wanted}, and the simulator's replay has {happened}",
                    hint=UNFAITHFUL,
                )

    def _start(self, start: State) -> None:
        for state, outcomes in self.model.starts():
            if state == start:
                for place, outcome in enumerate(outcomes):
                    self._outcome(place, outcome, 0)
                return
        raise CannotReplay("the run does not start in an initial state")

    def _step(self, step: Step, at: int) -> None:
        process = self.model.ids[step.process]
        kind = step.kind
        if kind in ("deliver", "drop", "lose", "duplicate"):
            self._arrive(step, at)
        elif kind == "want":
            self._wants.append(_Wanted(process, at))
        elif kind == "elect":
            self._elects.append(Elect(process=process, at_ms=at))
        elif kind == "fire":
            self._fire(process, step.detail[0], at)
        elif kind in ("suspect", "trust"):
            self._word(process, self.model.ids[step.other], kind, at)
        elif kind == "crash":
            self._crashes.append(Crash(process=process, at_ms=at))
        elif kind == "recover":
            place = max(i for i, crash in enumerate(self._crashes) if crash.process == process)
            again = msgspec.structs.replace(self._crashes[place], recover_ms=at, memory=step.detail[0])
            self._crashes[place] = again
        if kind not in ("drop", "lose", "crash"):
            self._outcome(step.process, step.transition, at)

    def _outcome(self, place: int, outcome: object, at: int) -> None:
        process = self.model.ids[place]
        for to, message in outcome.sends:  # type: ignore[attr-defined]
            channel = place * self.model.n + self.model.place[to]
            flying = self._flying[channel]
            flying.append(_Flying(self.model.message_number(message), len(flying) + 1, at))
        for index in outcome.chosen:  # type: ignore[attr-defined]
            self._chosen[process] += 1
            self._choices.append(Choice(process=process, number=self._chosen[process], index=index))
        for name in outcome.set_timers:  # type: ignore[attr-defined]
            self._timer_count[process] += 1
            self._timers[process, self._timer_count[process]] = (name, at, None)
        for seen in outcome.visible:  # type: ignore[attr-defined]
            if seen[0] in ("enter", "leave", "withdraw"):
                want = next(want for want in reversed(self._wants) if want.process == process)
                if seen[0] == "enter":
                    want.entered = at
                elif seen[0] == "leave":
                    want.left = at
                else:
                    want.withdrawn = at

    def _arrive(self, step: Step, at: int) -> None:
        """Take the oldest of equal messages: they cannot be told apart."""
        channel = step.other * self.model.n + step.process
        flying = next(one for one in self._flying[channel] if one.message == step.message and not one.done)
        if step.kind == "lose":
            flying.lost = True
        else:
            flying.arrivals.append(at)
        flying.done = step.kind != "duplicate"

    def _fire(self, process: int, name: str, at: int) -> None:
        number = max(key[1] for key, timer in self._timers.items() if key[0] == process and timer[0] == name)
        self._timers[process, number] = (name, self._timers[process, number][1], at)

    def _word(self, process: int, peer: int, kind: str, at: int) -> None:
        if kind == "suspect":
            self._suspicions.append(Suspicion(process=process, peer=peer, at_ms=at))
            return
        place = max(i for i, one in enumerate(self._suspicions) if (one.process, one.peer) == (process, peer))
        self._suspicions[place] = msgspec.structs.replace(self._suspicions[place], until_ms=at)

    def _fates(self) -> list[Fate]:
        fates = []
        for channel in sorted(self._flying):
            sender, to = divmod(channel, self.model.n)
            for one in self._flying[channel]:
                arrivals = one.arrivals + ([] if one.done else [self.end + 1])
                if arrivals == [one.sent + 1]:
                    continue  # a message time, as every message takes
                fates.append(
                    Fate(
                        sender=self.model.ids[sender],
                        to=self.model.ids[to],
                        number=one.number,
                        lost=one.lost,
                        delay_ms=None if one.lost else arrivals[0] - one.sent,
                        copies=tuple(float(when - one.sent) for when in arrivals[0 if one.lost else 1 :]),
                    )
                )
        return fates
