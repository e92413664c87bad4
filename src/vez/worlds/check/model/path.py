"""Path: a run of the model as a scenario that the simulator replays, step for step.

Every step gets its own time: a millisecond after the previous step or, if time has bounds, a time within these bounds
(`schedule`). The scenario fixes what is random in the simulator: the arrival of each message, the end of each timer and
the reports of the failure detector. The trace of a counterexample is the trace of that replay. So the same judges and
pictures are used for it, and a disagreement between checker and simulator is noticed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from itertools import islice, pairwise, zip_longest

import msgspec

from vez.core.trace import Lost, Trace
from vez.errors import ProtocolBug
from vez.worlds.check.model.local import Transition
from vez.worlds.check.model.record import (
    UNFAITHFUL,
    Asleep,
    CannotReplay,
    CutOff,
    Down,
    Flying,
    Running,
    Suspected,
    Wanted,
    first,
    heal,
    in_ms,
)
from vez.worlds.check.model.schedule import STEP_US, Loop, Span, even_times, times
from vez.worlds.check.model.semantics import Model
from vez.worlds.check.model.state import State, Step
from vez.worlds.sim.blame import Failure
from vez.worlds.sim.scenario import Choice, Drift, Elect, Fate, Scenario, Timer
from vez.worlds.sim.simulation import simulate

KINDS = {
    "deliver": "Delivered", "duplicate": "Delivered", "drop": "Lost", "want": "Wanted", "elect": "Asked",
    "leave": "Left", "fire": "Fired", "suspect": "Suspected", "trust": "Trusted", "crash": "Crashed",
    "recover": "Recovered", "withdraw": "Withdrew", "sever": "Lost", "pause": "Paused", "resume": "Resumed",
}  # fmt: skip
"""Kind of step → its event in the simulator's trace. A lost message is lost when it is sent."""


class Path(msgspec.Struct, frozen=True):
    """A run: its first state and its steps. An endless run repeats its steps from `loop` on."""

    start: State
    steps: tuple[Step, ...]
    loop: int | None = None
    no_return: int | None = None
    """The number of steps after which every continuation fails; None if this was not requested or never happens."""

    @property
    def states(self) -> tuple[State, ...]:
        """The states of the run; one more than steps."""
        return (self.start, *(step.state for step in self.steps))


def walk(model: Model, states: list[State]) -> tuple[Step, ...]:
    """The steps that lead from each state to the next."""
    return tuple(
        first(step for step in model.steps(before) if step.state == after and not step.transition.raised)
        for before, after in pairwise(states)
    )


class Replay:
    """Turns a path into a scenario that the simulator replays. Steps are counted from 1; the start is 0."""

    def __init__(self, model: Model, path: Path, *, laps: int = 2, quiet: bool = False) -> None:
        self.model, self.path = model, path
        self.started: tuple[Transition, ...] = ()  # the outcomes of `on_start`
        loop = path.steps[path.loop :] if path.loop is not None else ()
        self.steps = path.steps + loop * (laps - 1)
        self.end = len([step for step in self.steps if step.kind != "advance"])
        self.quiet = quiet
        self._lap = len([step for step in loop if step.kind != "advance"])
        self._begin = len([step for step in path.steps[: path.loop] if step.kind != "advance"])
        self._flying: dict[int, list[Flying]] = defaultdict(list)
        self._wants: list[Wanted] = []
        self._elects: list[tuple[int, int]] = []  # process and step
        self._crashes: list[Down] = []
        self._suspicions: list[Suspected] = []
        self._partitions: list[CutOff] = []
        self._pauses: list[Asleep] = []
        self._choices: list[Choice] = []
        self._chosen: dict[int, int] = defaultdict(int)
        self._timers: dict[int, list[Running]] = defaultdict(list)  # by process, in the order of setting
        self._running: dict[tuple[int, str], Running] = {}  # by process and name
        self._tick = 0
        self._raised: Failure | None = None
        self._start(path.start)
        at = 0
        for step in self.steps:
            if step.kind == "advance":
                self._tick += 1
            else:
                at += 1
                self._step(step, at)
        timed = model.configuration.timed
        self.times, self._gap = even_times(self.end), STEP_US
        if timed:
            lasts = sum(step.detail for step in loop if step.kind == "advance")
            lap = Loop(self._begin, self._lap, lasts) if self._lap else None
            self.times, self._gap = times(self.end, self._spans(), lap)
        """The time of each step in microseconds; the last entry is after the end."""
        self.times.append(self.times[-1] + self._gap)

    def scenario(self, title: str = "") -> Scenario:
        """The scenario of the run, in which nothing is random."""
        wants = tuple(want.written(self.times) for want in self._wants)
        end = self.times[self.end]
        return self.model.configuration.replayable().but(
            title=title,
            until_ms=in_ms(end + (100_000 if self.quiet else self._pause)),
            patience_ms=self._patience_ms() if self._lap else None,
            loop_ms=self._loop_ms() if self._lap else None,
            want=wants,
            elect=tuple(self._elections()) or self._nobody_starts(),
            crash=tuple(crash.written(self.times) for crash in self._crashes),
            suspect=tuple(word.written(self.times) for word in self._suspicions),
            partition=tuple(cut.written(self.times) for cut in self._partitions),
            pause=tuple(pause.written(self.times) for pause in self._pauses),
            message=tuple(self._fates()),
            choice=tuple(self._choices),
            timer=tuple(self._expiries()),
            drift=tuple(self._drifts()),
        )

    @property
    def _pause(self) -> int:
        """Microseconds after a step in which nothing happens."""
        return self._gap // 2

    def _patience_ms(self) -> float:
        """The age from which a request counts as starving: nearly a lap."""
        places = range(self._begin, self.end, self._lap)
        shortest = min(self.times[place + self._lap] - self.times[place] for place in places)
        return in_ms(max(self._gap, shortest - self._gap))

    def _loop_ms(self) -> tuple[float, float]:
        begin, end = self.times[self._begin], self.times[self._begin + self._lap]
        return in_ms(begin + self._pause), in_ms(end + self._pause)

    def _spans(self) -> list[Span]:
        """The allowed durations of messages, stays and timers, if time has bounds. A pause makes them longer."""
        clock, spans = self.model.configuration.clock, []
        for channel, flying in self._flying.items() if clock.delay_us else ():
            receiver = self.model.ids[channel % self.model.n]
            for one in (one for one in flying if not one.lost):
                arrivals = one.arrivals if one.done else [*one.arrivals, self.end]
                in_time = [arrival for arrival in arrivals if not self._paused_within(receiver, one.sent, arrival)]
                spans += [Span(one.sent, arrival, clock.delay_us) for arrival in in_time]
        for want in self._wants:
            if clock.stay_us is not None and want.entered is not None:
                left = self.end if want.left is None else want.left
                if not self._paused_within(want.process, want.entered, left):
                    spans.append(Span(want.entered, left, clock.stay_us, open=want.left is None))
        for process, timer in ((process, timer) for process, some in self._timers.items() for timer in some):
            span = timer.span(process, self.end, paused=self._late(process, timer))
            spans += [span] if span else []
        return spans

    def _nobody_starts(self) -> tuple[Elect, ...]:
        """A starter after the end of the run, because a scenario without starters lets every process start.

        Every starter starts eventually unless it dies. So in a run that ends, this starter is dead by then.
        """
        starters = [process for process, count in self.model.configuration.requests.items() if count]
        election = self.model.configuration.algorithm.role == "election"
        after = in_ms(self.times[-1])
        return tuple(Elect(process=process, at_ms=after) for process in starters[:1]) if election else ()

    def _elections(self) -> Iterator[Elect]:
        for process, at in self._elects:
            yield Elect(process=process, at_ms=in_ms(self.times[at]))

    def _paused_within(self, process: int, begin: int, end: int) -> bool:
        """True if a process was paused between two steps: events that were due then took longer."""
        return any(
            one.process == process and one.at <= end and (one.until is None or one.until >= begin)
            for one in self._pauses
        )

    def _late(self, process: int, timer: Running) -> bool:
        """True if a pause may have made a timer late."""
        return self._paused_within(process, timer.set, timer.fired or timer.ended or self.end)

    def _expiries(self) -> Iterator[Timer]:
        """The timers whose duration differs from the requested one."""
        end = self.times[self.end] + self._pause
        drifting = {drift.process for drift in self._drifts()}
        for process, timers in sorted(self._timers.items()):
            exact = self.model.configuration.timed and process not in drifting
            for number, timer in enumerate(timers, 1):
                lasts = timer.lasts(self.times, end)
                if not exact or timer.left is None or lasts != timer.left.asked:
                    yield Timer(process=process, number=number, after_ms=in_ms(lasts))

    def _drifts(self) -> Iterator[Drift]:
        """The processes with wrong clocks, each with one rate. `_expiries` has the durations of their timers."""
        end = self.times[self.end] + self._pause
        for process, timers in sorted(self._timers.items()):
            rates = (timer.rate(self.times, end, paused=self._late(process, timer)) for timer in timers)
            yield from (Drift(process=process, rate=rate) for rate in islice(filter(None, rates), 1))

    def trace(self, title: str = "") -> Trace:
        """The simulator's trace of the run."""
        trace = self._simulated(title)
        if trace is None:
            raise CannotReplay("the simulator kept no trace")
        self._compare(trace)
        return trace

    def _simulated(self, title: str) -> Trace | None:
        """The trace of the simulation. An exception is accepted only if the run ends with it."""
        raised, configuration = self._raised, self.model.configuration
        try:
            run = simulate(self.scenario(title), configuration.algorithm, excused=configuration.excuses_entries)
        except ProtocolBug as error:
            if Failure(error) != raised:
                raise
            trace: Trace | None = error.trace
            return trace
        if raised:
            raise CannotReplay(f"the run ends in an exception, and the simulator's replay does not: {raised.text}")
        return run.trace

    def _compare(self, trace: Trace) -> None:
        """Raise `CannotReplay` unless the simulator did exactly what the path says."""
        steps = [step for step in self.steps if step.kind != "advance"]
        algorithm = self.model.configuration.algorithm
        unheard = {word for word in ("suspect", "trust") if not hasattr(algorithm, f"on_{word}")}  # leave no event
        expected = [(0, "Crashed", crash.process) for crash in self._crashes if not crash.at]
        expected += [
            entry
            for at, step in enumerate(steps, 1)
            if step.kind in KINDS and step.kind not in unheard
            for entry in self._expected(at, step)
        ]
        names = set(KINDS.values()) - {"Lost"}
        found = [
            (event.at, type(event).__name__, event.process)
            for event in trace
            if type(event).__name__ in names or (isinstance(event, Lost) and event.reason != "loss")
        ]
        found = [entry for entry in found if entry[0] <= self.times[self.end]]
        for place, (wanted, happened) in enumerate(zip_longest(expected, found)):
            if wanted != happened:
                raise CannotReplay(
                    f"step {place + 1} of the run is {wanted}, and the simulator's replay has {happened}",
                    hint=UNFAITHFUL,
                )

    def _expected(self, at: int, step: Step) -> list[tuple[int, str, int]]:
        """The events that the trace must have for a step: time, kind and process."""
        process = self.model.ids[step.process]
        when = self.times[at]
        lost, done = step.kind in ("drop", "sever"), step.transition
        shown = [(when, KINDS[step.kind], self.model.ids[step.other] if lost else process)]
        channels = [step.process * self.model.n + self.model.place[to] for to, _ in done.sends]
        cut = self.model.cuts[step.state.partition]
        shown += [(when, "Lost", process) for channel in channels if channel in cut]
        return [*shown, (when, "Crashed", process)] if done.crashed_after >= 0 else shown

    def _start(self, start: State) -> None:
        for state, outcomes in (*self.model.starts(), *self.model.failed_starts()):
            if state == start:
                self._raised, self.started = outcomes[-1].raised, outcomes
                for place, outcome in enumerate(outcomes):
                    self._outcome(place, outcome, 0)
                return
        raise CannotReplay("the run does not start in an initial state")

    def _step(self, step: Step, at: int) -> None:
        process = self.model.ids[step.process]
        kind = step.kind
        if kind in ("deliver", "drop", "lose", "duplicate", "sever"):
            self._arrive(step, at)
        elif kind == "pause":
            self._pauses.append(Asleep(process, at))
        elif kind == "cut":
            self._partitions.append(CutOff(self.model.configuration.partitions[step.detail - 1], at))
        elif kind == "heal":
            heal(self._partitions, self.model.configuration.partitions[step.detail - 1], at)
        elif kind == "want":
            self._wants.append(Wanted(process, at))
        elif kind == "elect":
            self._elects.append((process, at))
        elif kind == "fire":
            self._fire(process, step.detail[0], at)
        elif kind in ("suspect", "trust"):
            self._word(process, self.model.ids[step.other], kind, at)
        elif kind == "crash":
            self._crashes.append(Down(process, at))
            self._end_timers(process, (), at)
        elif kind == "recover":
            crash = first(crash for crash in reversed(self._crashes) if crash.process == process)
            crash.back, crash.memory = at, step.detail[0]
        if kind in ("resume", "crash"):
            for pause in self._pauses:
                pause.until = at if pause.process == process and pause.until is None else pause.until
        if kind not in ("drop", "lose", "crash", "sever", "cut", "heal", "pause", "resume"):
            self._outcome(step.process, step.transition, at, self.model.cuts[step.state.partition])
            self._raised = step.transition.raised

    def _outcome(self, place: int, outcome: Transition, at: int, cut: frozenset[int] = frozenset()) -> None:
        process = self.model.ids[place]
        if outcome.crashed_after >= 0:
            self._crashes.append(Down(process, at, after_actions=outcome.crashed_after))
        for to, message in outcome.sends:
            channel = place * self.model.n + self.model.place[to]
            flying = self._flying[channel]
            flying.append(Flying(self.model.message_number(message), len(flying) + 1, at, self._tick))
            flying[-1].done = channel in cut  # lost as it is sent
        for index in outcome.chosen:
            self._chosen[process] += 1
            self._choices.append(Choice(process=process, number=self._chosen[process], index=index))
        self._note_timers(process, outcome, at)
        for seen in outcome.visible:
            if seen[0] in ("enter", "leave", "withdraw"):
                want = first(want for want in reversed(self._wants) if want.process == process)
                if seen[0] == "enter":
                    want.entered = at
                elif seen[0] == "leave":
                    want.left = at
                else:
                    want.withdrawn = at

    def _arrive(self, step: Step, at: int) -> None:
        """Note the arrival of a message; the oldest of equal ones, which cannot be distinguished."""
        channel = step.other * self.model.n + step.process
        clock = self.model.configuration.clock
        sent = None if clock.span == 1 else self._tick - (clock.span - 1 - step.detail)
        flying = first(
            one
            for one in self._flying[channel]
            if one.message == step.message
            and not one.done
            and (sent in (None, one.tick) or (not step.detail and one.tick < sent))
        )
        if step.kind == "lose":
            flying.lost = True
        else:
            flying.arrivals.append(at)
        flying.done = step.kind != "duplicate"

    def _note_timers(self, process: int, outcome: Transition, at: int) -> None:
        running = dict(outcome.local.timers)
        for name in outcome.set_timers:
            self._end_timers(process, running.keys() - {name}, at)
            timer = self._running[process, name] = Running(name, at, None)
            self._timers[process].append(timer)
        for name, left in running.items():
            if name in outcome.set_timers:
                self._running[process, name].left = left
        self._end_timers(process, running, at)

    def _end_timers(self, process: int, running: Collection[str], at: int) -> None:
        """Note the end of timers that are no longer among those that run."""
        for (owner, name), timer in list(self._running.items()):
            if owner == process and name not in running:
                timer.ended = at
                del self._running[owner, name]

    def _fire(self, process: int, name: str, at: int) -> None:
        self._running.pop((process, name)).fired = at

    def _word(self, process: int, peer: int, kind: str, at: int) -> None:
        if kind == "suspect":
            self._suspicions.append(Suspected(process, peer, at))
            return
        word = first(one for one in reversed(self._suspicions) if (one.process, one.peer) == (process, peer))
        word.until = at

    def _fates(self) -> list[Fate]:
        fates = []
        for channel in sorted(self._flying):
            sender, to = divmod(channel, self.model.n)
            for one in self._flying[channel]:
                arrivals = [*one.arrivals, *([] if one.done else [-1])]
                delays = [in_ms(self.times[place] - self.times[one.sent]) for place in arrivals]
                if delays == [1] or (not delays and not one.lost):
                    continue  # it took one message time, as by default, or a partition lost it when it was sent
                fates.append(
                    Fate(
                        sender=self.model.ids[sender],
                        to=self.model.ids[to],
                        number=one.number,
                        lost=one.lost,
                        delay_ms=None if one.lost else delays[0],
                        copies=tuple(map(float, delays[0 if one.lost else 1 :])),
                    )
                )
        return fates
