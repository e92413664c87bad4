"""Campaigns of `vez torture` in tests: what is judged by the clock is asked again if the machine was busy."""

from __future__ import annotations

from collections.abc import Callable

from vez.torture.plan import Outcome

TIMED = frozenset(("prompt_hand_over", "prompt_takeover", "throughput"))
ATTEMPTS = 3


def sound(run: Callable[[], Outcome]) -> Outcome:
    """The outcome of a campaign that breaks nothing. A busy machine may be slow in one of three, and a slow engine is
    slow in all of them; what is not judged by the clock may not be broken in any."""
    for _ in range(ATTEMPTS):
        outcome = run()
        evidence = [f"{verdict.name}: {verdict.evidence}" for verdict in outcome.broken]
        assert {verdict.name for verdict in outcome.broken} <= TIMED, evidence
        if not evidence:
            return outcome
    raise AssertionError(f"slow in each of {ATTEMPTS} campaigns: {evidence}")
