"""Choose the worker of pytest-xdist for each test.

Tests that share a costly fixture run on the same worker, one after the other. Every other test is a unit of its own.
The marker `xdist_group` would do the same, but pytest-xdist 3.8 writes the group into an attribute of the test that
pytest 9 no longer reads, and then every worker creates the costly fixture again.
"""

from __future__ import annotations

import re
from typing import Any

from xdist.scheduler.loadscope import LoadScopeScheduling

_TOGETHER = (
    "tests/servers/paging/",  # one PostgreSQL, and every experiment once
    "tests/test_distribution.py",  # a wheel and an sdist, each installed in an environment of its own
    "tests/test_plugins.py",  # a package that is built and installed
    "tests/judge/validate/test_mutations.py",  # every mutation of six runs
)
_WAITING = ("tests/locks/etcd/", "tests/locks/peers/", "tests/worlds/campaign/")
"""Folders whose tests mostly wait: for leases, for other members, for faults. In CI they took 475 s by the clock and 116 s
of the processor."""
_ZOO = re.compile(
    r"tests/(?:worlds/check|catalogue/zoo)/test_zoo\.py::.*\[([\w-]+)\]$"
)  # the smallest run of each specimen


def unit_of(test: str) -> str:
    """The tests with the same unit are run by one worker."""
    specimen = _ZOO.match(test)
    if specimen:
        return f"zoo {specimen[1]}"
    return next((start for start in _TOGETHER if test.startswith(start)), test)


class Scheduling(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
    """Hands out units of tests, in the order in which they were found.

    The first worker begins with the tests that mostly wait, and the others with the rest. If all workers came to the
    waiting tests at the same time, the processors would be idle meanwhile. A worker without tests of its kind takes
    others.

    A test that ends its worker is reported once. pytest-xdist 3.8 gives such a test to the next worker again. It also
    gives a new worker only one unit, and a worker does not begin a unit before it has the next one. With units of one
    test, the run would never end.
    """

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """Forget a unit when all its tests are done. pytest-xdist keeps them, and counts what is left in all units that a
        worker has ever had, after each test: with ten thousand units that takes 12 s of the processor, and this 4 s."""
        super().mark_test_complete(node, item_index, duration)
        unit = unit_of(self.registered_collections[node][item_index])
        if all(self.assigned_work[node][unit].values()):
            del self.assigned_work[node][unit]

    def _assign_work_unit(self, node: Any) -> None:
        waits = node.gateway.id == "gw0"
        chosen = next((unit for unit in self.workqueue if unit.startswith(_WAITING) == waits), None)
        if chosen is not None:
            self.workqueue.move_to_end(chosen, last=False)
        super()._assign_work_unit(node)

    def remove_node(self, node: Any) -> str | None:
        """Give the tests of a worker that has ended to the others. Returns the test that it was running, or None."""
        left = {
            unit: {test: done for test, done in tests.items() if not done}
            for unit, tests in self.assigned_work.pop(node).items()
        }
        crashed = next((test for tests in left.values() for test in tests), None)
        if crashed is not None:
            del left[unit_of(crashed)][crashed]
            self.workqueue.update({unit: tests for unit, tests in left.items() if tests})
            for other in self.assigned_work:
                self._reschedule(other)
        return crashed

    def _reschedule(self, node: Any) -> None:
        if node not in self.registered_collections:  # it has just been started
            return
        super()._reschedule(node)
        while not node.shutting_down and self._pending_of(self.assigned_work[node]) < 2:
            super()._reschedule(node)  # one more unit; or, if there is none, the worker may end
