"""Which tests run on the same worker of pytest-xdist, one after the other: those that share something costly to make.

Every other test is a unit of its own. The marker `xdist_group` would say the same, but pytest-xdist 3.8 writes the
group into an attribute of the test that pytest 9 no longer reads, and then every worker makes the costly part again.
"""

from __future__ import annotations

import re

from xdist.scheduler.loadscope import LoadScopeScheduling

_TOGETHER = (
    "tests/paging/",  # one PostgreSQL, and every experiment once
    "tests/test_distribution.py",  # a wheel and an sdist, each installed in an environment of its own
    "tests/test_plugins.py",  # a package that is built and installed
    "tests/validate/test_mutations.py",  # every mutation of six runs
)
_ZOO = re.compile(r"tests/(?:check|zoo)/test_zoo\.py::.*\[([\w-]+)\]$")  # the smallest run of each specimen


def unit_of(test: str) -> str:
    """The tests with the same unit are run by one worker."""
    specimen = _ZOO.match(test)
    if specimen:
        return f"zoo {specimen[1]}"
    return next((start for start in _TOGETHER if test.startswith(start)), test)


class Scheduling(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
    """Hands out units of tests, in the order in which they were found."""

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)
