"""Interrupts in quick succession: they leave nothing open."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import vez
from vez.locks.engines import handles
from vez.locks.engines.base import Request
from vez.locks.engines.file.layout import TAKEN_AT
from vez.testing import eventually

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


class Strikes:
    """Raises `KeyboardInterrupt` at several points, counted from one to the next."""

    def __init__(self, gaps: list[int]) -> None:
        self.gaps = gaps

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event in ("call", "c_return") and not (event == "call" and frame.f_code.co_name == "__exit__"):
            self.gaps[0] -= 1
            if self.gaps[0] < 0:
                del self.gaps[0]
                if not self.gaps:
                    sys.setprofile(None)
                raise KeyboardInterrupt


def struck(gaps: list[int], work: Callable[[], object]) -> BaseException | None:
    """Run `work` with interrupts. Returns the interrupt that ended it, or None. The exception is kept, and with it
    everything that its frames hold."""
    strikes = Strikes(list(gaps))
    try:
        sys.setprofile(strikes)
        work()
    except KeyboardInterrupt as error:
        return error
    finally:
        sys.setprofile(None)
    return None


def free(client: vez.Client) -> bool:
    with suppress(vez.LockTimeout), client.lock("x", timeout=2):
        return True
    return False


@pytest.mark.parametrize("waits", [False, True], ids=["free", "held"])
@pytest.mark.parametrize("later", [[0], [1], [2], [4], [0, 0], [1, 1, 1]], ids=str)
def test_several_interrupts_in_one_turn_leave_nothing_locked(
    client: vez.Client, home: Path, waits: bool, later: list[int]
) -> None:
    def turn() -> None:
        with suppress(vez.LockTimeout), client.lock("x", timeout=0.001 if waits else None):
            pass

    with ThreadPoolExecutor(1) as elsewhere, vez.connect(f"file://{home}") as other:
        assert struck([10_000], turn) is None
        for point in range(10_000):
            grant = elsewhere.submit(other.lock("x").acquire).result(60) if waits else None
            error = struck([point, *later], turn)
            if grant is not None:
                elsewhere.submit(grant.release).result(60)
            assert elsewhere.submit(free, other).result(60), f"interrupted at call {point} and {later} later: {error!r}"
            if error is None:
                break
        assert point > 20


class StrikesFinaliser(Strikes):
    """Counts only calls inside a finaliser."""

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        above: FrameType | None = frame if event == "c_return" else frame.f_back
        while above is not None and above.f_code.co_name != "__del__":
            above = above.f_back
        if above is not None:
            super().__call__(frame, event, argument)


def is_open(descriptor: int) -> bool:
    with suppress(OSError):
        os.fstat(descriptor)
        return True
    return False


@pytest.mark.parametrize("ticket", [False, True], ids=["descriptor", "ticket"])
def test_an_interrupted_finaliser_is_completed(
    client: vez.Client, home: Path, monkeypatch: pytest.MonkeyPatch, ticket: bool
) -> None:
    """At each of its points but its very beginning, where no code of ours runs yet."""
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: None)
    engine = client.engine.core  # type: ignore[attr-defined]
    for point in range(1000):
        dropped: list[Any] = []
        if ticket:
            dropped.append(engine.enlist(Request("x"), 1, None, wait=False))
        else:
            dropped.append(handles.open_handle(home, os.O_RDONLY))
        number = int(dropped[0].handle if ticket else dropped[0])
        strikes = StrikesFinaliser([point, 1_000_000])
        sys.setprofile(strikes)
        dropped.clear()
        sys.setprofile(None)
        if ticket:
            eventually(lambda: not client.inspect("x").holders and engine.file("lock", "x").map[TAKEN_AT] == 0)
        else:
            eventually(lambda number=number: not is_open(number))  # type: ignore[misc]
        if len(strikes.gaps) == 2:
            break
    assert point > (8 if ticket else 2)


def test_interrupts_leave_no_descriptors_open(home: Path) -> None:
    """In a process of its own: pytest keeps the exceptions of finalisers, and with them their frames."""
    program = f"""
import gc, os, sys, vez
from vez.testing.interrupts import interrupted_at
sys.unraisablehook = lambda unraisable: None
client = vez.connect("file://{home}")

def turn():
    with client.lock("x"):
        pass

def open_and_turn():
    with vez.connect("file://{home}") as other, other.lock("y"):
        pass

def descriptors():
    gc.collect()
    return len(os.listdir("/proc/self/fd"))

for work in (turn, open_and_turn):
    work()
    before, point = descriptors(), 0
    while interrupted_at(point, work):
        point += 1
    print(point > 20, descriptors() - before <= 3)  # idle ones of the pool
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("True True\nTrue True\n", "")
