"""Compare: checks one configuration with the checker and with the explorer, and lists all differences."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count as count_up
from itertools import islice
from typing import NamedTuple

from tests.worlds.crosscheck.cases import FAULTS, Case
from tests.worlds.crosscheck.explorer import Explorer, Opinion, TooLarge
from tests.worlds.crosscheck.followed import Follower
from tests.worlds.crosscheck.orbits import count_orbits
from tests.worlds.crosscheck.outcomes import broken
from tests.worlds.crosscheck.sampling import runs
from tests.worlds.crosscheck.symmetric import TRUE
from tests.worlds.crosscheck.world import Rules
from vez.core.assumptions import Assumption, Property
from vez.errors import Misuse
from vez.judge.properties import Status, judge
from vez.worlds.check import Configuration, Limits, Report, check
from vez.worlds.sim import simulate

MOST = 3_000
"""Largest number of states of a compared configuration; the explorer makes some thousand a second."""

FOLLOW_EVERY = 5
"""Of so many simulated runs one is followed in the checker's model."""

JUDGED = {
    "mutex": ("exclusion", "deadlock_freedom", "starvation_freedom"),
    "election": ("uniqueness", "termination", "agreement", "validity"),
}
SAFETY = ("exclusion", "uniqueness")


class Both(NamedTuple):
    """A configuration, and the results of the checker and the explorer."""

    configuration: Configuration
    report: Report
    explorer: Explorer | None  # None where it has many more states than the checker
    opinion: Opinion


def rules_of(configuration: Configuration, *, timeouts: bool = False) -> Rules:
    """The same configuration as rules of the explorer. Times are read from the algorithm, not from the checker."""
    algorithm = configuration.algorithm
    parameters = dict(configuration.setup.values[None])
    keeps = set(algorithm.assumes) - set(configuration.dropped)
    process = algorithm(**parameters)
    stay = process.longest_stay_ms() if hasattr(process, "longest_stay_ms") else None
    return Rules(
        algorithm=algorithm,
        topology=configuration.topology,
        fifo=configuration.fifo,
        requests=configuration.requests,
        budget={name: getattr(configuration.budget, name) for name in FAULTS},
        parameters=parameters,
        detector=configuration.detector,
        amnesia=configuration.amnesia,
        timed=Assumption.KNOWN_BOUNDS in keeps and not timeouts,
        delay_us=round(1000 * (process.longest_delay_ms() or 0)),
        stay_us=round(1000 * stay) if stay is not None and Assumption.BOUNDED_STAY in keeps else None,
        drift=float(configuration.clock.drift),
    )


def opinions(configuration: Configuration, most: int = MOST, *, timeouts: bool = False) -> Both | None:
    """Both results; None if there are too many states: in the checker, or far too many in the explorer."""
    names = JUDGED[configuration.algorithm.role]
    report = check(configuration, names, limits=Limits(states=most), no_return=False)
    raised = str(Property.NO_EXCEPTIONS) in report.broken  # no handler of these protocols raises: that is a difference
    large = (report.stopped and not raised) or report.states > most
    try:
        explorer = Explorer(rules_of(configuration, timeouts=timeouts), most // 10 if large else most)
    except TooLarge:
        return None if large else Both(configuration, report, None, Opinion(most + 1, 0, 0, {}))
    return Both(configuration, report, explorer, explorer.opinion())


def difference(both: Both) -> str:
    """The difference between checker and explorer, in words; empty if there is none."""
    report, opinion = both.report, both.opinion
    broken = {str(name) for name in report.broken}
    undecided = {str(verdict.name) for verdict in report.verdicts if verdict.status is Status.UNDECIDED}
    if report.states != opinion.states:
        return f"states: the checker has {report.states}, the explorer {opinion.states}"
    if (report.depth, report.ends) != (opinion.depth, opinion.ends):
        return f"depth and ends: {(report.depth, report.ends)} and {(opinion.depth, opinion.ends)}"
    if broken != opinion.broken.keys():
        return f"verdicts: the checker breaks {sorted(broken)}, the explorer {sorted(opinion.broken)}"
    expected = set(JUDGED[both.configuration.algorithm.role]) - broken if opinion.time_stops else set()
    if undecided != expected:
        return f"undecided: {sorted(undecided)} in the checker, {sorted(expected)} in the explorer"
    for name, length in opinion.broken.items():
        steps = len(report.counterexamples[name].path.steps)
        if length is not None and steps != length:
            return f"the shortest run to {name}: {steps} and {length} steps"
    return ""


def replays(both: Both) -> Iterator[str]:
    """The counterexamples that are not broken in the simulator's replay."""
    for name, example in both.report.counterexamples.items():
        trace = simulate(example.scenario, both.configuration.algorithm).trace
        assert trace is not None
        verdict = judge(trace, only=[name])[0]
        if verdict.status is not Status.BROKEN:
            endless = "endless " if example.path.loop is not None else ""
            yield f"the {endless}run to {name} replays as {verdict.words}"


def reductions(case: Case, both: Both) -> Iterator[str]:
    """Differences of the checker's results with `--reduce` or `--symmetry`, unless it refuses them."""
    names = JUDGED[case.algorithm.role]
    for words in (("reduce",), ("symmetry",), ("reduce", "symmetry")):
        try:
            report = check(
                case.configuration(), names, no_return=False, reduce="reduce" in words, symmetry="symmetry" in words
            )
        except Misuse as refusal:
            if words == ("symmetry",) and case.algorithm in TRUE:
                yield f"symmetry is refused: {refusal}"
            continue
        for verdict in report.verdicts:
            decided = verdict.status in (Status.HOLDS, Status.BROKEN)
            if decided and (verdict.status is Status.BROKEN) != (verdict.name in both.report.broken):
                yield f"{'+'.join(words)}: {verdict.name} {verdict.words}, and not so in the whole graph"
        if words == ("reduce",) and report.ends != both.report.ends:
            yield f"reduce: {report.ends} ends, and {both.report.ends} in the whole graph"
        if words == ("symmetry",):
            yield from _orbits(report, both)


def _orbits(report: Report, both: Both) -> Iterator[str]:
    orbits = count_orbits(both.explorer.rules, both.explorer.moves) if both.explorer else 0
    if report.states != orbits:
        yield f"symmetry: {report.states} states in the checker, {orbits} orbits in the explorer"
    for name in {*report.counterexamples, *both.report.counterexamples} & set(SAFETY):
        lengths = [len(one.counterexamples[name].path.steps) for one in (report, both.report)]
        if lengths[0] != lengths[1]:
            yield f"symmetry: the shortest run to {name} has {lengths[0]} steps instead of {lengths[1]}"


def simulations(case: Case, both: Both, count: int, found: set[str]) -> Iterator[str]:
    """Properties that break in simulated runs within the budget, but hold in the checker; exceptions; and runs that
    the checker's model does not have. Adds to `found` the broken properties of the checker that a run breaks."""
    holds = {str(verdict.name) for verdict in both.report.verdicts if verdict.status is Status.HOLDS}
    follower = Follower(both.configuration)
    seeds = (f"{case.parameters}/{seed}" for seed in count_up())
    seeded = (seen for seed in seeds for seen in runs(both.configuration, seed))
    for number, seen in enumerate(islice(seeded, count)):
        for name in broken(both.configuration, seen, sorted({*holds, *both.report.broken} - found)):
            if name in both.report.broken:
                found.add(str(name))
                continue
            holds.discard(name)
            yield f"a simulated run breaks {name} {seen.raised}: {seen.scenario}"
        if not number % FOLLOW_EVERY and (gap := follower.gap(seen)):
            yield f"a simulated run is not one of the model, {gap}: {seen.scenario}"


def differences(case: Case, runs: int, most: int = MOST) -> list[str] | None:
    """All differences of a case; None if it has too many states."""
    both = opinions(case.configuration(), most)
    return None if both is None else all_differences(case, both, runs, set())


def all_differences(case: Case, both: Both, runs: int, found: set[str]) -> list[str]:
    """All differences of a case that was explored. Adds to `found` what simulated runs break, as the checker says."""
    differs = difference(both)
    return [
        *([differs] if differs else []),
        *replays(both),
        *reductions(case, both),
        *simulations(case, both, runs, found),
    ]
