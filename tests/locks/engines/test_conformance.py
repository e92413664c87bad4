"""The engines of one machine keep the contract."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from vez.testing.conformance import Conformance
from vez.testing.conformance_base import marks_of, needs
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


@needs("elections")
class _Elections:
    def test_marks_of_its_own_class(self, request: pytest.FixtureRequest) -> None:
        assert [mark.args for mark in marks_of(request.node)] == [("elections",)]


@needs("locks")
class _Locks:
    @needs("breaks")
    def test_marks_of_a_test_and_its_class(self, request: pytest.FixtureRequest) -> None:
        assert [mark.args for mark in marks_of(request.node)] == [("breaks",), ("locks",)]


class TestMarks(_Elections, _Locks):
    """A mark on one part of a suite does not apply to the other parts."""
