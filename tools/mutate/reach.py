"""The tests that reach a mutation, measured by one run of the suite, and the tests chosen to run against it."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any, NamedTuple

from tools.mutate.mutations import Mutation
from tools.mutate.scratch import MARKERS, Scratch

LIMIT = 6 * 3600.0
"""Longest time of the measuring run, in seconds. The suite takes far less, but a test may hang."""


class Reach(NamedTuple):
    """The measured map. It is kept as JSON, so its fields are plain."""

    tree: str
    """`scratch.digest` of the tree that was measured."""
    seconds: dict[str, float]
    """Tests that passed, with the seconds that each took."""
    failed: dict[str, str]
    """Tests that did not pass, with the first line of the reason; files that could not be collected too."""
    direct: dict[str, list[str]]
    """By identity of a mutation: the tests that ran its line, themselves or in a fixture that they use."""
    collected: dict[str, list[str]]
    """By identity of a mutation: the tests of files whose collection ran its line."""


def measure(scratch: Scratch, mutations: list[Mutation], tests: list[str], tree: str) -> Reach:
    """Run the suite, or these files and folders of it, and record which tests run the lines of the mutations."""
    began = time.monotonic()
    wanted = {(mutation.path, line) for mutation in mutations for line in mutation.lines}
    with scratch.watched(wanted) as folder:
        options = ("-m", MARKERS, "--continue-on-collection-errors", *tests)
        ended = scratch.pytest(*options, limit=LIMIT)
        hits: dict[str, set[str]] = defaultdict(set)
        for file in folder.iterdir():
            for text in file.read_text(encoding="utf-8").splitlines():
                place, _, label = text.partition(" ")
                hits[place.removeprefix(f"{scratch.tree}/")].add(label)
    if ended.code not in (0, 1):
        raise SystemExit(f"the run that measures ended with {ended.code}: {ended.last}")
    passed = [test for test in ended.tests if test["outcome"] == "passed"]
    failed = {test["test"]: test["message"] for test in ended.tests if test["outcome"] == "failed"}
    print(f"measured in {time.monotonic() - began:.0f} s: {len(passed)} passed, {len(failed)} failed", flush=True)
    direct, collected = _by_mutation(mutations, hits, passed)
    return Reach(tree, {test["test"]: test["seconds"] for test in passed}, failed, direct, collected)


def _by_mutation(
    mutations: list[Mutation], hits: dict[str, set[str]], passed: list[dict[str, Any]]
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    users: dict[str, set[str]] = defaultdict(set)
    for test in passed:
        for label in (test["test"], *test["fixtures"], f"file {test['test'].partition('::')[0]}"):
            users[label].add(test["test"])
    direct, collected = {}, {}
    for mutation in mutations:
        labels = set[str]().union(*(hits.get(f"{mutation.path}:{line}", ()) for line in mutation.lines))
        files = {label for label in labels if label.startswith("file ")}
        near = set[str]().union(*(users.get(label, ()) for label in labels - files))
        far = set[str]().union(*(users.get(label, ()) for label in files)) - near
        direct[mutation.identity], collected[mutation.identity] = sorted(near), sorted(far)
    return direct, collected


def _spread(tests: Iterable[str], seconds: dict[str, float]) -> Iterator[str]:
    """The cheapest test of each file, then the second of each, and so on."""
    files: dict[str, list[str]] = defaultdict(list)
    for test in sorted(tests, key=lambda test: (seconds[test], test)):
        files[test.partition("::")[0]].append(test)
    for row in zip_longest(*files.values()):
        yield from (test for test in row if test is not None)


def choose(reach: Reach, identity: str, budget: float) -> list[str]:
    """The tests to run, at most `budget` seconds of them; the cheapest one even if it alone takes longer.

    They are chosen spread over the files, but run file by file, the cheapest file first: fixtures of module scope would
    otherwise be set up again for each test.
    """
    chosen: dict[str, list[str]] = {}
    left = budget
    for group in (reach.direct[identity], reach.collected[identity]):
        for test in _spread(group, reach.seconds):
            if reach.seconds[test] <= left or not chosen:
                left -= reach.seconds[test]
                chosen.setdefault(test.partition("::")[0], []).append(test)
    files = sorted(chosen.values(), key=lambda tests: sum(reach.seconds[test] for test in tests))
    return [test for tests in files for test in tests]
