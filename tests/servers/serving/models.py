"""The models as parameters of tests."""

from __future__ import annotations

import pytest

from vez.servers.serving import MODELS

every_model = pytest.mark.parametrize("model", sorted(MODELS))
concurrent_model = pytest.mark.parametrize("model", sorted(set(MODELS) - {"single"}))
