"""Interrupts in quick succession: they leave nothing open."""

from __future__ import annotations

import os
import random
import signal
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
from vez.testing.actors import PATIENCE

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


@pytest.mark.parametrize("later", [[], [0], [1], [2], [3], [4], [5]], ids=str)
@pytest.mark.parametrize("ticket", [False, True], ids=["descriptor", "ticket"])
def test_an_interrupted_finaliser_is_completed(
    client: vez.Client, home: Path, monkeypatch: pytest.MonkeyPatch, ticket: bool, later: list[int]
) -> None:
    """At each of its points but its very beginning, where no code of ours runs yet; also if a second interrupt strikes
    while the first one is handled."""
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: None)
    engine = client.engine.core  # type: ignore[attr-defined]
    for point in range(1000):
        dropped: list[Any] = []
        if ticket:
            dropped.append(engine.enlist(Request("x"), 1, None, wait=False))
        else:
            dropped.append(handles.open_handle(home, os.O_RDONLY))
        number = int(dropped[0].handle if ticket else dropped[0])
        strikes = StrikesFinaliser([point, *later, 1_000_000])
        sys.setprofile(strikes)
        dropped.clear()
        sys.setprofile(None)
        if ticket:
            eventually(lambda: not client.inspect("x").holders and engine.file("lock", "x").map[TAKEN_AT] == 0)
        else:
            eventually(lambda number=number: not is_open(number))  # type: ignore[misc]
        if len(strikes.gaps) == len(later) + 2:
            break
    assert point > (8 if ticket else 2)


STRUCK = """
import os, signal, sys, time
import vez

def turn():
    try:
        with client.lock("x", timeout=float(sys.argv[2]) or None):
            pass
    except vez.LockTimeout:
        pass

def strike(number, frame):
    while frame is not None:  # only inside a turn: elsewhere this program could not go on
        if frame.f_code is turn.__code__:
            raise KeyboardInterrupt
        frame = frame.f_back

client = vez.connect(sys.argv[1])
turn()
signal.signal(signal.SIGINT, strike)
print("go", flush=True)
struck, end = 0, time.monotonic() + 1.5
while time.monotonic() < end:
    try:
        turn()
    except KeyboardInterrupt:
        struck += 1
    except vez.AlreadyHeld:  # what the last interrupt has cut short is completed by a thread
        pass
signal.signal(signal.SIGINT, signal.SIG_IGN)
print(struck, len(os.listdir("/proc/self/fd")), flush=True)
time.sleep(600)
"""


@pytest.mark.serial
@pytest.mark.parametrize("timeout", ["0", "0.0005"])
def test_a_process_that_was_interrupted_all_the_time_keeps_nothing(
    home: Path, client: vez.Client, timeout: str
) -> None:
    """Real signals, some microseconds apart, and another process that takes turns with it. What an interrupt leaves is
    freed while the process lives on."""
    command = [sys.executable, "-c", STRUCK, client.url, timeout]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "go\n"
            with ThreadPoolExecutor(1) as pool:
                told = pool.submit(process.stdout.readline)
                chance = random.Random(timeout)
                while not told.done():
                    process.send_signal(signal.SIGINT)
                    if chance.random() < 0.05:
                        with client.lock("x", timeout=PATIENCE):
                            pass
                struck, descriptors = map(int, told.result().split())
            with client.lock("x", timeout=PATIENCE):
                assert process.poll() is None
            assert struck > 20
            assert descriptors < 100
        finally:
            process.kill()


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
