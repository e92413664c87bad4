"""The order in which workers of pytest-xdist get the tests."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.scheduling import Scheduling

WAITING = [f"tests/locks/etcd/test_{number}.py::test_x" for number in range(4)]
OTHERS = [f"tests/core/test_{number}.py::test_x" for number in range(4)]
TESTS = [*OTHERS[:2], *WAITING, *OTHERS[2:]]


class Worker:
    """What the scheduler knows of a worker."""

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.shutting_down = False
        self.given: list[str] = []

    def send_runtest_some(self, places: list[int]) -> None:
        self.given += [TESTS[place] for place in places]

    def shutdown(self) -> None:
        self.shutting_down = True


@pytest.fixture
def scheduled() -> tuple[Scheduling, Worker, Worker]:
    """A scheduler and two workers that have their first tests."""
    option = SimpleNamespace(loadscopereorder=False, maxprocesses=None, numprocesses=2)
    config: Any = SimpleNamespace(option=option, getvalue=lambda name: ["popen", "popen"])
    scheduling = Scheduling(config)
    workers = Worker("gw0"), Worker("gw1")
    for worker in workers:
        scheduling.add_node(worker)
        scheduling.add_node_collection(worker, TESTS)
    scheduling.schedule()
    return scheduling, *workers


def done(scheduling: Scheduling, worker: Worker, count: int) -> None:
    """The worker has run this many of the tests that it was given."""
    for test in worker.given[:count]:
        scheduling.mark_test_complete(worker, TESTS.index(test))


def test_the_first_worker_begins_with_the_tests_that_wait(scheduled: tuple[Scheduling, Worker, Worker]) -> None:
    _, first, second = scheduled
    assert first.given == WAITING[: len(first.given)] != []
    assert second.given == OTHERS[: len(second.given)] != []


@pytest.mark.parametrize("busy", [0, 1])
def test_a_worker_whose_tests_are_all_taken_goes_on_with_the_others(
    scheduled: tuple[Scheduling, Worker, Worker], busy: int
) -> None:
    scheduling, *workers = scheduled
    idle = workers[1 - busy]
    place = 0
    while place < len(idle.given):
        scheduling.mark_test_complete(idle, TESTS.index(idle.given[place]))
        place += 1
    assert sorted(idle.given + workers[busy].given) == sorted(TESTS)
    assert len(idle.given) > 4
    done(scheduling, workers[busy], len(workers[busy].given))
    assert scheduling.tests_finished


def test_a_unit_that_is_done_is_forgotten(scheduled: tuple[Scheduling, Worker, Worker]) -> None:
    scheduling, first, _ = scheduled
    done(scheduling, first, 2)
    assert WAITING[0] not in scheduling.assigned_work[first]
    assert WAITING[1] not in scheduling.assigned_work[first]
    assert WAITING[2] in scheduling.assigned_work[first]


def test_what_an_ended_worker_was_given_is_run_by_the_others(scheduled: tuple[Scheduling, Worker, Worker]) -> None:
    """All but the test that it was running, which may have ended it."""
    scheduling, first, second = scheduled
    done(scheduling, first, 1)
    assert scheduling.remove_node(first) == WAITING[1]
    place = 0
    while place < len(second.given):
        scheduling.mark_test_complete(second, TESTS.index(second.given[place]))
        place += 1
    assert sorted(second.given) == sorted({*TESTS} - {*WAITING[:2]})
