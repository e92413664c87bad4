"""The results as a JSON file, the totals of each room, and the comparison of two files."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

from tools.mutate.mutations import ROOMS

KILLED, SURVIVED, TIMED_OUT = "killed", "survived", "timed out"


def is_killed(result: dict[str, Any]) -> bool:
    """True if the tests noticed the mutation: a test failed, or the tests did not end."""
    return result["outcome"] in (KILLED, TIMED_OUT)


class Report:
    """The results. Each is written to the file at once, so that a second start with the same settings continues."""

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        self.path = path
        self.whole: dict[str, Any] = {"settings": settings, "excluded": None, "mutants": []}
        if path.exists():
            found = json.loads(path.read_text(encoding="utf-8"))
            if found["settings"] != settings:
                raise SystemExit(f"{path} has results of {found['settings']}, not of {settings}: name another --json")
            self.whole = found

    @property
    def mutants(self) -> list[dict[str, Any]]:
        """The results so far."""
        found: list[dict[str, Any]] = self.whole["mutants"]
        return found

    def write(self) -> None:
        """Replace the file by one with the results so far."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_name(f"{self.path.name}.new")
        new.write_text(json.dumps(self.whole, indent=1), encoding="utf-8")
        os.replace(new, self.path)

    def add(self, result: dict[str, Any]) -> None:
        """Keep a result."""
        self.mutants.append(result)
        self.write()


def line(result: dict[str, Any], number: int, of: int) -> str:
    """One result as a line of text."""
    shown = f"[{number:3}/{of}] {result['outcome']:9} {result['seconds']:6.1f} s  {result['room']:9} "
    shown += f"{result['path']}:{result['line']} {result['function']}: {result['operator']}"
    if result["outcome"] == SURVIVED:
        return f"{shown}  ({result['tests'] or 'no'} tests reach it)"
    unsteady = "" if result.get("steady", True) else "unsteady: "
    return f"{shown}  ({unsteady}{result['by'] or 'pytest'}: {result['message'][:80]})"


def totals(mutants: list[dict[str, Any]]) -> str:
    """The numbers of mutants that were killed, timed out and survived, for each room and for all."""
    rows = [f"{'':10}{'mutants':>8}{KILLED:>8}{TIMED_OUT:>11}{SURVIVED:>10}{'unreached':>11}"]
    for room in (*ROOMS, "all"):
        own = [result for result in mutants if room in (result["room"], "all")]
        count = Counter(result["outcome"] for result in own)
        unreached = sum(not result["tests"] for result in own)
        rows.append(
            f"{room:10}{len(own):8}{count[KILLED]:8}{count[TIMED_OUT]:11}{count[SURVIVED]:10}{unreached:11}"
        )  # fmt: skip
    return "\n".join(rows)


def compare(old: Path, new: Path) -> int:
    """Print the numbers of both reports for their common mutations, and the mutations that are no longer killed.
    Returns 1 if fewer are killed."""
    try:
        before, after = (
            {result["identity"]: result for result in json.loads(path.read_text(encoding="utf-8"))["mutants"]}
            for path in (old, new)
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SystemExit(f"--compare takes two reports of this tool: {error}") from None
    common = [identity for identity in before if identity in after]
    one = {identity for identity in common if is_killed(before[identity])}
    two = {identity for identity in common if is_killed(after[identity])}
    print(f"{len(common)} mutations are in both; {len(before) - len(common)} only in {old}, ", end="")
    print(f"{len(after) - len(common)} only in {new}")
    print(f"killed: {len(one)} in {old}, {len(two)} in {new}")
    for title, which in (("killed before, not now", one - two), ("killed now, not before", two - one)):
        for identity in sorted(which):
            now, by = after[identity], before[identity] if identity in one else after[identity]
            killer = f"{'' if by.get('steady', True) else 'unsteady: '}{by['by'] or by['outcome']}"
            print(f"{title}: {identity} {now['path']}:{now['line']} {now['function']}: {now['operator']} ({killer})")
            print(f"    {now['statement']}")
    return int(len(two) < len(one))
