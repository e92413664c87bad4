"""Campaigns of `vez torture` in tests: judgements of time are repeated if the machine was busy."""

from __future__ import annotations

from collections.abc import Callable

from vez.testing.torture.plan import Outcome

TIMED = frozenset(("prompt_hand_over", "prompt_takeover", "throughput"))
ATTEMPTS = 3


def sound(run: Callable[[], Outcome]) -> Outcome:
    """The outcome of a campaign that breaks nothing. A busy machine may be slow in one of three campaigns, but a slow
    engine is slow in all of them. Properties that do not depend on time must not be broken in any."""
    for _ in range(ATTEMPTS):
        outcome = run()
        evidence = [f"{verdict.name}: {verdict.evidence}" for verdict in outcome.broken]
        assert {verdict.name for verdict in outcome.broken} <= TIMED, evidence
        if not evidence:
            return outcome
    raise AssertionError(f"slow in each of {ATTEMPTS} campaigns: {evidence}")
