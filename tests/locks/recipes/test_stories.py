"""What every recipe does, step by step: without a fault, and with each fault at each step, as golden texts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.locks.recipes.played import told
from tests.locks.recipes.stories import STORIES


@pytest.mark.parametrize("recipes", STORIES)
def test_every_step_is_as_written(recipes: str, golden: Callable[[Path, str], None]) -> None:
    text = "\n".join(map(told, STORIES[recipes]))
    golden(Path(__file__).parent / "stories" / f"{recipes}.txt", text)
