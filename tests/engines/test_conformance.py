"""The engines of one machine keep the contract."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from vez.testing.conformance import Conformance
from vez.testing.interrupts import InterruptConformance
from vez.testing.process_conformance import ProcessConformance

_spaces = count()


class TestFile(Conformance, InterruptConformance, ProcessConformance):
    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        return f"file://{tmp_path}/turns"


class TestMemory(Conformance, InterruptConformance):
    @pytest.fixture
    def url(self) -> str:
        return f"memory:{next(_spaces)}"
