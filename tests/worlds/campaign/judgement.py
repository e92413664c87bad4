"""The judgement of a run: the rows of the verification matrix that cover it, and contradictions to these rows.

A row covers a run if every fault of the run is allowed in the row's world, with the same number of processes and no
more requests. Each row is an exhaustive search, so a property that holds in one covering row must hold in the run. Rows
with bounds (terms up to 2) are used beyond these bounds too. In addition, a run that kept all assumptions of the
algorithm must keep all its guarantees, with any number of requests.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.verdicts_page import held
from tests.worlds.campaign.happened import Gone, Happened, happened
from vez.core.assumptions import Assumption
from vez.core.process import Process
from vez.core.trace import Sent, Trace
from vez.judge.properties import Status, Verdict, judge
from vez.judge.properties.assumptions import broken_assumptions
from vez.judge.validate import Answer, Validation, validate
from vez.study.verify.matrix import FEWEST, commanded, configuration, worlds
from vez.study.verify.world import World
from vez.worlds.check import Configuration
from vez.worlds.check.liveness.lassos import LIVENESS

SAFETY = "safety"
ALL = "all"


class Judgement(NamedTuple):
    """The result of comparing a run with the matrix."""

    happened: Happened
    validation: Validation
    verdicts: dict[str, Verdict]
    rows: dict[str, tuple[str, ...]]
    """The covering rows, by their commands, with the properties that must hold."""
    contradictions: tuple[str, ...]
    undecided: tuple[str, ...]
    """Properties that hold according to a row, but for which the run ended too early."""

    @property
    def decided(self) -> int:
        """Number of properties that hold according to a covering row, and that held in the run."""
        names = {name for row in self.rows.values() for name in row}
        return sum(
            self.verdicts[name].status is Status.HOLDS_IN_RUNS for name in sorted(names) if name in self.verdicts
        )


def judge_run(trace: Trace, name: str, algorithm: type[Process], parameters: dict[str, str]) -> Judgement:
    """Validate a run of an algorithm, and compare its verdicts with the matrix."""
    validation = validate(trace, algorithm)
    if validation.answer is not Answer.POSSIBLE:  # otherwise there is nothing to judge
        finding = validation.finding
        words = validation.undecided if finding is None else f"expected {finding.expected}; found {finding.found}"
        return Judgement(Happened(), validation, {}, {}, (f"{name} cannot have done this: {words}",), ())
    found = happened(trace)
    verdicts = {verdict.name: verdict for verdict in judge(trace)}
    rows = dict(covering(trace, found, name, algorithm, parameters))
    wrong, late = [], []
    for verdict in verdicts.values():
        by = [command for command, names in rows.items() if verdict.name in names]
        if by and verdict.status is Status.BROKEN:
            wrong.append(f"{verdict.name} is broken ({verdict.evidence}), and holds by `{by[0]}`")
        elif by and verdict.status is Status.UNDECIDED:
            late.append(verdict.name)
    wrong += _broken_promises(trace, found, algorithm, verdicts)
    return Judgement(found, validation, verdicts, rows, tuple(wrong), tuple(late))


def _broken_promises(
    trace: Trace, found: Happened, algorithm: type[Process], verdicts: dict[str, Verdict]
) -> Iterator[str]:
    """Promised properties that are broken although every assumption was kept.

    Liveness needs a world in which progress is possible, so it counts only if no process crashed and no message was
    lost. A wrong suspicion is a broken assumption even if the algorithm does not declare that it needs a perfect
    detector.
    """
    unkept = broken_assumptions(trace)
    if (
        algorithm.wrong
        or unkept
        or found.vanished
        or found.mistakes
        or (found.late and Assumption.KNOWN_BOUNDS in algorithm.assumes)
    ):
        return
    hindered = found.crashes or found.lost or found.waiting
    for verdict in verdicts.values():
        if verdict.promised and verdict.status is Status.BROKEN and not (hindered and verdict.name in LIVENESS):
            yield f"{verdict.name} is broken ({verdict.evidence}), is promised, and every assumption was kept"


def covering(
    trace: Trace, found: Happened, name: str, algorithm: type[Process], parameters: dict[str, str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The rows that cover a run, by their commands, with the properties that hold in them."""
    n = len(trace.header.ids)
    for world in worlds(name, algorithm):
        for few in (0, FEWEST):
            asked = configuration(name, algorithm, world, few)
            command = commanded(name, world, len(asked.ids))
            if len(asked.ids) != n or command not in held(name) or asked.scenario.parameters != parameters:
                continue
            extent = covers(trace, found, asked, world)
            names = held(name)[command]
            if extent:
                yield command, names if extent == ALL else tuple(one for one in names if one not in LIVENESS)
                break


def covers(trace: Trace, found: Happened, asked: Configuration, world: World) -> str:
    """`all` if a world allows all faults of the run, `safety` if it does so only for safety properties, otherwise
    empty."""
    budget, assumes = asked.budget, set(asked.algorithm.assumes) - set(asked.dropped)
    most = max(asked.requests.values(), default=0)
    crashes = budget.crashes if not found.inside else 0
    possible = (
        (most < 0 or found.requests <= most)
        and found.crashes <= max(crashes, budget.crashes_inside if found.inside else 0)
        and found.recoveries <= budget.recoveries
        and (not found.forgot or asked.amnesia)
        and not found.vanished
        and (not found.twice or bool(budget.duplicates))
        and found.mistakes <= budget.mistakes
        and _time_is_kept(found, assumes, budget.pauses)
    )
    if not possible:
        return ""
    gone = (*found.lost, *found.waiting)
    if len(gone) <= budget.losses or any(_is_partition(trace, gone, cut) for cut in asked.cuts):
        return ALL
    return "" if found.lost else SAFETY


def _time_is_kept(found: Happened, assumes: set[Assumption], pauses: int) -> bool:
    """True if no process or message was slower than a world allows. If no bounds are assumed, a pause is a long
    delay."""
    paused = 0 < found.pauses <= pauses
    slow = found.late_otherwise if paused else bool(found.late) or found.pauses > 0
    long = found.long_stay_otherwise if paused else found.long_stay
    return not (slow and Assumption.KNOWN_BOUNDS in assumes) and not (long and Assumption.BOUNDED_STAY in assumes)


def _is_partition(trace: Trace, gone: tuple[Gone, ...], cut: frozenset[tuple[int, int]]) -> bool:
    """True if one partition of these channels explains all losses: from the first to the last, no message passed
    them."""
    if not all(one.channel in cut for one in gone):
        return False
    places = {one.place for one in gone}
    return all(
        index in places
        for index in range(min(places), max(places) + 1)
        if isinstance(event := trace.events[index], Sent) and (event.process, event.to) in cut
    )
