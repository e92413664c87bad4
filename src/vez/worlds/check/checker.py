"""Checker: explores all states, judges the properties, and shows a run for each broken one."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from vez.core.assumptions import Property
from vez.core.process import bypass_bound, name_of
from vez.core.trace import Trace
from vez.errors import Misuse, UnknownName
from vez.judge.properties import election, judge, mutex
from vez.judge.properties.verdict import Status, Verdict, not_judged, undecided
from vez.judge.words import Sentence, plain, said
from vez.worlds.check.coverage import assumed_to_happen, missing_premise, never_ran
from vez.worlds.check.liveness.lassos import LIVENESS, Failure, Liveness
from vez.worlds.check.model.configuration import Configuration
from vez.worlds.check.model.describe import describe, describe_start
from vez.worlds.check.model.observers import KINDS, MOST_BYPASSES, Watch
from vez.worlds.check.model.path import Path, Replay, walk
from vez.worlds.check.model.record import UNFAITHFUL, CannotReplay
from vez.worlds.check.model.semantics import Model
from vez.worlds.check.model.starters import starters
from vez.worlds.check.model.state import State, Step
from vez.worlds.check.search import BY_USER
from vez.worlds.check.search.breadth_first import Search
from vez.worlds.check.search.limits import RAISED, Limits
from vez.worlds.check.search.progress import Progress
from vez.worlds.sim.scenario import Expect, Scenario

BUG = "bug"
"""The name of the run to a handler that breaks a rule, if faults can explain that. Otherwise it is an exception."""
ON_REQUEST = (Property.BOUNDED_WAITING, Property.REQUEST_ORDER)
"""Properties that are judged only on request, because their observers multiply the number of states."""

ROLES: dict[str, tuple[Property, ...]] = {
    "mutex": tuple(mutex.JUDGES),
    "election": tuple(election.JUDGES),
    "other": (Property.NO_EXCEPTIONS,),
}


class Counterexample(msgspec.Struct, frozen=True):
    """The shortest run that breaks a property."""

    path: Path
    scenario: Scenario
    trace: Trace
    verdict: Verdict
    """The judge's verdict on the replayed run."""
    sentences: tuple[Sentence, ...] = ()
    """Each step as a sentence, which can be worded in a language."""
    sentences_at_start: tuple[Sentence, ...] = ()
    """The crashes inside `on_start`, before the first step."""

    @property
    def words(self) -> tuple[str, ...]:
        """Each step in English."""
        return tuple(map(str, self.sentences))

    @property
    def start(self) -> tuple[str, ...]:
        """The crashes before the first step, in English."""
        return tuple(map(str, self.sentences_at_start))

    @property
    def steps(self) -> int:
        """Number of steps of the run; a loop counts once."""
        return len([step for step in self.path.steps if step.kind != "advance"])


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a check."""

    algorithm: str
    setting: Sentence
    """The description of the explored configuration."""
    states: int
    transitions: int
    depth: int
    ends: int
    seconds: float
    bytes_per_state: float
    stop: Sentence | None
    """The reason why the search stopped early; None if it was complete."""
    verdicts: tuple[Verdict, ...]
    counterexamples: dict[str, Counterexample]
    bugs: tuple[str, ...] = ()
    reduced: bool = False
    """True if the search was reduced. Liveness is then judged only if no run can go on for ever."""
    on_request: tuple[str, ...] = ()
    """Promised properties that were not judged, because they are judged only on request."""
    never_ran: tuple[str, ...] = ()
    """Handlers that ran in no explored state: their behaviour was not checked."""
    fairness: tuple[Sentence, ...] = ()
    """The kinds of step that are assumed to happen if they stay possible. Verdicts on liveness depend on this; empty if
    there are none."""
    abstraction: str = ""
    """The differences between the model and the real thing; empty for an algorithm, which is explored as it is."""

    @property
    def configuration(self) -> str:
        """The description of the explored configuration, in English."""
        return str(self.setting)

    @property
    def stopped(self) -> str:
        """The reason why the search stopped early, in English; empty if it was complete."""
        return "" if self.stop is None else str(self.stop)

    @property
    def broken(self) -> tuple[str, ...]:
        """Names of the broken properties."""
        return tuple(verdict.name for verdict in self.verdicts if verdict.status is Status.BROKEN)

    @property
    def undecided(self) -> bool:
        """True if the search gave no answer: a property is undecided, or a promised one was not judged because of a
        reduction. States beyond a bound do not count, because the question excluded them."""
        return any(
            verdict.status is Status.UNDECIDED
            or (verdict.status is Status.NOT_JUDGED and verdict.promised and self.reduced)
            for verdict in self.verdicts
        )


def properties_of(configuration: Configuration, asked: tuple[str, ...] = ()) -> tuple[Property, ...]:
    """The properties to judge: the requested ones, or all properties of the role that the checker can decide."""
    role = ROLES[configuration.algorithm.role]
    names = []
    for name in asked:
        key = name.replace("-", "_")
        if key not in set(Property):
            raise UnknownName("property", name, role)
        if Property(key) not in (*role, Property.NO_EXCEPTIONS):
            raise Misuse(f"{name_of(configuration.algorithm)} has no property {key}", hint=f"known: {', '.join(role)}")
        names.append(Property(key))
    guarantees = configuration.algorithm.guarantees
    defaults = [name for name in role if name not in ON_REQUEST and (name not in KINDS or name in guarantees)]
    if Property.NO_EXCEPTIONS in guarantees and Property.NO_EXCEPTIONS not in defaults:
        defaults.append(Property.NO_EXCEPTIONS)
    return tuple(dict.fromkeys(names)) or tuple(defaults)


def check(
    configuration: Configuration,
    properties: tuple[str, ...] = (),
    *,
    limits: Limits | None = None,
    watch: Callable[[Progress], None] | None = None,
    first: bool = False,
    reduce: bool = False,
    symmetry: bool = False,
    pictures: bool = True,
    no_return: bool = True,
    workers: int = 0,
) -> Report:
    """Explore a configuration and judge it. `no_return`: also find the step after which every run fails."""
    names = properties_of(configuration, properties)
    observed = tuple(name for name in names if name in KINDS)
    bound = bypass_bound(configuration.algorithm, len(configuration.ids))
    observer = Watch(observed, bound, configuration.ids) if observed else None
    model = Model(configuration, observer)
    search = Search(
        model, names, limits=limits, watch=watch, first=first, reduce=reduce, symmetry=symmetry, workers=workers
    ).run()
    if not search.packed.store.count and not model.failed_starts():
        raise Misuse("the initial state is already beyond the bounds", hint="allow larger values with --bound")
    if search.stopped == RAISED and Property.NO_EXCEPTIONS not in names:
        names = (Property.NO_EXCEPTIONS, *names)
    liveness = Liveness(search)
    verdicts, examples = [], {}
    for name in names:
        verdict, example = _judged_as_far_as_possible(search, liveness, name, pictures, no_return)
        verdicts.append(verdict)
        if example is not None:
            examples[str(name)] = example
    promised = _with_promises(configuration, verdicts)
    store = search.packed.store
    bugs = sorted({text for *_, text in search.packed.bugs} | _bugs_at_the_start(model))
    examples |= _breaking_a_rule(search) if bugs and pictures else {}
    return Report(
        algorithm=configuration.scenario.algorithm,
        setting=configuration.sentence,
        states=store.count,
        transitions=search.transitions,
        depth=search.depth,
        ends=len(search.end_states()),
        seconds=search.seconds,
        bytes_per_state=store.bytes_used() / max(1, store.count),
        stop=liveness.given_up or search.stopped,
        verdicts=promised,
        counterexamples=examples,
        bugs=tuple(bugs),
        reduced=search.partial and not model.machine.cut,
        on_request=() if properties else _not_asked_for(configuration),
        never_ran=never_ran(model),
        fairness=_fairness(search) if _judges_liveness(verdicts) else (),
        abstraction=getattr(configuration.algorithm, "abstraction", ""),
    )


def _with_promises(configuration: Configuration, verdicts: list[Verdict]) -> tuple[Verdict, ...]:
    promises = {*configuration.algorithm.guarantees, Property.NO_EXCEPTIONS}
    return tuple(msgspec.structs.replace(verdict, promised=verdict.name in promises) for verdict in verdicts)


def _not_asked_for(configuration: Configuration) -> tuple[str, ...]:
    return tuple(str(name) for name in ON_REQUEST if name in configuration.algorithm.guarantees)


def _fairness(search: Search) -> tuple[Sentence, ...]:
    kinds = {name[0] for name in search.packed.fair_numbers}
    return assumed_to_happen(kinds, drift=bool(search.model.configuration.clock.drift))


def _bugs_at_the_start(model: Model) -> set[str]:
    return {outcome.bug for _, outcomes in model.starts() for outcome in outcomes if outcome.bug}


def _judged_as_far_as_possible(
    search: Search, liveness: Liveness, name: Property, pictures: bool, no_return: bool
) -> tuple[Verdict, Counterexample | None]:
    """As `_judged`. The search for loops ends if it is interrupted or needs too much memory; the states are kept."""
    try:
        return _judged(search, liveness, name, pictures, no_return and liveness.given_up is None)
    except KeyboardInterrupt:
        liveness.give_up(BY_USER)
    except MemoryError as error:
        liveness.give_up(search.room.full(error))
    return _judged(search, liveness, name, pictures, False)


def _judged(
    search: Search, liveness: Liveness, name: Property, pictures: bool, no_return: bool
) -> tuple[Verdict, Counterexample | None]:
    """The verdict, and the run that shows it if there is one."""
    if name is Property.NO_EXCEPTIONS and search.stopped == RAISED:
        shown = _shown(search, name, _way_to_exception(search)) if pictures else None
        return _broken(name, shown), shown
    failure = _failure(search, liveness, name)
    if failure is None:
        return _unbroken(search, liveness, name), None
    example = _counterexample(search, liveness, name, failure, no_return) if pictures else None
    return _broken(name, example), example


def _judges_liveness(verdicts: list[Verdict]) -> bool:
    return any(verdict.name in LIVENESS and verdict.status in (Status.HOLDS, Status.BROKEN) for verdict in verdicts)


def _failure(search: Search, liveness: Liveness, name: Property) -> Failure | None:
    if name in search.broken:
        return Failure(search.broken[name])
    if name not in LIVENESS:
        return None
    if search.model.machine.cut:
        return None  # a run that seems to end may go on beyond the bound
    if search.complete and not search.partial and not liveness.given_up:
        return liveness.failure(name)
    state = liveness.failing_end(name)
    return None if state is None else Failure(state)


def _unbroken(search: Search, liveness: Liveness, name: Property) -> Verdict:
    count = search.packed.store.count
    if name in LIVENESS and search.model.machine.cut:
        return not_judged(name, said("beyond_the_bound"))
    if liveness.given_up is not None and name in LIVENESS:
        return undecided(name, said("only_ends_examined", count=count, stopped=liveness.given_up))
    if liveness.given_up is not None and liveness.may_stand_still:
        return undecided(name, said("time_not_examined", count=count, stopped=liveness.given_up))
    if name in LIVENESS and search.complete and search.partial and liveness.may_be_endless:
        return not_judged(name, said("needs_whole_graph"))
    if search.complete and liveness.given_up is None and liveness.stands_still:
        return undecided(name, said("time_may_stop", count=count, why=liveness.stands_still[0]))
    if search.complete:
        return _holds(search, liveness, name)
    return undecided(name, said("explored_in_part", count=count, depth=search.depth, stopped=search.stopped))


def _holds(search: Search, liveness: Liveness, name: Property) -> Verdict:
    """The verdict on a property that no state breaks, after a complete search; says if its premise never occurred."""
    model, configuration = search.model, search.model.configuration
    key = "in_all_states_within_bounds" if model.machine.cut else "in_all_states"
    words = said(key, count=search.packed.store.count)
    if name is Property.BOUNDED_WAITING and isinstance(model.observer, Watch):
        worst = model.observer.worst_bypasses()
        counted = said("bypasses_or_more" if worst > MOST_BYPASSES else "at_most_bypasses", count=worst)
        if model.observer.bypass_bound is None:
            who = name_of(configuration.algorithm)
            return not_judged(name, said("names_no_bound", algorithm=who, counted=counted, extent=configuration.asked))
        words = said("bypasses_in", counted=said("at_most_bypasses", count=worst), extent=words)
    missing = missing_premise(model, name)
    if missing and name is Property.NO_EXCEPTIONS:
        return undecided(name, said("nothing_checked", missing=missing))
    if missing:
        words = said("says_nothing", extent=words, missing=missing)
    elif name in ON_REQUEST:
        words = said("as_far_as", extent=words, requests=configuration.asked)
    elif (
        name is Property.STARVATION_FREEDOM and max(configuration.requests.values()) == 1 and not configuration.endless
    ):
        words = said("each_asked_once", extent=words)
    elif name in (Property.TERMINATION, Property.AGREEMENT) and liveness.owes_nothing:
        asked = starters(configuration)
        words = said("owed_if_asked" if len(asked) == 1 else "owed_if_several_are_asked", extent=words, who=asked)
    return Verdict(name=name, status=Status.HOLDS, said=words)


def _broken(name: Property, example: Counterexample | None) -> Verdict:
    if example is None:
        return Verdict(name=name, status=Status.BROKEN, said=plain(""))
    words = said("in_steps", steps=example.steps, what=example.verdict.said)
    if example.path.loop is not None:
        lap = sum(step.kind != "advance" for step in example.path.steps[example.path.loop :])
        words = said("step_repeats" if lap == 1 else "steps_repeat", what=words, lap=lap)
    return msgspec.structs.replace(example.verdict, said=words)


def _counterexample(
    search: Search, liveness: Liveness, name: Property, failure: Failure, no_return: bool
) -> Counterexample:
    numbers = search.packed.store.way_to(failure.state)
    point = None
    if no_return and search.complete and not search.partial and not search.model.machine.cut:
        hopeless = liveness.hopeless(name)
        point = next((place for place, state in enumerate(numbers) if hopeless[state]), None)
    loop = len(numbers) - 1 if failure.loop else None
    states = [search.packed.unpack(number) for number in (*numbers, *failure.loop[1:])]
    start, steps = _walked(search, states)
    return _shown(search, name, Path(start, steps, loop, point), quiet=name in LIVENESS and not failure.loop)


def _way_to_exception(search: Search) -> Path:
    """A shortest run to a handler that raises. It has no steps if the handler is an `on_start`."""
    if search.raising is None:
        return Path(search.model.failed_starts()[0][0], ())
    return _way_and_step(search, search.raising, lambda step: bool(step.transition.raised))


def _way_and_step(search: Search, state: int, wanted: Callable[[Step], bool]) -> Path:
    """A shortest run to a state, and a wanted step from there."""
    start, steps = _walked(search, [search.packed.unpack(number) for number in search.packed.store.way_to(state)])
    last = steps[-1].state if steps else start
    return Path(start, (*steps, next(step for step in search.model.steps(last) if wanted(step))))


def _breaking_a_rule(search: Search) -> dict[str, Counterexample]:
    """A shortest run to a handler that breaks a rule. It has no steps if the handler is an `on_start`."""
    starts = [state for state, outcomes in search.model.starts() if any(outcome.bug for outcome in outcomes)]
    if starts:
        path = Path(starts[0], ())
    elif search.erring is not None:
        path = _way_and_step(search, search.erring, lambda step: bool(step.transition.bug))
    else:
        return {}
    replay, title = Replay(search.model, path), f"{BUG}: {search.model.configuration.words()}"
    text = path.steps[-1].transition.bug if path.steps else sorted(_bugs_at_the_start(search.model))[0]
    verdict = Verdict(name=BUG, status=Status.BROKEN, said=plain(text))
    return {BUG: Counterexample(path, replay.scenario(title), replay.trace(title), verdict, *_in_words(search, replay))}


def _in_words(search: Search, replay: Replay) -> tuple[tuple[Sentence, ...], tuple[Sentence, ...]]:
    """The sentences of a run: its steps, and its start."""
    steps = replay.path.steps
    return tuple(describe(search.model, step) for step in steps), describe_start(search.model, replay.started)


def _walked(search: Search, states: list[State]) -> tuple[State, tuple[Step, ...]]:
    """The first state of a run through these states, and its steps. With symmetry, both are renamed back."""
    if search.symmetry is not None:
        return search.symmetry.walk(states)
    return states[0], walk(search.model, states)


def _shown(search: Search, name: Property, path: Path, *, quiet: bool = False) -> Counterexample:
    """The run as the simulator replays it. Its judges must agree that it breaks the property."""
    replay = Replay(search.model, path, quiet=quiet, laps=_laps(search.model, path))
    title = f"{name} broken: {search.model.configuration.words()}"
    trace = replay.trace(title)
    verdict = judge(trace, only=[name])[0]
    if verdict.status is not Status.BROKEN:
        raise CannotReplay(
            f"the checker found {name} broken and the simulator's replay of that run says: "
            f"{verdict.words}, {verdict.evidence}",
            hint=UNFAITHFUL,
        )
    scenario = replay.scenario(title).but(expect=Expect(broken=(str(name),)))
    return Counterexample(path, scenario, trace, verdict, *_in_words(search, replay))


def _laps(model: Model, path: Path) -> int:
    """The number of times that a replay repeats the loop: enough for the judge to call it starvation."""
    loop = path.steps[path.loop :] if path.loop is not None else ()
    entries = any(seen[0] == "enter" for step in loop for seen in step.transition.visible)
    return 2 * model.n + 3 if entries else 2
