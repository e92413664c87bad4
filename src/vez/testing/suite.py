"""The conformance suite on the engine of one URL, for `python -m vez.testing URL`.

A file of its own, because `vez.testing.__main__` passes its path to pytest, which collects the tests in it.
"""

from __future__ import annotations

import pytest

from vez.testing.conformance import Conformance


class TestEngine(Conformance):
    """The contract within one process. Tests use the same names repeatedly, as programs do."""

    @pytest.fixture
    def url(self, pytestconfig: pytest.Config) -> str:
        """The engine under test."""
        return str(pytestconfig.getoption("vez_url"))
