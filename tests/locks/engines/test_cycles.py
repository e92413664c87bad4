"""Cycles of waits, through permits, elections and names of two kinds: only the last to ask is refused."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest

import vez
from vez.testing import eventually

_spaces = count()


@pytest.fixture(params=["file", "memory"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"file://{tmp_path}/turns" if request.param == "file" else f"memory:cycles-{next(_spaces)}"


def _both(works: Sequence[Callable[[], str]]) -> list[str]:
    """Run the functions in parallel. Returns the outcomes."""

    def run(work: Callable[[], str]) -> str:
        try:
            return work()
        except vez.VezError as error:
            return type(error).__name__

    with ThreadPoolExecutor(len(works)) as pool:
        return [future.result(60) for future in [pool.submit(run, work) for work in works]]


def test_a_cycle_through_the_permits_of_a_semaphore_is_refused(url: str) -> None:
    """Two have a permit and wait for the lock, whose holder waits for a permit: the last to ask is refused."""
    with vez.connect(url) as client:
        held, waits = threading.Barrier(3), threading.Event()

        def permit_then_lock() -> str:
            with client.semaphore("s", 2):
                held.wait(60)
                with client.lock("c", timeout=20):
                    return "in"

        def lock_then_permit() -> str:
            with client.lock("c"):
                held.wait(60)
                eventually(lambda: len(client.inspect("c").queue) == 2)
                waits.set()
                with client.semaphore("s", 2, timeout=20):
                    return "in"

        assert sorted(_both([permit_then_lock, permit_then_lock, lock_then_permit])) == ["Deadlock", "in", "in"]


def test_all_permits_held_by_those_who_want_another_is_a_cycle(url: str) -> None:
    with vez.connect(url) as client:
        held = threading.Barrier(2)

        def two() -> str:
            with client.semaphore("s", 2):
                held.wait(60)
                with client.semaphore("s", 2, timeout=20):
                    return "in"

        assert sorted(_both([two, two])) == ["Deadlock", "in"]


@pytest.mark.parametrize(("one", "other"), [("x", "x"), ("p", "q")])
@pytest.mark.parametrize("kind", ["election", "semaphore"])
def test_a_cycle_of_two_kinds_is_refused_also_under_one_name(url: str, kind: str, one: str, other: str) -> None:
    with vez.connect(url) as client:
        held = threading.Barrier(2)

        def second() -> vez.Lock:
            return client.election(other, timeout=20) if kind == "election" else client.semaphore(other, 1, timeout=20)

        def forth() -> str:
            with client.lock(one, timeout=20):
                held.wait(60)
                with second():
                    return "in"

        def back() -> str:
            with second():
                held.wait(60)
                with client.lock(one, timeout=20):
                    return "in"

        assert sorted(_both([forth, back])) == ["Deadlock", "in"]


def test_who_can_go_on_is_not_taken_for_stuck(url: str) -> None:
    """A permit whose holder can continue breaks the cycle."""
    with vez.connect(url) as client:
        held = threading.Barrier(2)

        def holds_a_permit_and_goes() -> str:
            with client.semaphore("s", 2):
                held.wait(60)
                eventually(lambda: len(client.inspect("s", "semaphore").queue) == 1)
            return "in"

        def wants_a_second() -> str:
            with client.semaphore("s", 2):
                held.wait(60)
                with client.semaphore("s", 2, timeout=20):
                    return "in"

        assert _both([holds_a_permit_and_goes, wants_a_second]) == ["in", "in"]
