"""A run of a wrong algorithm is not a run of the correct one, and the first step at which they differ is reported.

The simulator draws everything from the seed, so the two algorithms have the same run in the same world up to the first
event that only one of them does. That event is found here by comparing the two traces, and by `validate` without the
second one.
"""

from __future__ import annotations

import pytest

from tests.runs import trace_of
from vez.catalogue.zoo import ZOO
from vez.core.trace import Started
from vez.judge.validate import Answer, validate
from vez.study.exhibit import catch
from vez.worlds.sim import simulate


@pytest.mark.parametrize("name", list(ZOO))
def test_rejected_at_the_step_of_the_mistake(name: str) -> None:
    specimen = ZOO[name]
    caught = catch(specimen)
    assert caught is not None
    world = specimen.world.but(seed=caught.seed)
    wrong, right = (trace_of(simulate(world, algorithm)) for algorithm in (specimen.algorithm, specimen.honest))
    pairs = enumerate(zip(wrong, right, strict=False))
    differ = (index for index, (one, other) in pairs if one != other and not isinstance(one, Started))
    parted = next(differ, None)  # None: the run ends where the right one would go on
    found = validate(wrong, specimen.honest)
    assert found.answer is Answer.IMPOSSIBLE
    assert found.finding is not None
    assert found.finding.line == (None if parted is None else parted + 2)
    assert found.finding.step
    assert found.finding.expected != found.finding.found
    assert found.finding.led
    assert validate(wrong, specimen.algorithm).answer is Answer.POSSIBLE
