"""Experiment: run the real `quorum` algorithm with coordinators that forget, and compare with the formula.

One run: the request of the first participant reaches coordinators 1 to m first, so it is inside with exactly m
permissions. The request of the second one reached the other n − m first and is still on its way to the m (slow
messages, no other fault). Meanwhile each of the n coordinators restarts without memory with probability P. Then the
requests of the second one arrive, while the first is still inside. Only the judge of `exclusion` decides whether two
were inside.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random

import msgspec

from vez.catalogue.algorithms import find
from vez.errors import Misuse
from vez.judge.properties.history import History
from vez.judge.properties.mutex import exclusion
from vez.judge.properties.verdict import Status
from vez.study.quorum.chances import check_quorum
from vez.study.quorum.exact import at_least
from vez.study.quorum.interval import CONFIDENCE, clopper_pearson, wilson
from vez.worlds.sim import Scenario, simulate
from vez.worlds.sim.scenario import Crash, Fate, Want

MAX_RUNS = 100_000
SEEN = Fraction(1, 5)
"""Wanted rate of violations: one run in five, often enough to measure in a thousand runs."""
CRASH_MS, RECOVER_MS, ARRIVE_MS, END_MS = 10.0, 20.0, 30.0, 40.0


class Experiment(msgspec.Struct, frozen=True):
    """Observed rate of violations beside the formula."""

    n: int
    m: int
    chance: Fraction
    seed: int
    runs: int
    violations: int
    formula: Fraction
    confidence: float
    wilson: tuple[float, float]
    exact: tuple[float, float]
    surprises: int
    """Runs that contradict the formula: two inside although fewer than 2m − n of the m forgot, or the reverse."""

    @property
    def rate(self) -> float:
        """Observed share of runs with a violation."""
        return self.violations / self.runs

    @property
    def agrees(self) -> bool:
        """True if the formula lies in the exact confidence interval."""
        return self.exact[0] <= self.formula <= self.exact[1]


def visible_chance(n: int, m: int) -> Fraction:
    """The smallest P, in hundredths, that gives a violation in at least one run of five."""
    check_quorum(n, m)
    return next(p for p in (Fraction(k, 100) for k in range(1, 101)) if at_least(2 * m - n, m, p) >= SEEN)


def experiment(
    n: int, m: int, chance: Fraction, runs: int, seed: int = 0, step: Callable[[], None] = lambda: None
) -> Experiment:
    """Run the experiment `runs` times, with restarts drawn from the seed."""
    check_quorum(n, m)
    if not 1 <= runs <= MAX_RUNS:
        raise Misuse(f"{runs} runs, expected 1 to {MAX_RUNS:,}")
    random, algorithm = Random(f"{seed}/quorum").random, find("quorum")
    limit = float(chance)
    violations = surprises = 0
    for _ in range(runs):
        forgetful = tuple(coordinator for coordinator in range(1, n + 1) if random() < limit)
        trace = simulate(scene(n, m, forgetful), algorithm).trace
        if trace is None:
            raise RuntimeError("a recorded run has a trace")
        broken = exclusion(History(trace)).status is Status.BROKEN
        violations += broken
        surprises += broken != (sum(coordinator <= m for coordinator in forgetful) >= 2 * m - n)
        step()
    return Experiment(
        n=n,
        m=m,
        chance=chance,
        seed=seed,
        runs=runs,
        violations=violations,
        formula=at_least(2 * m - n, m, chance),
        confidence=CONFIDENCE,
        wilson=wilson(violations, runs),
        exact=clopper_pearson(violations, runs),
        surprises=surprises,
    )


def scene(n: int, m: int, forgetful: tuple[int, ...]) -> Scenario:
    """The scenario of one run: two participants, n coordinators, some of which restart without memory."""
    first, second = n + 1, n + 2
    fates = [Fate(sender=second, to=coordinator, number=1, delay_ms=ARRIVE_MS) for coordinator in range(1, m + 1)]
    fates += [Fate(sender=first, to=coordinator, number=1, delay_ms=5) for coordinator in range(m + 1, n + 1)]
    return Scenario(
        algorithm="quorum",
        title=f"{m} of {n} permissions, and {len(forgetful)} coordinators that forget",
        n=n + 2,
        until_ms=END_MS,
        parameters={"coordinators": n, "quorum": m},
        want=(Want(process=first, inside_ms=2 * END_MS), Want(process=second, inside_ms=2 * END_MS)),
        message=tuple(fates),
        crash=tuple(
            Crash(process=coordinator, at_ms=CRASH_MS, recover_ms=RECOVER_MS, memory=False) for coordinator in forgetful
        ),
    )
