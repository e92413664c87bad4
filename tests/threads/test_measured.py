"""Scheduled runs with a virtual clock, and words of shared memory that two processes increment."""

from __future__ import annotations

import os
import sys
from itertools import pairwise

import pytest

from vez.errors import MissingPart, Misuse
from vez.threads.scheduled import KINDS, Execution, Real, Virtual, both, schedule
from vez.threads.sharing import BATCH, CASES, load_numpy, measure, share_a_core, two_processors


def times(executions: list[Execution]) -> list[tuple[float, float, float]]:
    return [(one.planned_s, one.start_s, one.end_s) for one in executions]


def test_a_fixed_rate_catches_up_after_an_overrun() -> None:
    assert times(schedule("fixed rate", Virtual())) == [
        (1, 1, 3), (6, 6, 18), (11, 18, 20), (16, 20, 22), (21, 22, 24),
    ]  # fmt: skip


def test_a_fixed_delay_keeps_the_pause() -> None:
    assert times(schedule("fixed delay", Virtual())) == [
        (1, 1, 3), (8, 8, 20), (25, 25, 27), (32, 32, 34), (39, 39, 41),
    ]  # fmt: skip


def test_without_an_overrun_only_the_length_of_a_run_differs() -> None:
    short = [0.0, 0.0, 0.0]
    assert schedule("fixed rate", Virtual(), short) == schedule("fixed delay", Virtual(), short)


def test_on_real_threads_no_run_starts_early_or_overlaps() -> None:
    found = both(scale=0.001)
    for kind in KINDS:
        runs = found.measured[kind]
        assert all(one.start_s >= one.planned_s for one in runs)
        assert all(after.start_s >= before.end_s for before, after in pairwise(runs))
        assert len(runs) == len(found.expected[kind]) == 5
    assert [deed.kind for deed in found.recording.deeds].count("planned") == 10
    with pytest.raises(Misuse, match="more than 0 s"):
        Real(0)


def test_words_apart_lose_nothing_and_one_word_never_gains() -> None:
    names: list[str] = []
    found = measure(3, names.append)
    assert names == [case.name for case in CASES]
    assert all(row.increments == 6 * BATCH for row in found)
    assert [row.lost for row in found[:2]] == [0, 0], "in one cache line or in two"
    for row in found:
        assert 0 <= row.lost < row.increments, row
        assert row.cpu_ns >= 0, row  # on a virtual machine the kernel may count no time for a run of a millisecond
        assert 0 <= row.share <= 2, row


def test_one_processor_is_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3})
    with pytest.raises(MissingPart, match="needs two processors"):
        two_processors()
    monkeypatch.delattr(os, "sched_getaffinity")
    with pytest.raises(MissingPart, match="cannot bind"):
        two_processors()


def test_a_processor_shares_its_core_with_itself() -> None:
    one, other = two_processors()
    assert share_a_core(one, one)
    assert not share_a_core(9999, other)


def test_a_missing_numpy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(MissingPart, match="needs NumPy"):
        load_numpy()
