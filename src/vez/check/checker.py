"""Checker: explore all states, judge the properties, and show a run for each that is broken."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from vez.check.coverage import missing_premise, never_ran
from vez.check.liveness.lassos import LIVENESS, Failure, Liveness
from vez.check.model.configuration import Configuration
from vez.check.model.observers import KINDS, Watch
from vez.check.model.path import UNFAITHFUL, CannotReplay, Path, Replay, describe, walk
from vez.check.model.semantics import Model
from vez.check.search import INTERRUPTED
from vez.check.search.breadth_first import Limits, Progress, Search
from vez.core.assumptions import Property
from vez.core.trace import Trace
from vez.errors import Misuse, UnknownName
from vez.properties import election, judge, mutex
from vez.properties.verdict import Status, Verdict
from vez.sim.scenario import Expect, Scenario

ON_REQUEST = (Property.BOUNDED_WAITING, Property.REQUEST_ORDER)
"""Judged only on request, because their observers multiply the number of states."""

ROLES = {"mutex": tuple(mutex.JUDGES), "election": tuple(election.JUDGES), "other": ()}


class Counterexample(msgspec.Struct, frozen=True):
    """The shortest run that breaks a property."""

    path: Path
    scenario: Scenario
    trace: Trace
    verdict: Verdict
    """The judge's own words on the replayed run."""
    words: tuple[str, ...] = ()
    """Each step in words."""

    @property
    def steps(self) -> int:
        """Number of steps of the run; a loop counts once."""
        return len([step for step in self.path.steps if step.kind != "advance"])


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a check."""

    algorithm: str
    configuration: str
    states: int
    transitions: int
    depth: int
    ends: int
    seconds: float
    bytes_per_state: float
    stopped: str
    verdicts: tuple[Verdict, ...]
    counterexamples: dict[str, Counterexample]
    bugs: tuple[str, ...] = ()
    never_ran: tuple[str, ...] = ()
    """Handlers that ran in no explored state: what they do was not checked."""

    @property
    def broken(self) -> tuple[str, ...]:
        """Names of the broken properties."""
        return tuple(verdict.name for verdict in self.verdicts if verdict.status is Status.BROKEN)


def properties_of(configuration: Configuration, asked: tuple[str, ...] = ()) -> tuple[Property, ...]:
    """The properties to judge: those asked for, or all that the role has and the checker can decide."""
    role = ROLES[configuration.algorithm.role]
    names = []
    for name in asked:
        key = name.replace("-", "_")
        if key not in set(Property):
            raise UnknownName("property", name, role)
        if Property(key) not in role:
            raise Misuse(f"{configuration.algorithm.name} has no property {key}", hint=f"known: {', '.join(role)}")
        names.append(Property(key))
    guarantees = configuration.algorithm.guarantees
    defaults = [name for name in role if name not in ON_REQUEST and (name not in KINDS or name in guarantees)]
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
    """Explore a configuration and judge it. `no_return`: also find the step from which every run fails."""
    names = properties_of(configuration, properties)
    observed = tuple(name for name in names if name in KINDS)
    bound = getattr(configuration.algorithm, "bypass_bound", None)
    observer = Watch(observed, bound, configuration.ids) if observed else None
    model = Model(configuration, observer, causal=Property.REQUEST_ORDER in names)
    search = Search(
        model, names, limits=limits, watch=watch, first=first, reduce=reduce, symmetry=symmetry, workers=workers
    ).run()
    if not search.packed.store.count:
        raise Misuse("the initial state is already beyond the bounds", hint="allow larger values with --bound")
    liveness = Liveness(search)
    verdicts, examples, stopped = [], {}, search.stopped
    for name in names:
        try:
            verdict, example = _judged(search, liveness, name, pictures, no_return)
        except KeyboardInterrupt:  # in the loops, which may take longer than the search; the search is not lost
            stopped, no_return, liveness.given_up = INTERRUPTED, False, True
            verdict, example = _judged(search, liveness, name, pictures, no_return)
        verdicts.append(verdict)
        if example is not None:
            examples[str(name)] = example
    promised = [msgspec.structs.replace(v, promised=v.name in configuration.algorithm.guarantees) for v in verdicts]
    store = search.packed.store
    return Report(
        algorithm=configuration.scenario.algorithm,
        configuration=configuration.words(),
        states=store.count,
        transitions=search.transitions,
        depth=search.depth,
        ends=len(search.end_states()),
        seconds=search.seconds,
        bytes_per_state=store.bytes_used() / max(1, store.count),
        stopped=stopped,
        verdicts=tuple(promised),
        counterexamples=examples,
        bugs=tuple(sorted({text for _, text in search.packed.bugs} | _bugs_at_the_start(model))),
        never_ran=never_ran(model),
    )


def _bugs_at_the_start(model: Model) -> set[str]:
    return {outcome.bug for _, outcomes in model.starts() for outcome in outcomes if outcome.bug}


def _judged(
    search: Search, liveness: Liveness, name: Property, pictures: bool, no_return: bool
) -> tuple[Verdict, Counterexample | None]:
    """A verdict, and the run that shows it where there is one."""
    failure = _failure(search, liveness, name)
    if failure is None:
        return _unbroken(search, liveness, name), None
    example = _counterexample(search, liveness, name, failure, no_return) if pictures else None
    return _broken(name, example), example


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
        words = "what must happen some day may happen beyond the bound"
        return Verdict(name=name, status=Status.NOT_JUDGED, evidence=words)
    if name in LIVENESS and search.complete and search.partial and liveness.may_be_endless:
        words = "a run may go on for ever, and fair cycles need the whole graph: check without reduction"
        return Verdict(name=name, status=Status.NOT_JUDGED, evidence=words)
    if name in LIVENESS and liveness.given_up:
        words = f"no run ends this way in all {count:,} states; stopped {INTERRUPTED} before endless runs were examined"
        return Verdict(name=name, status=Status.UNDECIDED, evidence=words)
    if search.complete and not liveness.given_up and liveness.stands_still:
        words = (
            f"no violation in {count:,} states, but messages may go round for ever while a timer runs, and time passes "
            f"only when none is under way: let timers fire at any moment with --timeouts"
        )
        return Verdict(name=name, status=Status.UNDECIDED, evidence=words)
    if search.complete:
        if name is Property.BOUNDED_WAITING and isinstance(search.model.observer, Watch):
            worst = search.model.observer.worst_bypasses()
            words = f"at most {worst} bypass{'es' * (worst != 1)} in all {count:,} states"
            return Verdict(name=name, status=Status.HOLDS, evidence=words)
        within = " within the bounds" if search.model.machine.cut else ""
        missing = missing_premise(search.model, name)
        empty = f", but {missing}: this says nothing" if missing else ""
        return Verdict(name=name, status=Status.HOLDS, evidence=f"in all {count:,} states{within}{empty}")
    return Verdict(
        name=name,
        status=Status.UNDECIDED,
        evidence=f"no violation in what was explored: {count:,} states to depth {search.depth}, "
        f"stopped {search.stopped}",
    )


def _broken(name: Property, example: Counterexample | None) -> Verdict:
    if example is None:
        return Verdict(name=name, status=Status.BROKEN, evidence="")
    words = f"in {example.steps} step{'s' * (example.steps != 1)}: {example.verdict.evidence}"
    if example.path.loop is not None:
        words += f"; the last {example.steps - example.path.loop} steps repeat for ever"
    return msgspec.structs.replace(example.verdict, evidence=words)


def _counterexample(
    search: Search, liveness: Liveness, name: Property, failure: Failure, no_return: bool
) -> Counterexample:
    numbers = _way_to(search, failure.state)
    point = None
    if no_return and search.complete and not search.partial:
        bad = liveness.bad_states(name, failure)
        point = liveness.point_of_no_return(numbers, bad)
    loop = len(numbers) - 1 if failure.loop else None
    states = [search.packed.unpack(number) for number in (*numbers, *failure.loop[1:])]
    if search.symmetry is None:
        start, steps = states[0], walk(search.model, states)
    else:
        start, steps = search.symmetry.walk(states)
    path = Path(start, steps, loop, point)
    quiet = name in LIVENESS and not failure.loop
    replay = Replay(search.model, path, quiet=quiet, laps=_laps(search.model, path))
    title = f"{name} broken: {search.model.configuration.words()}"
    scenario = replay.scenario(title)
    trace = replay.trace(title)
    verdict = judge(trace, only=[name])[0]
    if verdict.status is not Status.BROKEN and not failure.loop:
        raise CannotReplay(
            f"the checker found {name} broken and the simulator's replay of that run says: "
            f"{verdict.words}, {verdict.evidence}",
            hint=UNFAITHFUL,
        )
    if verdict.status is not Status.BROKEN:
        never = {
            "mutex": "somebody waits all the while",
            "election": "the live processes never settle on one good leader",
        }
        endless = f"this goes on for ever, and {never[search.model.configuration.algorithm.role]}"
        verdict = msgspec.structs.replace(verdict, evidence=endless)
    else:
        scenario = scenario.but(expect=Expect(broken=(str(name),)))
    broken = msgspec.structs.replace(verdict, status=Status.BROKEN)
    words = tuple(describe(search.model, step) for step in steps)
    return Counterexample(path, scenario, trace, broken, words)


def _laps(model: Model, path: Path) -> int:
    """Number of times that a replay repeats the loop: often enough for the judge to call it starvation."""
    loop = path.steps[path.loop :] if path.loop is not None else ()
    entries = any(seen[0] == "enter" for step in loop for seen in step.transition.visible)
    return 2 * model.n + 3 if entries else 2


def _way_to(search: Search, state: int) -> list[int]:
    """A shortest path from an initial state to this one."""
    way, parents = [state], search.packed.store.parents
    while int(parents[way[-1]]) != way[-1]:
        way.append(int(parents[way[-1]]))
    return way[::-1]
