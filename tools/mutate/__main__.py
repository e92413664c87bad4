"""Command line of `tools.mutate`: draw, measure, judge; or compare two reports."""

from __future__ import annotations

import argparse
import json
import platform
import signal
import sys
import time
from pathlib import Path
from typing import Any

import tools.mutate
from tools.mutate import report
from tools.mutate.mutations import Mutation, sample
from tools.mutate.reach import Reach, choose, measure
from tools.mutate.scratch import Ended, Scratch, digest, scratch

ROOT = Path(__file__).resolve().parents[2]
GRACE = 60.0
"""Seconds that every run may take beyond four times the measured time of its tests, to start and to collect."""
PATIENCE = (1, 4)
"""Factors of the limit. The second is for tests that are too slow without the mutation too: the machine is busy."""


def _numbers(text: str) -> set[int]:
    return {int(number) for number in text.split(",")}


def arguments(words: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.mutate", description=(tools.mutate.__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--sample", type=int, default=150, help="number of mutations, the same of each room")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tree", type=Path, default=ROOT, help="the tree to judge; default: the one of this file")
    parser.add_argument(
        "--json", type=Path, default=Path("build/mutants.json"), help="the report; continued if it exists"
    )
    parser.add_argument("--map", type=Path, help="who reaches what; made if it is missing; default: beside the report")
    parser.add_argument("--budget", type=float, default=60, help="seconds of tests, as measured, for one mutation")
    parser.add_argument("--only", type=_numbers, default=set(), help="numbers of mutations to judge, such as 3,7")
    parser.add_argument("--tests", nargs="+", default=[], help="measure and use only these files or folders of tests")
    parser.add_argument("--list", action="store_true", help="print the mutations and stop")
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("OLD", "NEW"), help="compare two reports and stop")
    return parser.parse_args(words)


def load_or_measure(path: Path, room: Scratch, mutations: list[Mutation], tests: list[str], tree: str) -> Reach:
    """The map in the file, if it belongs to this tree and to these mutations; otherwise a new one, which is written
    there."""
    if path.exists():
        reach = Reach(**json.loads(path.read_text(encoding="utf-8")))
        if reach.tree != tree or any(mutation.identity not in reach.direct for mutation in mutations):
            raise SystemExit(f"{path} was measured in another tree or for another sample: name another --map")
        return reach
    print(f"measuring which tests reach the {len(mutations)} mutations", flush=True)
    reach = measure(room, mutations, tests, tree)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(reach._asdict(), indent=1), encoding="utf-8")
    return reach


def unfit(room: Scratch, reach: Reach, chosen: dict[str, list[str]]) -> dict[str, str]:
    """Run every chosen test on the unmutated copy. Returns the tests that do not pass there, with the reason."""
    tests = [*dict.fromkeys(test for tests in chosen.values() for test in tests)]
    if not tests:
        return {}
    tests.sort(key=lambda test: test.partition("::")[0])
    expected = sum(reach.seconds[test] for test in tests)
    print(f"running the {len(tests)} chosen tests without a mutation, about {expected:.0f} s", flush=True)
    ended = room.pytest(tests=tests, limit=expected * 4 + 600)
    if ended.code not in (0, 1):
        raise SystemExit(f"the tests without a mutation ended with {ended.code}: {ended.last}")
    passed = {test["test"] for test in ended.tests if test["outcome"] == "passed"}
    reasons = {test["test"]: test["message"] for test in ended.tests}
    return {test: reasons.get(test, "it was not collected") for test in tests if test not in passed}


def verdict(ended: Ended) -> dict[str, Any]:
    """The outcome of a run against a mutation. A run that collected nothing (5) is not a failed test."""
    failed = next((test for test in ended.tests if test["outcome"] == "failed"), None)
    if ended.code is None and failed is None:
        return {"outcome": report.TIMED_OUT, "by": "", "message": f"after {len(ended.tests)} tests"}
    if ended.code in (0, 5):
        return {"outcome": report.SURVIVED, "by": "", "message": ""}
    if failed:
        return {"outcome": report.KILLED, "by": failed["test"], "message": failed["message"]}
    return {"outcome": report.KILLED, "by": "", "message": f"pytest ended with {ended.code}: {ended.last}"}


def against(room: Scratch, mutation: Mutation, number: int, tests: list[str], seconds: float) -> dict[str, Any]:
    """Run the tests against the mutation until one fails. Run that test again, to see whether it fails every time.

    Tests that do not end are run without the mutation too, with the same limit. If they do not end there either, the
    machine is busy, and the mutation does not count as killed.
    """
    for factor in PATIENCE:
        limit = (seconds * 4 + GRACE) * factor
        with room.mutated(mutation, number):
            found = verdict(room.pytest("-x", tests=tests, limit=limit))
            if found["outcome"] == report.KILLED:
                again = room.pytest("-x", tests=[found["by"]] if found["by"] else tests, limit=limit)
                return {**found, "steady": verdict(again)["outcome"] != report.SURVIVED}
        if found["outcome"] == report.SURVIVED or room.pytest(tests=tests, limit=limit).code is not None:
            return found
    raise SystemExit(f"the tests of mutation {number} do not end without it either; start again on a quieter machine")


def judge(room: Scratch, mutation: Mutation, number: int, tests: list[str], seconds: float) -> dict[str, Any]:
    """The result of one mutation for the report."""
    began = time.monotonic()
    found = {"outcome": report.SURVIVED, "by": "", "message": ""}
    if tests:
        found = against(room, mutation, number, tests, seconds)
    known = mutation._asdict()
    return {
        **{name: known[name] for name in ("identity", "room", "path", "line", "function", "statement", "operator")},
        "number": number, "change": mutation.change.text, "tests": len(tests), **found,
        "seconds": round(time.monotonic() - began, 2),
    }  # fmt: skip


def judge_all(given: argparse.Namespace, mutations: list[Mutation]) -> None:
    """Judge the mutations that the report does not have yet, and print the totals."""
    tree = digest(given.tree)
    settings = {
        "sample": given.sample, "seed": given.seed, "budget": given.budget, "tests": given.tests, "tree": tree,
        "python": platform.python_version(),
    }  # fmt: skip
    kept = report.Report(given.json, settings)
    done = {result["identity"] for result in kept.mutants}
    only = given.only
    with scratch(given.tree) as room:
        reach = load_or_measure(given.map or given.json.with_suffix(".map.json"), room, mutations, given.tests, tree)
        for test, reason in reach.failed.items():
            print(f"not used, fails while the lines are watched: {test}: {reason}")
        chosen = {mutation.identity: choose(reach, mutation.identity, given.budget) for mutation in mutations}
        if kept.whole["excluded"] is None:
            kept.whole["excluded"] = unfit(room, reach, chosen)
            kept.write()
        excluded = kept.whole["excluded"]
        for test, reason in excluded.items():
            print(f"not used, fails without a mutation: {test}: {reason}")
        for number, mutation in enumerate(mutations, 1):
            if mutation.identity in done or (only and number not in only):
                continue
            tests = [test for test in chosen[mutation.identity] if test not in excluded]
            kept.add(judge(room, mutation, number, tests, sum(reach.seconds[test] for test in tests)))
            print(report.line(kept.mutants[-1], number, len(mutations)), flush=True)
    print(report.totals(kept.mutants))


def main(words: list[str] | None = None) -> int:
    """Judge the sample, list it, or compare two reports."""
    given = arguments(words)
    if given.compare:
        return report.compare(*given.compare)
    mutations = sample(given.tree, given.sample, given.seed)
    if not mutations:
        raise SystemExit(f"nothing to mutate in {given.tree}: name a clone with --tree, and a --sample above 0")
    if given.list:
        for number, one in enumerate(mutations, 1):
            print(f"{number:3} {one.identity} {one.room:9} {one.path}:{one.line} {one.function}: {one.operator}")
            print(f"    {one.statement.splitlines()[0]}  ->  {one.change.text}")
        return 0
    judge_all(given, mutations)
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # end the tests, remove the copy
    sys.exit(main())
