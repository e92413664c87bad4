"""Worker processes of a sweep: the order of the results, and an interrupt while they start."""

from __future__ import annotations

import signal
import sys
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any

import pytest

from vez.study.workers import in_order_of_completion


def test_every_result_comes_once() -> None:
    assert sorted(in_order_of_completion(abs, [(-number,) for number in range(40)], 2)) == [*range(40)]
    assert list(in_order_of_completion(abs, [], 2)) == []


def test_an_error_of_the_work_is_raised() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        list(in_order_of_completion(int, [("1",), ("x",)], 2))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_the_workers_start_comes_after_that(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of it, a lock of the pool would stay locked, and the program would never end."""
    submitted: list[Any] = []
    submit = ProcessPoolExecutor.submit

    def interrupted(self: ProcessPoolExecutor, *arguments: Any) -> Future[Any]:
        if not submitted:
            signal.raise_signal(number)
        submitted.append(arguments)
        return submit(self, *arguments)

    def terminate(*_: object) -> None:
        sys.exit("terminated")

    monkeypatch.setattr(ProcessPoolExecutor, "submit", interrupted)
    before = signal.signal(signal.SIGTERM, terminate)
    try:
        with pytest.raises((KeyboardInterrupt, SystemExit)):
            list(in_order_of_completion(abs, [(1,), (2,), (3,)], 2))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert len(submitted) == 3
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
