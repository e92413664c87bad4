"""Some pairs of an algorithm and a fault, by real processes; `make campaign` runs all of them.

The seed is drawn anew for each run of the tests and printed at its end; `VEZ_CAMPAIGN_SEED=N` repeats it.
"""

from __future__ import annotations

import pytest

from tests.conftest import campaign_seed
from tests.worlds.campaign.cases import FAULTS, pairs, rotation
from tests.worlds.campaign.outcome import run_and_judge
from vez.catalogue.algorithms import ALGORITHMS

PAIRS = 4


@pytest.mark.parametrize("place", range(PAIRS))
def test_a_real_run_with_a_real_fault_agrees_with_the_verification_matrix(place: int) -> None:
    outcome = run_and_judge(rotation(campaign_seed(), PAIRS)[place])
    print(outcome.words())
    assert not outcome.judgement.contradictions, outcome.words()


def test_the_rotation_reaches_every_pair_and_the_seed_decides() -> None:
    assert len(pairs()) == len(ALGORITHMS) * len(FAULTS)
    assert rotation(7, PAIRS) == rotation(7, PAIRS)
    seen = {(case.algorithm, case.fault) for seed in range(1000) for case in rotation(seed, PAIRS)}
    assert seen == set(pairs())
