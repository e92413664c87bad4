"""The conformance suite on the engine of one URL, for `python -m vez.testing URL`."""

from __future__ import annotations

import pytest

from vez.testing.conformance import Conformance


class TestEngine(Conformance):
    """The contract within one process. Names are used again and again, as programs do."""

    @pytest.fixture
    def url(self, pytestconfig: pytest.Config) -> str:
        """The engine under test."""
        return str(pytestconfig.getoption("vez_url"))
